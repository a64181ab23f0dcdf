import { en } from "./texts/en.js"

/** @typedef {typeof en} Catalogue */
/** @typedef {{ [A in keyof Catalogue]: `${A & string}.${keyof Catalogue[A] & string}` }[keyof Catalogue]} TextKey */

const plurals = new Intl.PluralRules("en")
const number = new Intl.NumberFormat("en")

/**
 * A sentence of the catalogue: `{name}` stands for a value; one with forms ("one", "other") follows its `n`.
 * @param {TextKey} key @param {Record<string, string | number>} [values]
 */
export function t(key, values = {}) {
  const [area, name] = String(key).split(".")
  const entry = /** @type {any} */ (en)[area]?.[name]
  const text = typeof entry === "string" ? entry : entry[plurals.select(Number(values.n))]
  return text.replace(/\{(\w+)\}/g, (/** @type {string} */ hole, /** @type {string} */ name) =>
    worded(values[name] ?? hole),
  )
}

/** @param {string | number} value */
function worded(value) {
  return typeof value === "number" ? number.format(value) : value
}
