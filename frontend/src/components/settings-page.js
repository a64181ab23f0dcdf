/** @param {(name: string) => any} store */
export function settingsPage(store) {
  return { retry: () => store("settings").load() }
}
