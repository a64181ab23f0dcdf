/**
 * Run an action; show a failure in a toast.
 * @param {(name: string) => any} store
 * @param {() => Promise<unknown>} act
 */
export async function attempt(store, act) {
  try {
    await act()
  } catch (problem) {
    store("toasts").show(/** @type {Error} */ (problem).message, { bad: true })
  }
}
