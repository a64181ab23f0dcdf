const KEY = "lamplighter.keys"
const CHORD_MS = 1_000

/** @typedef {{keys: string, label: string, run: () => void, native?: boolean}} Command */

/**
 * Single-key commands. The help overlay is made of this list, so that it cannot lie; one switch turns them all off.
 * @param {{commands: Command[], storage: Pick<Storage, "getItem" | "setItem">, now?: () => number}} with_
 */
export function keys({ commands, storage, now = Date.now }) {
  let prefix = ""
  let at = 0
  return {
    commands: commands.map(({ keys, label }) => ({ keys, label, parts: keys.split(" ") })),
    on: storage.getItem(KEY) !== "off",
    help: false,

    /** @param {boolean} on */
    turn(on) {
      this.on = on
      storage.setItem(KEY, on ? "on" : "off")
    },

    /** Was this key a command of ours? What a browser does by itself is only listed. @param {string} key */
    press(key) {
      const chord = prefix && now() - at < CHORD_MS ? `${prefix} ${key}` : key
      const command = commands.find(({ keys }) => keys === chord)
      prefix = !command && commands.some(({ keys }) => keys.startsWith(`${key} `)) ? key : ""
      at = now()
      if (!command || command.native) return false
      command.run()
      return true
    },
  }
}

/** Keys typed into a field, with a modifier or over an open dialog are not commands. @param {KeyboardEvent} event */
export function isForUs(event) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return false
  const target = /** @type {Element} */ (event.target)
  if (document.querySelector("dialog[open]")) return false
  return !target.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable]")
}
