import { CHECK_FORMS, METHODS, RECORDS } from "../../../generated/checks.js"
import { t } from "../../shared/texts/index.js"

/**
 * A field of a form: the keys that lead to its value in the file, how its text is parsed, and whether it is one of the
 * few fields that are always visible.
 * @typedef {"text" | "number" | "list" | "numbers" | "lines" | "map" | "choice"} FieldType
 * @typedef {{path: string[], type: FieldType, main?: boolean, choices?: string[], label?: string}} Spec
 */

/** @param {string} key @param {FieldType} [type] @param {string[]} [choices] @returns {Spec} */
const field = (key, type = "text", choices) => ({ path: key.split("."), type, choices })
/** @param {string} key @param {FieldType} [type] @returns {Spec} */
const main = (key, type) => ({ ...field(key, type), main: true })
const YES_NO = ["", "true", "false"]

export const SERVICE = /** @type {Spec[]} */ ([
  main("description"),
  main("depends_on", "list"),
  field("group"),
  field("tags", "list"),
  field("notify", "list"),
  field("paused", "choice", YES_NO),
  field("approve", "choice", ["", "never", "first", "always"]),
])
const NAME = field("name")

/** The keys of a check that are not one line of text. @type {Record<string, FieldType>} */
const TYPES = {
  addresses: "list",
  count: "number",
  exit: "numbers",
  headers: "map",
  restarts: "number",
  retries: "number",
  status: "numbers",
}
/** The keys of a check with few values. @type {Record<string, string[]>} */
const CHOICES = {
  method: ["", ...METHODS],
  record: ["", ...RECORDS],
  redirects: YES_NO,
  verify: YES_NO,
  verify_tls: YES_NO,
}

/** @param {string} kind @param {string} key @returns {Spec} */
function checkField(kind, key) {
  if (key === kind) return main(key, kind === "command" ? "lines" : "text")
  return key in CHOICES ? field(key, "choice", CHOICES[key]) : field(key, TYPES[key])
}

/** The fields of each kind of check; the first one names the kind. @type {Record<string, Spec[]>} */
export const CHECKS = {
  ...Object.fromEntries(
    Object.entries(CHECK_FORMS).map(([kind, keys]) => [kind, keys.map((key) => checkField(kind, key))]),
  ),
  push: [main("push.every"), main("push.grace"), field("push.cron"), field("push.zone"), NAME],
}

/** The kinds of the checks of a service. @param {Record<string, any>} fields */
export const checkKinds = ({ checks = [] }) =>
  checks.map((/** @type {any} */ check) => Object.keys(CHECKS).find((kind) => kind in check) ?? "")

/** @type {Record<string, Spec[]>} */
export const ACTIONS = Object.fromEntries(
  ["restart", "redeployment"].map((kind) => [
    kind,
    [
      main(kind, "lines"),
      NAME,
      field("directory"),
      field("timeout"),
      field("wait"),
      field("approve", "choice", ["", "never", "first", "always"]),
      field("for", "list"),
    ],
  ]),
)

/** Always visible: without a zone the times are in UTC. */
const ZONED = [{ ...main("zone"), label: "window_zone" }, NAME]

/** A maintenance window: recurring, or once. @type {Record<string, Spec[]>} */
export const WINDOWS = {
  cron: [{ ...main("cron"), label: "recurs" }, { ...main("for"), label: "lasts" }, ...ZONED],
  from: [main("from"), main("to"), ...ZONED],
}

/** The kind of a check or an action. @param {Record<string, any>} value @param {Record<string, Spec[]>} kinds */
export function kindOf(value, kinds) {
  return Object.keys(kinds).find((kind) => kind in value) ?? Object.keys(kinds)[0]
}

/** The name of a field. @param {Spec} spec */
export function label({ path, label: customLabel }) {
  const key = customLabel ?? path.at(-1) ?? ""
  return t(/** @type {import("../../shared/texts/index.js").TextKey} */ (`editor.field_${key}`))
}

/** A value as text, of one or several lines. @param {any} value @param {FieldType} type @returns {string} */
export function show(value, type) {
  if (value === undefined || value === null) return ""
  if (type === "lines" && Array.isArray(value)) return value.join("\n")
  if (Array.isArray(value)) return value.join(", ")
  if (typeof value === "object")
    return Object.entries(value)
      .map(([name, item]) => `${name}: ${item}`)
      .join("\n")
  return String(value)
}

/** The value of a text; undefined for an empty text. @param {string} text @param {FieldType} type @returns {any} */
export function parse(text, type) {
  const trimmed = text.trim()
  if (!trimmed) return undefined
  if (type === "number") return number(trimmed)
  if (type === "choice") return ["true", "false"].includes(trimmed) ? trimmed === "true" : trimmed
  if (type === "lines") return text.split("\n").filter((line) => line !== "")
  if (type === "map") return Object.fromEntries(trimmed.split("\n").filter(Boolean).map(pair))
  const parts = trimmed.split(",").map((part) => part.trim())
  if (type === "list") return parts.filter(Boolean)
  if (type !== "numbers") return text
  return parts.length > 1 ? parts.filter(Boolean).map(number) : number(trimmed)
}

/** @param {string} text */
const number = (text) => (/^-?\d{1,9}$/.test(text) ? Number(text) : text)

/** @param {string} line */
function pair(line) {
  const [name, ...rest] = line.split(":")
  return [name.trim(), rest.join(":").trim()]
}

/** @param {any} value @param {string[]} path @returns {any} */
export const at = (value, path) => path.reduce((inner, key) => inner?.[key], value)

/**
 * A copy with another value at a path; undefined removes it.
 * @param {any} value
 * @param {string[]} path
 * @param {any} newValue
 * @returns {any}
 */
export function put(value, [key, ...rest], newValue) {
  const copy = { ...value }
  const child = rest.length ? put(copy[key] ?? {}, rest, newValue) : newValue
  if (child === undefined) delete copy[key]
  else copy[key] = child
  return copy
}
