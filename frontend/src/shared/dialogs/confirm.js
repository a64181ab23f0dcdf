/** The confirmation before something is deleted permanently. */
export function confirm() {
  /** @type {(yes: boolean) => void} */
  let settle = () => {}
  return {
    open: false,
    title: "",
    text: "",
    note: "",
    verb: "",

    /** @param {{title: string, text?: string, note?: string, verb: string}} question @returns {Promise<boolean>} */
    ask({ title, text = "", note = "", verb }) {
      settle(false)
      Object.assign(this, { title, text, note, verb, open: true })
      return new Promise((resolve) => (settle = resolve))
    },

    /** @param {boolean} yes */
    answer(yes) {
      this.open = false
      settle(yes)
      settle = () => {}
    },
  }
}
