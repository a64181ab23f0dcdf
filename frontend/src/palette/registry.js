import { pageName } from "../shared/format/page-names.js"
import { t } from "../shared/texts/index.js"

/**
 * A command: reached by key, by its name in the palette, or both. `when` says whether it applies at the moment (always,
 * if omitted); native browser keys (`native`) are only listed. Held down, a key runs its command once, unless it
 * `repeats`.
 * @typedef {{keys?: string, label: string, when?: () => boolean, run: () => void, native?: boolean,
 *   repeats?: boolean}} Command
 * @typedef {Command & {id: string, group: string, title: string}} Listed
 */

/** The order of areas in the help; areas that are not named here come last. */
const GROUPS = ["go", "list", "anywhere"]
/** The pages with commands of their own. */
const PAGES = "approvals editor events health memories preview reviews search sessions settings".split(" ")

/**
 * Every command of the app. A file in palette/commands, or the commands.js of a page, exports `<area>Commands(stores)`.
 * @param {Record<string, Record<string, unknown>>} modules by path @param {Record<string, any>} stores
 * @returns {Listed[]}
 */
export function registry(modules, stores) {
  return Object.entries(modules)
    .flatMap(([path, module]) => listed(areaOf(path), module, stores))
    .sort((a, b) => place(a) - place(b))
}

/** @param {string} area @param {Record<string, unknown>} module @param {Record<string, any>} stores @returns {Listed[]} */
function listed(area, module, stores) {
  return Object.entries(module)
    .filter(([name]) => name.endsWith("Commands"))
    .flatMap(([, make]) => /** @type {(stores: any) => Command[]} */ (make)(stores))
    .map((command) => ({ ...command, id: `${area}: ${command.label}`, group: area, title: titleOf(area) }))
}

/** @param {string} path */
function areaOf(path) {
  return path.replace(/(\/commands)?\.js$/, "").replace(/^.*\//, "")
}

/** @param {string} area */
function titleOf(area) {
  if (PAGES.includes(area)) return pageName({ page: area })
  return GROUPS.includes(area)
    ? t(/** @type {import("../shared/texts/index.js").TextKey} */ (`app.group_${area}`))
    : area
}

/** @param {Listed} command */
function place({ group }) {
  const at = GROUPS.indexOf(group)
  return at < 0 ? GROUPS.length : at
}

/** Whether a command applies at the moment. @param {Command} command */
export function applies({ when }) {
  return !when || Boolean(when())
}

/** Keys in a comparable form: Space and Shift+x as the browser names them. @param {string} keys */
export function pressed(keys) {
  return keys
    .split(" ")
    .map((key) => {
      if (key === "Space") return " "
      const letter = /^Shift\+(.)$/i.exec(key)
      return letter ? letter[1].toUpperCase() : key
    })
    .join("\u0000")
}

/**
 * Keys that several commands share at the same time: there must be none.
 * @param {Command[]} commands
 * @returns {string[]}
 */
export function clashes(commands) {
  const seenKeys = new Set()
  const duplicates = new Set()
  for (const command of commands.filter((candidate) => candidate.keys && applies(candidate))) {
    const keys = pressed(/** @type {string} */ (command.keys))
    if (seenKeys.has(keys)) duplicates.add(/** @type {string} */ (command.keys))
    seenKeys.add(keys)
  }
  return [...duplicates]
}
