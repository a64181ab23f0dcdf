/** Chains of escalating sessions, among all known sessions, whether or not the list shows them. */
export function chains() {
  /** @type {Map<number, Session>} */
  const rowsById = new Map()
  /** @type {Map<number, number>} */
  const childIds = new Map()
  return {
    clear() {
      rowsById.clear()
      childIds.clear()
    },

    /** @param {Session} row */
    keep(row) {
      const existing = rowsById.get(row.id)
      if (existing && existing.version >= row.version) return
      rowsById.set(row.id, row)
      if (row.parent_id !== null) childIds.set(row.parent_id, row.id)
    },

    /** From first to last. @param {Session} row @returns {Session[]} */
    of(row) {
      let first = rowsById.get(row.id) ?? row
      for (let ancestor = parent(first); ancestor; ancestor = parent(first)) first = ancestor
      const chain = [first]
      for (let descendant = child(first); descendant && !chain.includes(descendant); descendant = child(descendant))
        chain.push(descendant)
      return chain
    },
  }

  /** @param {Session} row */
  function parent({ id, parent_id: parentId }) {
    return parentId !== null && parentId < id ? rowsById.get(parentId) : undefined
  }

  /** @param {Session} row */
  function child({ id }) {
    return rowsById.get(childIds.get(id) ?? -1)
  }
}

/**
 * A chain as one row: the start of its first session, the end of its last, and the totals of all.
 * @param {Session[]} chain
 */
export function summed(chain) {
  const [first] = chain
  const last = chain[chain.length - 1]
  const sum = (/** @type {keyof Session} */ name) =>
    chain.reduce((total, session) => total + Number(session[name] ?? 0), 0)
  const totalOrNull = (/** @type {keyof Session} */ name) =>
    chain.some((session) => session[name] !== null) ? sum(name) : null
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
    cost_usd: totalOrNull("cost_usd"),
    turns: totalOrNull("turns"),
    duration_ms: last.status === "running" ? null : totalOrNull("duration_ms"),
  }
}

/** The services of the last session that has any. @param {Session[]} chain */
function named(chain) {
  return chain.findLast(({ services }) => services?.length)?.services ?? null
}
