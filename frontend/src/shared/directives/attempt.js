/**
 * Run an action; show a failure in a toast.
 * @param {(name: string) => any} store
 * @param {() => Promise<unknown>} action
 */
export async function attempt(store, action) {
  try {
    await action()
  } catch (problem) {
    store("toasts").show(/** @type {Error} */ (problem).message, { bad: true })
  }
}
