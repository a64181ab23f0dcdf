/** @typedef {{at: number, state: string, ms: number | null, check: string}} Beat */
/** @typedef {{beats: Beat[], day: number | null, month: number | null}} BeatRow */

const SHOWN = 60

/**
 * The newest check results of each service: loaded in one response, then updated once a second from the feed. The
 * results themselves are not reactive: each service has a revision number, so that only its own strip is redrawn.
 * @param {{api: Api}} dependencies
 */
export function heartbeats({ api }) {
  /** @type {Map<string, BeatRow>} */
  const rows = new Map()
  return {
    turns: /** @type {Record<string, number>} */ ({}),
    loaded: false,

    /** @param {string} [service] */
    async load(service) {
      const answer = await api.get("/heartbeats", { service }).catch(() => null)
      for (const row of answer?.services ?? []) {
        rows.set(row.service, rowOf(row))
        this.touch(row.service)
      }
      this.loaded ||= answer !== null
    },

    /** @param {string} service @returns {BeatRow | null} */
    of(service) {
      return this.turns[service] ? (rows.get(service) ?? null) : null
    },

    /** @param {NewResult[]} items */
    take(items) {
      for (const item of items) if (put(rows.get(item.service), item)) this.touch(item.service)
    },

    /** @param {string} service */
    touch(service) {
      this.turns[service] = (this.turns[service] ?? 0) + 1
    },
  }
}

/** @param {Heartbeats} row @returns {BeatRow} */
function rowOf({ checks, at, states, ages, of, latency_ms: latency, day, month }) {
  const last = at ? Date.parse(at) : 0
  const beats = [...states].map((state, n) => ({
    at: last - ages[n] * 1_000,
    state,
    ms: latency[n],
    check: checks[of[n] ?? 0],
  }))
  return { beats, day, month }
}

/** Add a result, unless it is already there. @param {BeatRow | undefined} row @param {NewResult} item */
function put(row, { check, state, silent, at, latency_ms: ms }) {
  const moment = Date.parse(at)
  const last = row?.beats.findLast((beat) => beat.check === check)
  if (!row || (last && moment < last.at + 500)) return false // ages are whole seconds
  row.beats.push({ at: moment, state: silent ? "m" : state[0], ms, check })
  if (row.beats.length > SHOWN) row.beats.shift()
  return true
}
