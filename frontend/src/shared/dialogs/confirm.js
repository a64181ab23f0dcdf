/** The confirmation before something is deleted permanently. */
export function confirm() {
  /** @type {(yes: boolean) => void} */
  let resolveAnswer = () => {}
  return {
    open: false,
    title: "",
    text: "",
    note: "",
    verb: "",

    /** @param {{title: string, text?: string, note?: string, verb: string}} question @returns {Promise<boolean>} */
    ask({ title, text = "", note = "", verb }) {
      resolveAnswer(false)
      Object.assign(this, { title, text, note, verb, open: true })
      return new Promise((resolve) => (resolveAnswer = resolve))
    },

    /** @param {boolean} confirmed */
    answer(confirmed) {
      this.open = false
      resolveAnswer(confirmed)
      resolveAnswer = () => {}
    },
  }
}
