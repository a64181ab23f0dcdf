import { focusAfter } from "../../shared/browser/focus.js"
import { duration, serviceNames } from "../../shared/format/format.js"
import { costWords, tokenWords } from "../../shared/format/spending.js"
import { requestedAction } from "../../shared/stores/approvals.js"
import { sortWords } from "../../log/rail.js"
import { contextParts } from "./context-parts.js"
import { changedLines, paired, turnsOf } from "./prompt-changes.js"
import { t } from "../../shared/texts/index.js"
import { attempt } from "../../shared/directives/attempt.js"
import { remember } from "../../shared/parts/remember-link.js"
import { clientWords } from "../sessions/page.js"

const UNSUCCESSFUL = ["failed", "timed_out", "interrupted", "stopped"]

/** @param {(name: string) => any} store */
export function sessionPage(store) {
  const [session, log, router, runNow, engines, clock] = [
    ...["session", "log", "router", "runNow", "engines", "clock"],
  ].map(store)
  let stopRequested = false
  return {
    ...output({ log, toasts: store("toasts") }),
    reason: () => (session.row && !isUnsuccessful(session.row) ? session.row.reason : ""),
    ofClient: () => session.ofClient,
    /** Whether the session can be stopped, repeated and compared with the next prompt. */
    isOwn: () => Boolean(session.row) && !session.ofClient,
    about: () => (session.ofClient ? clientWords(session.row) : serviceNames(session.row.services)),
    noSummary: () => t(session.running ? "session.summaryLater" : "session.noSummary"),
    moreSaved: () =>
      session.savedCount > session.saved.length ? t("session.allSaved", { n: session.savedCount }) : "",
    savedAddress: () => `/memories?${new URLSearchParams({ session: String(session.id), sort: "created" })}`,
    ...contextUpdates({ session }),
    bad: () => Boolean(session.row && isUnsuccessful(session.row)),
    stopping: () => Boolean(session.row?.stopping),
    stop() {
      stopRequested = true
      return attempt(store, () => session.stop())
    },

    stopWords: () => t(session.row?.stopping ? "session.stopping" : "session.stop"),
    again: () => runNow.again(session.row),
    revoke: () => store("revocation").show({ session: session.id }),

    /** The pressed button disappears; the focus moves to its position. @param {{key: string, marker: Marker}} entry */
    async take({ marker }) {
      const entry = document.activeElement?.closest("li")
      await attempt(store, () => session.takeMarker(marker))
      focusAfter(() => entry?.querySelector("a"))
    },

    ingestRest: () => attempt(store, () => session.ingestRest()),
    limitWords: () => t("session.limitReached", { n: session.markersLeft }),

    /** The session ended: move the focus from its stop button to its name. */
    ended() {
      if (session.running || !stopRequested) return
      stopRequested = false
      focusAfter(() => document.querySelector("main h1"))
    },

    remember: (/** @type {OpsEvent} */ event) => remember(store, event),
    compare: () => `/preview?${new URLSearchParams(compared(session.row, session.id))}`,

    /** The problem, if the session did not succeed. */
    aftermath() {
      const { status, reason, output_pending } = session.row ?? {}
      const lines =
        log.whole && log.elsewhere === "" && !output_pending && status === "interrupted"
          ? t("session.recovered", { n: log.size })
          : ""
      return [reason, lines].filter(Boolean).join(" ")
    },

    /** The next step after a problem. */
    next() {
      const row = session.row
      if (row?.output_pending) return t("session.nextPending", { host: row.host ?? "" })
      return session.row && isUnsuccessful(session.row)
        ? t(/** @type {any} */ (`session.next_${session.row.status}`))
        : ""
    },

    elsewhereWords: () => t("session.elsewhere", { host: log.elsewhere }),

    budgetWords() {
      const { tokens, budget } = session.context
      return budget ? t("session.budget", { tokens, budget }) : ""
    },

    parts: () => contextParts(session.context),
    budgetShare: () => (session.context.budget ? session.context.tokens / session.context.budget : 0),
    turnsWords() {
      const n = session.row?.turns
      if (!n) return ""
      return engines.turns && session.running
        ? t("session.turnsOf", { n, most: engines.turns })
        : t("sessions.turns", { n })
    },

    costWords: () => (session.row ? costWords(session.row) : ""),
    tokenWords: () => (session.row ? tokenWords(session.row) : ""),
    resumedWords: () => (session.row?.resumed ? t("session.resumed", { n: session.row.resumed }) : ""),

    roundsWords: () => (session.row && session.row.rounds > 1 ? t("session.rounds", { n: session.row.rounds }) : ""),

    /** The open approvals of this session. */
    approvals: () => store("approvals").of(session.id),

    /** @param {Approval} row */
    approvalText: (row) => t("session.approve", { wish: requestedAction(row) }),

    /** @param {Approval} row */
    approvalTime(row) {
      const leftMs = Date.parse(row.expires_at) - clock.second
      return leftMs > 0 ? t("session.left", { time: duration(Math.ceil(leftMs / 1_000) * 1_000) }) : ""
    },

    leftWords() {
      if (!session.running || !engines.seconds) return ""
      const leftMs = Date.parse(session.row.started_at) + engines.seconds * 1_000 - clock.second
      if (leftMs <= 0) return t("session.overdue")
      return t("session.left", { time: duration(Math.ceil(leftMs / 1_000) * 1_000) })
    },

    /** @param {string} sort */
    sortIs: (sort) => String(session.only === sort),
    onlyWords: () => (session.only ? sortWords(session.only) : t("session.everything")),
    rawAddress: () => router.with({ part: session.part === "raw" ? "" : "raw" }),
    rawIs: () => (session.part === "raw" ? "true" : null),
    quietWords: () => t(session.running ? "session.noActivityYet" : "session.noActivity"),
  }
}

/** Texts for the updates of the prompt during a session. @param {{session: any}} dependencies */
function contextUpdates({ session }) {
  /** @type {{context: any, turns: any[]}} the updates computed for the current context */
  let made = { context: null, turns: [] }
  return {
    /** Newest first, each with the prompt before it. */
    turns() {
      const { context } = session
      if (made.context !== context) made = { context, turns: updatesOf(context) }
      return made.turns
    },

    updateCount: () => t("session.updates", { n: session.context.retold?.length ?? 0 }),
    turnWords: (/** @type {{turn: number}} */ { turn }) => t("session.update", { n: turn }),

    /** @param {{gone: string[], come: string[], stayed: number, moved: boolean}} each */
    changeWords({ gone, come, stayed, moved }) {
      if (moved) return t("session.reordered")
      if (!gone.length && !come.length) return t("session.unchanged")
      return [
        come.length ? t("session.added", { n: come.length }) : "",
        gone.length ? t("session.removed", { n: gone.length }) : "",
        stayed ? t("session.kept", { n: stayed }) : "",
      ]
        .filter(Boolean)
        .join(", ")
    },

    /** @param {{memory_id: number, position: number | null, why: string}} memory */
    placedWords: ({ memory_id: id, position, why }) =>
      t(position === null ? "session.leftOut" : "session.placed", { id: String(id), why }),

    /** A client starts with a prompt of its own: only the context that it requested is known, if any. */
    hasNoContext: () =>
      session.contextPhase === "failed" ||
      (session.ofClient && session.contextPhase === "ready" && !session.context.retold?.length),

    noContextTitle: () => t(session.ofClient ? "session.noContext" : "session.noPrompt"),
    noContextReason: () => t(session.ofClient ? "session.noContextWhy" : "session.noPromptWhy"),
  }
}

/** @param {{injected: string, retold?: PromptUpdate[]}} context */
function updatesOf({ injected, retold: updates = [] }) {
  const turns = turnsOf(injected, updates).map((turn) => {
    const lines = changedLines(turn.before, turn.injected)
    return { ...turn, ...lines, newest: turn.turn === updates.length, lines: paired(lines) }
  })
  return turns.reverse()
}

/** @param {Session} row */
function isUnsuccessful({ status }) {
  return UNSUCCESSFUL.includes(status)
}

/** @param {Session | null} row @param {number} id */
function compared(row, id) {
  return {
    against: String(id),
    ...(row?.tier ? { tier: String(row.tier) } : {}),
    ...(row?.services ? { services: row.services.join(",") } : {}),
  }
}

/** The actions of the output. @param {{log: any, toasts: any}} dependencies */
function output({ log, toasts }) {
  return {
    logWords() {
      const lines = t("session.folded", { n: log.size })
      const readText = log.whole || log.phase !== "ready" ? lines : t("session.readSoFar", { n: log.size })
      return log.problem && log.size ? `${readText}. ${log.problem}` : readText
    },

    followWords: () => t(log.following ? "session.following" : "session.paused"),
    newWords: () => t("session.newLines", { n: log.unread }),
    toggleFollow: () => (log.following ? log.pause() : log.follow()),
    toggleWrap: () => (log.wrap = !log.wrap),
    wrapIs: () => String(log.wrap),

    /** @param {Event} event */
    search: (event) => log.search(/** @type {HTMLInputElement} */ (event.target).value),

    /** @param {KeyboardEvent} event */
    searchKey(event) {
      if (event.key === "Enter") log.step(event.shiftKey ? -1 : 1)
      else if (event.key === "Escape") leaveSearch(/** @type {HTMLInputElement} */ (event.target), log)
      else return
      event.preventDefault()
      event.stopPropagation()
    },

    matchWords() {
      if (!log.query) return ""
      return log.matches ? t("session.match", { place: log.place, n: log.matches }) : t("session.noMatch")
    },

    /** @param {{line: string}} entry */
    lineAddress: ({ line }) => (line ? `#${line}` : null),

    /** @param {{line: string}} entry */
    showLine: ({ line }) => log.choose(line),

    /** Without a clipboard (over http), the line is selected instead. */
    async copyLine() {
      try {
        await navigator.clipboard.writeText(log.text(log.chosen))
        toasts.show(t("session.copied"))
      } catch {
        const line = document.querySelector(".line[data-chosen] .line-text")
        if (line) getSelection()?.selectAllChildren(line)
        toasts.show(t("session.selected"))
      }
    },
  }
}

/** @param {HTMLInputElement} field @param {any} log */
function leaveSearch(field, log) {
  field.value = ""
  log.search("")
  const lines = /** @type {HTMLElement | null} */ (document.querySelector(".log"))
  lines?.focus()
}
