import { t } from "../../shared/texts/index.js"
import { requestedAction } from "../../shared/stores/approvals.js"
import { extend, liveList } from "../../shared/stores/list.js"

/** A second press within this time is not a decision. */
const STILL_MS = 300
const LAST_MS = 60_000
const BLANK = { note: "", words: /** @type {Word[]} */ ([]) }

/** @typedef {{key: number, text: string}} Word */
/** @typedef {"approve" | "deny" | "edit"} Decision */

/**
 * The approvals that a person decides. A card keeps its position until the page is left, whatever its state; approvals
 * decided earlier are listed below.
 * @param {{api: Api, feed: Feed, approvals: any, clock: {second: number}, live: Feed["state"], toasts: any,
 *   now?: () => number, later?: (run: () => void, ms: number) => any}} dependencies
 */
export function approvalQueue({ api, feed, approvals, clock, live, toasts, now = Date.now, later = setTimeout }) {
  let key = 0
  let armedAt = 0
  /** @type {Set<number>} approvals whose last minute was announced */
  const warnedIds = new Set()
  /** @type {Map<number, any>} uses received from the feed: a response in flight may be older */
  const changedUses = new Map()
  const list = liveList({
    api,
    feed,
    later,
    path: "/approvals",
    entity: "approval",
    query: () => ({ state: "all", limit: 50 }),
    matches: (/** @type {Approval} */ row) => row.state !== "open",
    compare: (a, b) => b.id - a.id,
  })
  return extend(list, {
    here: false,
    /** The open approvals, in the order of their cards. */
    ids: /** @type {number[]} */ ([]),
    rowsById: /** @type {Record<number, Approval>} */ ({}),
    details: /** @type {Record<number, any>} */ ({}),
    /** Decided by somebody else while its card was shown. */
    decidedElsewhere: /** @type {Record<number, boolean>} */ ({}),
    at: /** @type {number | null} */ (null),
    form: /** @type {Decision | ""} */ (""),
    draft: { ...BLANK },
    saving: false,
    refusal: "",

    /** A card appears when it and all cards above it are loaded, so that no button moves under a finger. */
    get cards() {
      const partial = this.ids.findIndex((/** @type {number} */ id) => !(id in this.details && this.rowsById[id]))
      const complete = partial < 0 ? this.ids : this.ids.slice(0, partial)
      return complete.map((/** @type {number} */ id) => ({
        id,
        row: this.rowsById[id],
        detail: this.details[id] ?? null,
      }))
    },

    /** Those decided earlier, without the ones that have a card. */
    get before() {
      return this.shown.filter((/** @type {Approval} */ { id, state }) => state !== "open" && !this.ids.includes(id))
    },

    /** The cards above are not loaded yet; the list below must not move up in the meantime. */
    get unknown() {
      if (!approvals.loaded) return true
      return this.ids.length ? this.cards.length === 0 : this.phase === "loading"
    },

    get blank() {
      return approvals.loaded && this.phase === "ready" && this.ids.length === 0
    },

    /** Nothing can be decided while the list may be out of date. */
    get disconnected() {
      return live.offline || live.stale
    },

    /** @param {URLSearchParams} _ @param {number | null} id */
    visit(_, id) {
      if (!this.here) {
        this.here = true
        this.load()
        approvals.load()
      }
      if (id !== null) this.bring(id)
    },

    exit() {
      Object.assign(this, { here: false, ids: [], rowsById: {}, details: {}, decidedElsewhere: {}, at: null })
      this.closeForm()
    },

    /** Each open approval has a card; new ones are appended. @param {Approval[]} rows */
    gather(rows) {
      if (!this.here) return
      for (const row of rows) this.keep(row)
      this.at ??= this.ids[0] ?? null
    },

    /** Load the approval that the address names, open or not. @param {number} id */
    async bring(id) {
      this.choose(id)
      if (!this.rowsById[id]) await this.loadDetail(id)
      const replacementId = this.details[id]?.replaced_by
      if (replacementId && this.at === id && this.rowsById[id]?.state === "withdrawn") await this.bring(replacementId)
    },

    /** @param {Approval} row */
    keep(row) {
      const existing = this.rowsById[row.id]
      if (existing && existing.version >= row.version) return
      this.rowsById[row.id] = row
      if (!existing) this.ids = [...this.ids, ...(this.ids.includes(row.id) ? [] : [row.id])]
      this.loadDetail(row.id)
      if (existing || row.replaces === null || this.rowsById[row.replaces]?.state !== "withdrawn") return
      this.loadDetail(row.replaces)
      if (this.at === row.replaces) this.choose(row.id)
    },

    /** @param {Change} change */
    follow({ id, row }) {
      if (!this.here || !row) return
      if (this.phase === "ready") this.put(row)
      const existing = this.rowsById[id]
      if (!existing) return
      if (existing.state === "open" && row.state !== "open" && this.at === id && !this.saving) {
        if (this.form) this.decidedElsewhere[id] = true
        this.closeForm()
      }
      this.keep(row)
    },

    /** The run of an approved command changed. @param {Change} change */
    followUse({ id, row }) {
      if (row) changedUses.set(id, row)
      const card = this.cards.find(
        (/** @type {{row: Approval}} */ { row: approval }) => approval.use_id !== null && approval.use_id === row?.id,
      )
      if (card?.detail) this.details[card.id] = { ...card.detail, use: row }
    },

    /**
     * Load everything needed for a decision: the details of the approval, its session and the approval that it replaces.
     * @param {number} id
     */
    async loadDetail(id) {
      const response = await api.get(`/approvals/${id}`).catch(() => null)
      if (!this.here) return
      if (!response) {
        this.details[id] ??= null
        return
      }
      const session = await api.get(`/sessions/${response.session_id}`).catch(() => null)
      const original =
        response.replaces === null ? null : await api.get(`/approvals/${response.replaces}`).catch(() => null)
      if (!this.here || this.details[id]?.version > response.version) return
      const use = newer(response.use, changedUses.get(response.use_id))
      this.details[id] = { ...response, use, session, before: original, until: now() + 1_000 * response.seconds_left }
      const existing = this.rowsById[id]
      if (!existing || existing.version < response.version) this.rowsById[id] = response
      if (!this.ids.includes(id)) this.ids = [...this.ids, id]
    },

    /** @param {number | null} id */
    choose(id) {
      if (id === this.at) return
      this.at = id
      this.closeForm()
    },

    get current() {
      return this.at === null ? null : (this.rowsById[this.at] ?? null)
    },

    /**
     * Whether this approval can still be decided.
     * @param {Approval | null} [row] by default the chosen one
     */
    may(row) {
      const approval = row === undefined ? this.current : row
      return approval?.state === "open" && !this.disconnected && !this.saving
    },

    /** The time left to decide. @param {{row: Approval, detail: any}} card */
    left({ row, detail }) {
      return Math.max(0, (detail?.until ?? Date.parse(row.expires_at)) - clock.second)
    },

    /** The first step of a decision opens its form and changes nothing yet. @param {Decision} form */
    ask(form) {
      const row = this.current
      if (!row || !this.may(row)) return
      if (this.form === "approve" && form === "approve") return this.confirm()
      armedAt = now()
      this.refusal = ""
      this.form = form
      this.draft = { note: "", words: row.argv.map(word) }
    },

    /** A second press decides; one that follows at once belongs to the first press. */
    confirm() {
      if (now() - armedAt >= STILL_MS) return this.decide("approve", {})
    },

    closeForm() {
      Object.assign(this, { form: "", refusal: "", draft: { ...BLANK } })
    },

    addWord() {
      this.draft.words.push(word(""))
    },

    /** @param {Word} removed */
    dropWord(removed) {
      this.draft.words = this.draft.words.filter(({ key }) => key !== removed.key)
    },

    /** The edited command, word by word. */
    get written() {
      return this.draft.words.map((/** @type {Word} */ { text }) => text)
    },

    get changed() {
      const argv = this.written
      return argv.length > 0 && argv[0] !== "" && JSON.stringify(argv) !== JSON.stringify(this.current?.argv)
    },

    submit() {
      const note = this.draft.note.trim()
      if (this.form === "deny") return this.decide("deny", note ? { note } : {})
      if (this.form === "edit" && this.changed) return this.decide("edit", { argv: this.written })
    },

    /** @param {Decision} decision @param {Record<string, any>} extra */
    async decide(decision, extra) {
      const row = this.current
      if (!row || !this.may(row)) return
      this.saving = true
      try {
        const answer = await api.put(
          `/approvals/${row.id}/decision`,
          { decision, ...extra },
          `${row.id}-${row.version}`,
        )
        this.decided(row, decision, answer)
      } catch (problem) {
        await this.refuse(row, /** @type {any} */ (problem))
      } finally {
        this.saving = false
      }
    },

    /** @param {Approval} row @param {Decision} decision @param {Approval} answer */
    decided(row, decision, answer) {
      this.closeForm()
      toasts.show(t(/** @type {any} */ (`approvals.did_${decision}`), { wish: requestedAction(row) }))
      approvals.follow({ id: answer.id, row: answer })
      this.keep(answer)
      this.loadDetail(row.id)
      this.at = answer.id === row.id ? this.waitsNext(row.id) : answer.id
    },

    /** The next open approval. @param {number} id */
    waitsNext(id) {
      const waiting = this.ids.filter((otherId) => otherId === id || this.rowsById[otherId]?.state === "open")
      const at = waiting.indexOf(id)
      return waiting[at + 1] ?? waiting[at - 1] ?? id
    },

    /** @param {Approval} row @param {{status: number, message: string}} problem */
    async refuse({ id }, { status, message }) {
      this.refusal = t("approvals.refused", { why: message })
      if (status !== 409 && status !== 412) return
      await this.loadDetail(id)
      const now_ = this.rowsById[id]
      if (now_) approvals.follow({ id, row: now_ })
      if (now_?.state === "open") return
      this.decidedElsewhere[id] = true
      this.closeForm()
    },

    /** Announce the last minute once for each approval. */
    tick() {
      for (const card of this.cards) {
        if (card.row?.state !== "open" || warnedIds.has(card.id) || this.left(card) > LAST_MS) continue
        warnedIds.add(card.id)
        if (this.left(card) > 0)
          toasts.announce(t("approvals.lastMinute", { wish: requestedAction(card.row) }), "approvals")
      }
    },
  })

  /** @param {string} text @returns {Word} */
  function word(text) {
    return { key: ++key, text }
  }
}

/** The later version of two rows, one of which may be missing. @param {any} first @param {any} second */
function newer(first, second) {
  return second && (!first || second.version > first.version) ? second : first
}
