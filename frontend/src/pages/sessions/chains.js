/** Chains of escalating sessions, among all known sessions, whether or not the list shows them. */
export function chains() {
  /** @type {Map<number, Session>} */
  const known = new Map()
  /** @type {Map<number, number>} */
  const next = new Map()
  return {
    clear() {
      known.clear()
      next.clear()
    },

    /** @param {Session} row */
    keep(row) {
      const held = known.get(row.id)
      if (held && held.version >= row.version) return
      known.set(row.id, row)
      if (row.parent_id !== null) next.set(row.parent_id, row.id)
    },

    /** From first to last. @param {Session} row @returns {Session[]} */
    of(row) {
      let first = known.get(row.id) ?? row
      for (let above = parent(first); above; above = parent(first)) first = above
      const all = [first]
      for (let below = child(first); below && !all.includes(below); below = child(below)) all.push(below)
      return all
    },
  }

  /** @param {Session} row */
  function parent({ id, parent_id: above }) {
    return above !== null && above < id ? known.get(above) : undefined
  }

  /** @param {Session} row */
  function child({ id }) {
    return known.get(next.get(id) ?? -1)
  }
}

/**
 * A chain as one row: the start of its first session, the end of its last, and the totals of all.
 * @param {Session[]} chain
 */
export function summed(chain) {
  const [first] = chain
  const last = chain[chain.length - 1]
  const sum = (/** @type {keyof Session} */ name) => chain.reduce((all, each) => all + Number(each[name] ?? 0), 0)
  const known = (/** @type {keyof Session} */ name) => (chain.some((each) => each[name] !== null) ? sum(name) : null)
  return {
    ...first,
    status: last.status,
    outcome: last.outcome,
    outcome_state: last.outcome_state,
    stopping: last.stopping,
    services: named(chain),
    ended_at: last.ended_at,
    learned: sum("learned"),
    reinforced: sum("reinforced"),
    events: sum("events"),
    cost_usd: known("cost_usd"),
    turns: known("turns"),
    duration_ms: last.status === "running" ? null : known("duration_ms"),
  }
}

/** The services of the last session that has any. @param {Session[]} chain */
function named(chain) {
  return chain.findLast(({ services }) => services?.length)?.services ?? null
}
