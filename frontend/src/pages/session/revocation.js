import { t } from "../../shared/texts/index.js"

const MOST = 20

/** @typedef {Shapes["RevocationOut"]} Revocation */
/** @typedef {{session?: number, agent?: string}} TeachingOrigin */

/**
 * Revokes everything that a session or an agent taught: a preview, then one act with one undo.
 * @param {{api: Api, toasts: any, journal: any}} dependencies
 */
export function revocation({ api, toasts, journal }) {
  /** @type {TeachingOrigin} */
  let origin = {}
  return {
    open: false,
    title: "",
    phase: "closed",
    problem: "",
    busy: false,
    parts: /** @type {ReturnType<typeof partsOf>} */ ([]),

    get empty() {
      return this.phase === "ready" && this.parts.length === 0
    },

    /** Whether there is something to revoke and no request in flight. */
    get ready() {
      return this.phase === "ready" && !this.busy && this.parts.some(({ changes }) => changes)
    },

    /** @param {TeachingOrigin} target */
    show(target) {
      origin = target
      const [session, agent] = [String(target.session ?? ""), target.agent ?? ""]
      this.title = agent ? t("session.revokeAgent", { agent }) : t("session.revokeSession", { session })
      this.open = true
      return this.load()
    },

    hide() {
      this.open = false
    },

    async load() {
      const requestOrigin = origin
      Object.assign(this, { phase: "loading", problem: "", parts: [] })
      try {
        const preview = await api.post("/revocations/preview", requestOrigin)
        if (requestOrigin === origin) Object.assign(this, { phase: "ready", parts: partsOf(preview) })
      } catch (problem) {
        if (requestOrigin === origin)
          Object.assign(this, { phase: "failed", problem: /** @type {Error} */ (problem).message })
      }
    },

    async revoke() {
      if (!this.ready) return
      Object.assign(this, { busy: true, problem: "" })
      try {
        const { counts } = /** @type {Revocation} */ (await api.post("/revocations", origin))
        this.hide()
        toasts.show(t("session.revoked", { n: counts.removed + counts.restored }), { undo: journal.undoing() })
      } catch (problem) {
        this.problem = /** @type {Error} */ (problem).message
      } finally {
        this.busy = false
      }
    },
  }
}

/** The sections of the preview, without empty ones. @param {Revocation} preview */
function partsOf(preview) {
  const { counts } = preview
  return [
    part("removed", counts.removed, preview.removed.map(memoryLine), true),
    part("restored", counts.restored, preview.changed.map(restoredLine), true),
    part("inherited", counts.inherited, preview.inherited.map(inheritedLine), true),
    part("decided", counts.decisions, preview.decisions.map(decisionLine)),
    part("derived", preview.derived.length, preview.derived.map(memoryLine)),
    ...preview.effects.map(effectPart),
  ].filter(({ lines }) => lines.length > 0)
}

const TITLES = /** @type {const} */ ({
  removed: "session.revokeRemoved",
  restored: "session.revokeRestored",
  inherited: "session.revokeInherited",
  decided: "session.revokeDecided",
  derived: "session.revokeDerived",
})

/** @param {keyof typeof TITLES} key @param {number} n @param {string[]} texts @param {boolean} [changes] */
function part(key, n, texts, changes = false) {
  const lines = texts.slice(0, MOST).map((text, at) => ({ key: at, parts: [{ kind: "same", text }] }))
  const moreText = n > lines.length ? t("session.revokeMore", { n: n - lines.length }) : ""
  return {
    key: /** @type {string} */ (key),
    title: t(TITLES[key], { n }),
    style: "revocation-list",
    lines,
    more: moreText,
    changes,
  }
}

/** @param {Revocation["effects"][number]} effect */
function effectPart({ scope, text }) {
  const changedLines = text.split("\n").filter((line) => /^[+-](?![+-]{2})\s*\S/.test(line))
  const lines = changedLines.map((line, at) => ({
    key: at,
    parts: [{ kind: line.startsWith("+") ? "new" : "gone", text: line }],
  }))
  const title = t("session.revokeEffect", { scope })
  return { key: `effect ${scope}`, title, style: "what-if-lines mono", lines, more: "", changes: false }
}

/** @param {{id: number, service: string | null, observation: string}} memory */
function memoryLine({ id, service, observation }) {
  return t("session.revokeMemory", { id: String(id), about: service ? `${service}: ` : "", text: observation })
}

/** @param {Revocation["changed"][number]} pair */
function restoredLine({ before, after }) {
  const [from, to] = [stateWords(before), stateWords(after)]
  return from === to ? memoryLine(after) : `${memoryLine(after)} (${from} → ${to})`
}

/** @param {{active: boolean, confidence: number}} memory */
function stateWords({ active, confidence }) {
  return active ? String(confidence) : t("session.revokeInactive")
}

/** @param {Revocation["inherited"][number]} heir */
function inheritedLine({ replaces, service, observation, session_id }) {
  const memoryText = memoryLine({ id: replaces, service, observation })
  return t("session.revokePassed", { memory: memoryText, session: String(session_id) })
}

/** @param {Revocation["decisions"][number]} decision */
function decisionLine({ memory, cause }) {
  return t("session.revokeCause", { memory: memoryLine(memory), cause })
}
