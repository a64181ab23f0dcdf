/**
 * The text of a field. If another text replaces it, the cursor and the scroll position stay.
 * @param {HTMLTextAreaElement} el @param {{expression: string}} it @param {any} tools
 */
export function textValue(el, { expression }, { evaluateLater, effect }) {
  const evaluate = evaluateLater(expression)
  effect(() =>
    evaluate((/** @type {string} */ text) => {
      const { value, selectionStart, selectionEnd, scrollTop } = el
      if (value === text) return
      el.value = text
      el.setSelectionRange(moved(selectionStart, value, text), moved(selectionEnd, value, text))
      el.scrollTop = scrollTop
    }),
  )
}

/**
 * The position in a new text: after the same text before it, or before the same text after it.
 * @param {number} at @param {string} before @param {string} text
 */
export function moved(at, before, text) {
  if (text.startsWith(before.slice(0, at))) return at
  return text.endsWith(before.slice(at)) ? text.length - (before.length - at) : Math.min(at, text.length)
}
