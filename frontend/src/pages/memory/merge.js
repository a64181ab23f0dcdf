import { fieldsOf, same } from "../../shared/memory-form/draft.js"

/**
 * An edit that somebody else overtook: what only we changed goes on top of what they made of it (`rest`), where both
 * changed the same field a person has to say which stands (`clashes`). `also` are the fields that only they changed.
 * @param {Record<string, unknown>} body @param {Memory} base what we began on @param {Memory} theirs what stands now
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
