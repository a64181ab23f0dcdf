/** Begin a memory with what an event said. @param {(name: string) => any} store @param {OpsEvent} event */
export function remember(store, event) {
  store("addMemory").show({ observation: event.text, service: event.service ?? "" })
}
