import { en } from "./en.js"

/** @typedef {typeof en & typeof import("./late.js").late} Catalogue */
/** @typedef {{ [A in keyof Catalogue]: `${A & string}.${keyof Catalogue[A] & string}` }[keyof Catalogue]} TextKey */

/** @type {Record<string, any>} the texts loaded so far */
const texts = { ...en }
const plurals = new Intl.PluralRules("en")
const number = new Intl.NumberFormat("en")

/** Add the texts of more areas. @param {Record<string, any>} areas */
export function addTexts(areas) {
  Object.assign(texts, areas)
}

/**
 * A text of the catalog: `{name}` is replaced by a value; a text with plural forms ("one", "other") depends on its `n`.
 * @param {TextKey} key @param {Record<string, string | number>} [values]
 */
export function t(key, values = {}) {
  const [area, name] = String(key).split(".")
  const entry = texts[area]?.[name]
  const text = typeof entry === "string" ? entry : entry[plurals.select(Number(values.n))]
  return text.replace(/\{(\w+)\}/g, (/** @type {string} */ hole, /** @type {string} */ name) =>
    worded(values[name] ?? hole),
  )
}

/** @param {string | number} value */
function worded(value) {
  return typeof value === "number" ? number.format(value) : value
}
