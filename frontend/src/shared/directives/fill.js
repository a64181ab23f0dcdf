/** @typedef {Record<string, string | boolean | number | null>} Part */

/**
 * Fill the parts of a row, each named by `data-fill`, in one pass: an effect for each cell would be too slow for
 * hundreds of rows. `text` is the text content, `share` a part of 1 that is drawn, the rest are attributes; false and
 * null remove an attribute.
 * @param {HTMLElement} el @returns {(parts: Record<string, Part>) => void}
 */
export function filler(el) {
  const elements = /** @type {NodeListOf<HTMLElement>} */ (el.querySelectorAll("[data-fill]"))
  const targets = [...elements].map((element) => ({
    place: element,
    name: element.dataset.fill ?? "",
    held: /** @type {Part} */ ({}),
  }))
  return (parts) => {
    for (const target of targets) {
      const values = parts[target.name]
      for (const name of Object.keys(values))
        if (values[name] !== target.held[name]) put(target.place, name, values[name])
      target.held = values
    }
  }
}

/** @param {HTMLElement} element @param {string} name @param {string | boolean | number | null} value */
function put(element, name, value) {
  if (name === "text") element.textContent = String(value)
  else if (name === "share") element.style.setProperty("--v", `${100 * Number(value)}%`)
  else if (name === "checked") /** @type {HTMLInputElement} */ (element).checked = Boolean(value)
  else if (value === null || value === false) element.removeAttribute(name)
  else element.setAttribute(name, value === true ? "" : String(value))
}
