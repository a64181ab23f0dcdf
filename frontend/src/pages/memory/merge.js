import { fieldsOf, same } from "../../shared/memory-form/draft.js"

/**
 * An edit that conflicts with a newer version: fields that only this edit changed are applied on top (`rest`), and a
 * person decides about fields that both changed (`clashes`). `also` are the fields that only the other edit changed.
 * @param {Record<string, unknown>} body @param {Memory} base the version that was edited @param {Memory} theirs the current version
 */
export function rebase(body, base, theirs) {
  const [was, is] = [fieldsOf(base), fieldsOf(theirs)]
  const changed = Object.keys(is).filter((name) => !same(was[name], is[name]))
  const open = Object.entries(body).filter(([name, mine]) => !same(mine, is[name]))
  return {
    rest: Object.fromEntries(open.filter(([name]) => !changed.includes(name))),
    clashes: open.filter(([name]) => changed.includes(name)).map(([name]) => name),
    also: changed.filter((name) => !(name in body)),
  }
}
