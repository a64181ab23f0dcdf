import { fieldsOf, same } from "../../shared/memory-form/draft.js"

/**
 * An edit that conflicts with a newer version: fields that only this edit changed are applied on top (`rest`), and a
 * person decides about fields that both changed (`clashes`). `also` are the fields that only the other edit changed.
 * @param {Record<string, unknown>} body @param {Memory} base the version that was edited @param {Memory} theirs the current version
 */
export function rebase(body, base, theirs) {
  const [baseFields, theirFields] = [fieldsOf(base), fieldsOf(theirs)]
  const changedNames = Object.keys(theirFields).filter((name) => !same(baseFields[name], theirFields[name]))
  const edits = Object.entries(body).filter(([name, value]) => !same(value, theirFields[name]))
  return {
    rest: Object.fromEntries(edits.filter(([name]) => !changedNames.includes(name))),
    clashes: edits.filter(([name]) => changedNames.includes(name)).map(([name]) => name),
    also: changedNames.filter((name) => !(name in body)),
  }
}
