/** @param {(name: string) => any} store */
export function previewPage(store) {
  return { retry: () => store("preview").load() }
}
