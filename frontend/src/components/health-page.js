/** @param {(name: string) => any} store */
export function healthPage(store) {
  return { retry: () => store("health").load() }
}
