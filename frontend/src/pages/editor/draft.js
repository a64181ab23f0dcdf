import { ACTIONS, at, CHECKS, kindOf, parse, put, SERVICE, show, WINDOWS } from "./kinds.js"

/**
 * A part of the form: the values of the file, and the texts typed since, by field.
 * @typedef {{key: number, kind: string, original: Record<string, any>, typed: Record<string, string>}} Part
 * @typedef {{name: string, service: Part, checks: Part[], maintenance: Part[], actions: Part[]}} Draft
 */

let lastKey = 0

/** @param {Record<string, any>} original @param {string} kind @returns {Part} */
export const part = (original, kind) => ({ key: ++lastKey, kind, original, typed: {} })

/** The initial form of a service. @param {string} name @param {Record<string, any>} fields @returns {Draft} */
export function draftOf(name, fields) {
  const parts = (/** @type {any} */ list, /** @type {Record<string, any>} */ kinds) =>
    (Array.isArray(list) ? list : []).map((item) => part(item, kindOf(item, kinds)))
  return {
    name,
    service: part(fields, "service"),
    checks: parts(fields.checks, CHECKS),
    maintenance: parts(fields.maintenance, WINDOWS),
    actions: parts(fields.actions, ACTIONS),
  }
}

/** The fields of a part. @param {Part} it @returns {import("./kinds.js").Spec[]} */
export const specsOf = ({ kind }) => CHECKS[kind] ?? ACTIONS[kind] ?? WINDOWS[kind] ?? SERVICE

/** The text of a field: as typed, or from the file. @param {Part} it @param {import("./kinds.js").Spec} spec */
export function textOf({ original, typed }, { path, type }) {
  return typed[path.join(".")] ?? show(at(original, path), type)
}

/**
 * Change the kind of a part; fields that both kinds have are retained.
 * @param {Part} entry
 * @param {string} kind
 * @returns {Part}
 */
export function changed(entry, kind) {
  const commonFields = new Set((CHECKS[kind] ?? ACTIONS[kind] ?? WINDOWS[kind]).map(({ path }) => path[0]))
  const original = Object.fromEntries(
    Object.entries(entry.original).filter(([key]) => commonFields.has(key) && key !== kind && key !== entry.kind),
  )
  const typed = Object.fromEntries(
    Object.entries(entry.typed).filter(([key]) => commonFields.has(key) && key !== entry.kind),
  )
  return { key: entry.key, kind, original: { [kind]: kind === "push" ? {} : "", ...original }, typed }
}

/** The value of a part: a field without typed text has the value of the file. @param {Part} entry */
export function valueOf(entry) {
  let value = entry.original
  for (const { path, type } of specsOf(entry)) {
    const text = entry.typed[path.join(".")]
    if (text === undefined || text === show(at(entry.original, path), type)) continue
    const main = path.length === 1 && path[0] === entry.kind
    value = put(value, path, parse(text, type) ?? (main ? "" : undefined))
  }
  return value
}

/** The fields of the service that a form describes. @param {Draft} draft */
export function fieldsOf({ service, checks, maintenance, actions }) {
  /** @type {Record<string, any>} */
  const result = { ...valueOf(service), checks: checks.map(valueOf) }
  for (const [key, parts] of Object.entries({ maintenance, actions })) {
    if (parts.length) result[key] = parts.map(valueOf)
    else delete result[key]
  }
  return result
}

/**
 * Apply the changes made here on top of changes that somebody else saved meanwhile. If both changed a key, the change
 * made here wins.
 * @param {Record<string, any>} base @param {Record<string, any>} ours @param {Record<string, any>} theirs
 */
export function merge(base, ours, theirs) {
  const merged = { ...theirs }
  for (const key of new Set([...Object.keys(base), ...Object.keys(ours)])) {
    if (isEqual(base[key], ours[key])) continue
    const lists = [base[key] ?? [], ours[key] ?? [], theirs[key] ?? []]
    if (lists.every(Array.isArray) && LISTS.has(key)) merged[key] = mergeLists(lists[0], lists[1], lists[2])
    else if (ours[key] === undefined) delete merged[key]
    else merged[key] = ours[key]
  }
  return merged
}

/** The lists of a service to which somebody else may have added items. */
const LISTS = new Set(["checks", "maintenance", "actions"])

/** @param {any[]} base @param {any[]} ours @param {any[]} theirs */
function mergeLists(base, ours, theirs) {
  const [baseItems, ourItems, theirItems] = [base, ours, theirs].map(named)
  for (const [name, item] of ourItems) if (!isEqual(baseItems.get(name), item)) theirItems.set(name, item)
  for (const name of baseItems.keys()) if (!ourItems.has(name)) theirItems.delete(name)
  return [...theirItems.values()]
}

/** Items by name, or by kind and position among items of that kind. @param {any[]} items */
function named(items) {
  const byName = new Map()
  for (const item of items) {
    const name = item.name ?? Object.keys(item)[0]
    let n = 1
    while (byName.has(`${name} ${n}`)) n++
    byName.set(`${name} ${n}`, item)
  }
  return byName
}

/** The keys that differ, with both values. @param {Record<string, any>} before @param {Record<string, any>} after */
export function differences(before, after) {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((key) => !isEqual(before[key], after[key]))
    .map((key) => ({ key, before: brief(before[key]), after: brief(after[key]) }))
}

/** @param {any} left @param {any} right */
const isEqual = (left, right) => JSON.stringify(left) === JSON.stringify(right)

/** @param {any} value */
const brief = (value) => (value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value))
