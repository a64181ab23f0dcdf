/** Test doubles: a server with canned responses, a fixed clock and manual timers. */
export const NOON = Date.parse("2026-01-14T12:00:00Z")

export const SLOW_START = {
  id: 7,
  version: 1,
  service: "jellyfin",
  category: "timing",
  observation: "Takes 60s to start after restart",
  confidence: 0.7,
  active: true,
  created_at: "2026-01-14T11:00:00.000000Z",
  updated_at: "2026-01-14T11:00:00.000000Z",
  session_id: 42,
  tier: 2,
  title: "",
  tags: [],
  project: "ops",
  scope: "project",
  topic_key: null,
  inactive_reason: null,
  pinned: false,
}

export function memory(changes) {
  return { ...SLOW_START, ...changes }
}

export function change(op, row, seq = 1, entity = "memory") {
  return { seq, entity, id: row.id, op, version: row.version, row: op === "deleted" ? null : row }
}

/** An API with canned responses by method and path. It records its requests in `asked`. */
export function fakeApi(answers = {}) {
  const asked = []
  const answer = (method) => async (path, body, version) => {
    asked.push({ method, path, body, version })
    const key = `${method} ${path}`
    const canned = key in answers ? answers[key] : answers[path]
    const value = typeof canned === "function" ? canned(body, version) : canned
    if (value instanceof Error) throw value
    if (value === undefined) throw new Error(`nothing is canned for ${method} ${path}`)
    return value
  }
  return {
    asked,
    get: answer("GET"),
    all: answer("GET"),
    post: answer("POST"),
    put: answer("PUT"),
    patch: answer("PATCH"),
    remove: answer("DELETE"),
  }
}

export function fakeFeed() {
  const reads = []
  return { reads, read: (seq) => reads.push(seq), replay: () => {}, on: () => {}, onReset: () => {} }
}

export function fakeTimers() {
  let last = 0
  const waiting = new Map()
  return {
    setTimeout(run, ms) {
      waiting.set(++last, { run, ms })
      return last
    },
    clearTimeout: (id) => waiting.delete(id),
    /** The delays of the pending timers. */
    get delays() {
      return [...waiting.values()].map(({ ms }) => ms)
    },
    /** Run every pending timer once. */
    async ring() {
      const due = [...waiting.values()]
      waiting.clear()
      for (const { run } of due) await run()
    },
  }
}

export function fakeStorage(held = {}) {
  return {
    held,
    getItem: (key) => held[key] ?? null,
    setItem: (key, value) => (held[key] = value),
    removeItem: (key) => delete held[key],
    keys: () => Object.keys(held),
  }
}

/** The journal of a tab. It records the acts that were undone. */
export function fakeJournal() {
  const undone = /** @type {string[]} */ ([])
  return { undone, undoing: () => async () => void undone.push("last"), onUndone() {}, beforeUndo() {} }
}
