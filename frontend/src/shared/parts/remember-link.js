/**
 * Open the form of a new memory with the text of an event.
 * @param {(name: string) => any} store
 * @param {OpsEvent} event
 */
export function remember(store, event) {
  store("addMemory").show({ observation: event.text, service: event.service ?? "" })
}
