import { applies, pressed } from "./registry.js"

const KEY = "lamplighter.keys"
const CHORD_MS = 1_000
const BUTTONS = "button, summary, input[type=checkbox], input[type=radio]"

/** @typedef {import("./registry.js").Listed} Listed */

/**
 * Single-key commands. The help overlay is generated from the registry, so that both always agree; one switch turns all
 * keys off.
 * @param {{commands: () => Listed[], storage: Pick<Storage, "getItem" | "setItem">, now?: () => number}} dependencies
 */
export function keys({ commands, storage, now = Date.now }) {
  let prefix = ""
  let at = 0
  return {
    on: storage.getItem(KEY) !== "off",
    help: false,
    /** The commands that apply on this page, and those of other pages, as of when the help was opened. */
    here: /** @type {ReturnType<typeof grouped>} */ ([]),
    elsewhere: /** @type {ReturnType<typeof grouped>} */ ([]),

    /** @param {boolean} isOn */
    turn(isOn) {
      this.on = isOn
      storage.setItem(KEY, isOn ? "on" : "off")
    },

    show() {
      const keyCommands = commands().filter((command) => command.keys)
      this.here = grouped(keyCommands.filter(applies))
      this.elsewhere = grouped(keyCommands.filter((command) => !applies(command)))
      this.help = true
    },

    hide() {
      this.help = false
    },

    /**
     * Whether this key is a command. Native browser keys are only listed; a key held down repeats only commands that
     * allow repetition.
     * @param {string} key @param {boolean} [isRepeat]
     */
    press(key, isRepeat = false) {
      const chord = prefix && now() - at < CHORD_MS ? `${prefix}\u0000${key}` : key
      const fitting = commands().filter((command) => command.keys && applies(command))
      const command = fitting.find(({ keys }) => pressed(keys ?? "") === chord)
      prefix = !command && fitting.some(({ keys }) => pressed(keys ?? "").startsWith(`${key}\u0000`)) ? key : ""
      at = now()
      if (!command || command.native) return false
      if (!isRepeat || command.repeats) command.run()
      return true
    },
  }
}

/** @param {Listed[]} commands */
function grouped(commands) {
  const titles = [...new Set(commands.map(({ title }) => title))]
  return titles.map((title) => ({ title, commands: commands.filter((command) => command.title === title).map(shown) }))
}

/** @param {Listed} command */
function shown({ id, keys = "", label }) {
  return { id, label, parts: shownKeys(keys) }
}

/** The keys as displayed, one by one. @param {string} keys */
export function shownKeys(keys) {
  return keys.split(/[ +]/).filter(Boolean)
}

/** Keys typed into a field, with a modifier or over an open dialog are not commands. @param {KeyboardEvent} event */
export function isForUs(event) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return false
  const target = /** @type {Element} */ (event.target)
  if (document.querySelector("dialog[open]")) return false
  if (event.key === " " && target.closest?.(BUTTONS)) return false
  return !target.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable]")
}

/** Ctrl-K and Cmd-K open the palette anywhere, in a field too. @param {KeyboardEvent} event */
export function isForPalette({ key, ctrlKey, metaKey, altKey, shiftKey }) {
  return (ctrlKey || metaKey) && !altKey && !shiftKey && key.toLowerCase() === "k"
}
