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
  const titles = {
    go: t("app.group_go"),
    list: t("app.group_list"),
    anywhere: t("app.group_anywhere"),
    memories: t("common.memories_page"),
    memory: t("common.memory_page"),
    reviews: t("common.reviews_page"),
    search: t("common.search_page"),
    approvals: t("common.approvals_page"),
    sessions: t("common.sessions_page"),
    session: t("common.session_page"),
    events: t("common.events_page"),
    overview: t("common.overview_page"),
    cooldowns: t("common.cooldowns_page"),
    incidents: t("common.incidents_page"),
    graph: t("common.graph_page"),
    preview: t("common.preview_page"),
    health: t("common.health_page"),
    editor: t("common.editor_page"),
    settings: t("common.settings_page"),
  }
  return titles[/** @type {keyof typeof titles} */ (area)] ?? area
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
