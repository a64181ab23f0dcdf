import { ACTIONS } from "../../../generated/values.js"

/** @param {(name: string) => any} store @param {() => void} reveal */
export function cooldownsPage(store, reveal) {
  const [cooldowns, uses, services] = ["cooldowns", "uses", "services"].map(store)
  return {
    reveal,

    /** Both lists are loaded: one must not push the other down. */
    loaded: () => cooldowns.phase !== "loading" && uses.phase !== "loading" && services.loaded,

    /** There is neither a cooldown nor a use. */
    blank: () =>
      services.loaded && cooldowns.phase === "ready" && cooldowns.items.length === 0 && uses.empty && !uses.filtered,

    actions: () => ACTIONS,

    serviceChoices() {
      const selected = uses.filters.service
      const cooldownServices = cooldowns.items.map((/** @type {Cooldown} */ { service }) => service)
      return [...new Set([...services.names, ...cooldownServices, ...(selected ? [selected] : [])])]
    },

    /** @param {Cooldown} cooldown */
    key: ({ service, action }) => `${service} ${action}`,

    /** @param {Use} row */
    rowClass: (row) => ({ "is-fresh": uses.fresh[row.id], "is-leaving": uses.leaving[row.id] }),
  }
}
