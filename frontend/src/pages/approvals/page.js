import { focusAfter } from "../../shared/browser/focus.js"
import { quoted } from "../../shared/format/argv.js"
import { copy } from "../../shared/browser/clipboard.js"
import { duration } from "../../shared/format/format.js"
import { slotWords } from "../../shared/format/status.js"
import { requestedAction } from "../../shared/stores/approvals.js"
import { useWords } from "../cooldowns/uses.js"
import { t } from "../../shared/texts/index.js"

/** @typedef {{id: number, row: Approval, detail: any}} Card */

/** @param {(name: string) => any} store */
export function approvalsPage(store) {
  const [approvalQueue, approvals, toasts] = ["approvalQueue", "approvals", "toasts"].map(store)
  const isChosen = (/** @type {Card} */ { id }) => approvalQueue.at === id
  let wasSaving = false
  return {
    ...words(approvalQueue),
    chosen: isChosen,

    /** The open form of a card. @param {Card} card */
    form: (card) => (isChosen(card) && approvalQueue.may(card.row) ? approvalQueue.form : ""),

    waitWords: () =>
      approvals.loaded ? t(approvals.waits ? "approvals.open" : "approvals.noneOpen", { n: approvals.waits }) : "",

    /** @param {Card} card */
    choose: ({ id }) => approvalQueue.choose(id),

    /** @param {Card} card @param {"approve" | "deny" | "edit"} form */
    ask(card, form) {
      approvalQueue.choose(card.id)
      approvalQueue.ask(form)
    },

    /** Ignore the repeats of a key that is held down. @param {KeyboardEvent} event */
    once: (event) => event.repeat && event.preventDefault(),

    /**
     * A click by key is meant for this button; a click by pointer may be the second half of a double click.
     * @param {MouseEvent} click
     */
    sure: ({ detail }) => (detail === 0 ? approvalQueue.decide("approve", {}) : approvalQueue.confirm()),

    /** Focus the button that opened the form, which is now closed. @param {Card} card */
    cancel(card) {
      const { form } = approvalQueue
      approvalQueue.closeForm()
      focusIn(card.id, `[data-way="${form}"]`)
    },

    /** After a decision the focused element is gone: focus the card that is chosen now. @param {boolean} saving */
    settle(saving) {
      if (wasSaving && !saving) focusIn(approvalQueue.at, "h2 a")
      wasSaving = saving
    },

    /** @param {Approval} row */
    async copy({ argv }) {
      toasts.show(t((await copy(quoted(argv))) ? "approvals.copied" : "approvals.notCopied"))
    },

    /** @param {Approval} row */
    rowClass: ({ id }) => ({ "is-fresh": approvalQueue.fresh[id], "is-leaving": approvalQueue.leaving[id] }),
  }
}

/** Focus an element of a card once the focused element is gone. @param {number | null} id @param {string} selector */
function focusIn(id, selector) {
  focusAfter(() => document.querySelector(`.ask[data-id="${id}"] ${selector}`), 30, { preventScroll: true })
}

/** Name the person who decided; nobody withdraws an approval. @param {Approval} row */
function decider({ state, decided_by: by }) {
  if (!by) return ""
  return t(state === "withdrawn" ? "approvals.after" : "approvals.by", { by })
}

/** @param {any} approvalQueue */
function words(approvalQueue) {
  return {
    requestedAction,

    /** @param {Card} card */
    left(card) {
      const leftMs = approvalQueue.left(card)
      return leftMs > 0
        ? t("approvals.left", { time: duration(Math.round(leftMs / 1_000) * 1_000) })
        : t("approvals.expired")
    },

    /** The elapsed share of the time limit, for the bar. @param {Card} card */
    share({ id, row, detail }) {
      const lifetimeMs = Date.parse(row.expires_at) - Date.parse(row.created_at)
      return lifetimeMs > 0 ? approvalQueue.left({ id, row, detail }) / lifetimeMs : 0
    },

    /** @param {Card} card */
    urgent: (card) => String(approvalQueue.left(card) < 60_000),

    /** @param {Approval} row */
    place: ({ directory }) => directory ?? "/",

    /** @param {Approval} row */
    sessionName: ({ session_id: id }) => t("approvals.session", { id: String(id) }),

    /** @param {Card} card */
    by({ row, detail }) {
      const { engine = "", model = "" } = detail?.session ?? {}
      return [t("approvals.tier", { tier: row.tier }), engine, model].filter(Boolean).join(" · ")
    },

    /** @param {Card} card */
    slots: ({ detail }) => (detail?.cooldown ? slotWords(detail.cooldown) : ""),

    /** @param {Card} card */
    reason: ({ row }) => row.reason || t("approvals.noReason"),

    /** @param {Card} card @returns {Memory[]} */
    memories: ({ detail }) => detail?.told ?? [],

    /** @param {Card} card */
    memoriesTitle({ row, detail }) {
      const n = row.memories.length
      if (!detail) return " "
      return t(n ? "approvals.inPrompt" : "approvals.notInPrompt", { n, service: row.service })
    },

    /** @param {Card} card */
    before({ row, detail }) {
      const originalCommand = detail?.before ? quoted(detail.before.argv) : ""
      return originalCommand && originalCommand !== quoted(row.argv)
        ? t("approvals.before", { words: originalCommand })
        : ""
    },

    /** @param {Approval} row */
    state: ({ state }) => t(/** @type {any} */ (`approvals.state_${state}`)),

    decider,

    /** @param {Approval} row */
    then: ({ state }) => (state === "open" ? "" : t(/** @type {any} */ (`approvals.then_${state}`))),

    /** The outcome of the run. @param {Card} card */
    ended: ({ detail }) => (detail?.use ? useWords(detail.use.outcome) : ""),

    /** The address of the approval that replaced it. @param {Card} card */
    instead: ({ detail }) => (detail?.replaced_by ? `/approvals/${detail.replaced_by}` : null),

    /** @param {Approval} row */
    came: ({ service, use_id: use }) => (use === null ? null : `/cooldowns?${new URLSearchParams({ service })}`),

    /** @param {Card} card */
    decidedElsewhere({ row }) {
      const values = {
        state: t(/** @type {any} */ (`approvals.state_${row.state}`)),
        by: decider(row),
      }
      return t(row.decided_by ? "approvals.overtaken" : "approvals.overtakenAlone", values)
    },

    /** @param {number} at */
    wordName: (at) => t("approvals.wordN", { n: at + 1 }),

    /** @param {number} at */
    dropName: (at) => t("approvals.dropWord", { n: at + 1 }),
  }
}
