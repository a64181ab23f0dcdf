/** @typedef {Record<string, string | boolean | number | null>} Part */

/**
 * Fill the parts of a row, each named by `data-fill`, in one pass: an effect for each cell would be too slow for
 * hundreds of rows. `text` is the text content, `share` a part of 1 that is drawn, the rest are attributes; false and
 * null remove an attribute.
 * @param {HTMLElement} el @returns {(parts: Record<string, Part>) => void}
 */
export function filler(el) {
  const all = /** @type {NodeListOf<HTMLElement>} */ (el.querySelectorAll("[data-fill]"))
  const places = [...all].map((place) => ({ place, name: place.dataset.fill ?? "", held: /** @type {Part} */ ({}) }))
  return (parts) => {
    for (const each of places) {
      const part = parts[each.name]
      for (const name of Object.keys(part)) if (part[name] !== each.held[name]) put(each.place, name, part[name])
      each.held = part
    }
  }
}

/** @param {HTMLElement} place @param {string} name @param {string | boolean | number | null} value */
function put(place, name, value) {
  if (name === "text") place.textContent = String(value)
  else if (name === "share") place.style.setProperty("--v", `${100 * Number(value)}%`)
  else if (name === "checked") /** @type {HTMLInputElement} */ (place).checked = Boolean(value)
  else if (value === null || value === false) place.removeAttribute(name)
  else place.setAttribute(name, value === true ? "" : String(value))
}
