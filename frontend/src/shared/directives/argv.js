import { piecesOf } from "../format/argv.js"

/**
 * A command, word by word: each word in a frame of its own, so that word boundaries are unambiguous.
 * @param {HTMLElement} el @param {{expression: string}} it @param {any} tools
 */
export function argv(el, { expression }, { evaluateLater, effect }) {
  const evaluate = evaluateLater(expression)
  effect(() => evaluate((/** @type {string[]} */ argv) => el.replaceChildren(...argv.map((word) => framed(word, el)))))
}

/** @param {string} word @param {HTMLElement} within */
function framed(word, within) {
  const el = document.createElement(within.matches("ul, ol") ? "li" : "span")
  el.className = "word"
  const code = document.createElement("code")
  code.append(...piecesOf(word).map(drawn))
  el.append(code)
  return el
}

/** @param {import("../format/argv.js").Piece} piece */
function drawn({ sign, text, name }) {
  if (!sign) return text
  const el = document.createElement("span")
  el.className = "word-sign"
  el.textContent = text
  el.title = name
  return el
}
