import { ACTIONS, at, CHECKS, kindOf, parse, put, SERVICE, show, WINDOWS } from "./kinds.js"

/**
 * A part of the form: the values of the file, and the texts typed since, by field.
 * @typedef {{key: number, kind: string, original: Record<string, any>, typed: Record<string, string>}} Part
 * @typedef {{name: string, service: Part, checks: Part[], maintenance: Part[], actions: Part[]}} Draft
 */

let last = 0

/** @param {Record<string, any>} original @param {string} kind @returns {Part} */
export const part = (original, kind) => ({ key: ++last, kind, original, typed: {} })

/** The initial form of a service. @param {string} name @param {Record<string, any>} fields @returns {Draft} */
export function draftOf(name, fields) {
  const parts = (/** @type {any} */ list, /** @type {Record<string, any>} */ kinds) =>
    (Array.isArray(list) ? list : []).map((each) => part(each, kindOf(each, kinds)))
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
 * @param {Part} it
 * @param {string} kind
 * @returns {Part}
 */
export function changed(it, kind) {
  const kept = new Set((CHECKS[kind] ?? ACTIONS[kind] ?? WINDOWS[kind]).map(({ path }) => path[0]))
  const original = Object.fromEntries(
    Object.entries(it.original).filter(([key]) => kept.has(key) && key !== kind && key !== it.kind),
  )
  const typed = Object.fromEntries(Object.entries(it.typed).filter(([key]) => kept.has(key) && key !== it.kind))
  return { key: it.key, kind, original: { [kind]: kind === "push" ? {} : "", ...original }, typed }
}

/** The value of a part: a field without typed text has the value of the file. @param {Part} it */
export function valueOf(it) {
  let value = it.original
  for (const { path, type } of specsOf(it)) {
    const text = it.typed[path.join(".")]
    if (text === undefined || text === show(at(it.original, path), type)) continue
    const main = path.length === 1 && path[0] === it.kind
    value = put(value, path, parse(text, type) ?? (main ? "" : undefined))
  }
  return value
}

/** The fields of the service that a form describes. @param {Draft} draft */
export function fieldsOf({ service, checks, maintenance, actions }) {
  /** @type {Record<string, any>} */
  const all = { ...valueOf(service), checks: checks.map(valueOf) }
  for (const [key, parts] of Object.entries({ maintenance, actions })) {
    if (parts.length) all[key] = parts.map(valueOf)
    else delete all[key]
  }
  return all
}

/**
 * Apply the changes made here on top of changes that somebody else saved meanwhile. If both changed a key, the change
 * made here wins.
 * @param {Record<string, any>} base @param {Record<string, any>} mine @param {Record<string, any>} theirs
 */
export function merge(base, mine, theirs) {
  const merged = { ...theirs }
  for (const key of new Set([...Object.keys(base), ...Object.keys(mine)])) {
    if (same(base[key], mine[key])) continue
    const lists = [base[key] ?? [], mine[key] ?? [], theirs[key] ?? []]
    if (lists.every(Array.isArray) && LISTS.has(key)) merged[key] = mergeLists(lists[0], lists[1], lists[2])
    else if (mine[key] === undefined) delete merged[key]
    else merged[key] = mine[key]
  }
  return merged
}

/** The lists of a service to which somebody else may have added items. */
const LISTS = new Set(["checks", "maintenance", "actions"])

/** @param {any[]} base @param {any[]} mine @param {any[]} theirs */
function mergeLists(base, mine, theirs) {
  const [before, here, there] = [base, mine, theirs].map(named)
  for (const [name, item] of here) if (!same(before.get(name), item)) there.set(name, item)
  for (const name of before.keys()) if (!here.has(name)) there.delete(name)
  return [...there.values()]
}

/** Items by name, or by kind and position among items of that kind. @param {any[]} items */
function named(items) {
  const found = new Map()
  for (const item of items) {
    const name = item.name ?? Object.keys(item)[0]
    let n = 1
    while (found.has(`${name} ${n}`)) n++
    found.set(`${name} ${n}`, item)
  }
  return found
}

/** The keys that differ, with both values. @param {Record<string, any>} before @param {Record<string, any>} after */
export function differences(before, after) {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((key) => !same(before[key], after[key]))
    .map((key) => ({ key, before: brief(before[key]), after: brief(after[key]) }))
}

/** @param {any} one @param {any} other */
const same = (one, other) => JSON.stringify(one) === JSON.stringify(other)

/** @param {any} value */
const brief = (value) => (value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value))
