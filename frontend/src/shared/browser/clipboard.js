/**
 * Copy a text to the clipboard, also on insecure pages, where the browser does not offer the clipboard API.
 * @param {string} text
 */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return copyBySelection(text)
  }
}

/** @param {string} text */
function copyBySelection(text) {
  const focused = /** @type {HTMLElement | null} */ (document.activeElement)
  const field = document.createElement("textarea")
  field.value = text
  field.readOnly = true
  field.className = "unseen"
  document.body.append(field)
  field.select()
  const isCopied = document.execCommand("copy")
  field.remove()
  focused?.focus()
  return isCopied
}
