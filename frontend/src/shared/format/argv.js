import { t } from "../texts/index.js"

/** Spaces, and characters that are invisible or move adjacent text. */
const UNSEEN = /[\p{Z}\p{C}]/gu
const SIGNS = new Map([
  [" ", "·"],
  ["\n", "↵"],
  ["\t", "⇥"],
])
const PLAIN = /^[\w@%+=:,./-]+$/

/** @typedef {{sign: boolean, text: string, name: string}} Piece a part of a word; a sign represents an invisible character */

/**
 * A word of a command with nothing hidden: spaces and invisible characters are replaced by signs.
 * @param {string} argument @returns {Piece[]}
 */
export function piecesOf(argument) {
  if (argument === "") return [{ sign: true, text: t("approvals.emptyWord"), name: t("approvals.emptyWord") }]
  /** @type {Piece[]} */
  const pieces = []
  let at = 0
  for (const { 0: character, index } of argument.matchAll(UNSEEN)) {
    if (index > at) pieces.push(plain(argument.slice(at, index)))
    pieces.push(sign(character))
    at = index + character.length
  }
  if (at < argument.length) pieces.push(plain(argument.slice(at)))
  return pieces
}

/** The command as typed in a shell. @param {string[]} argv */
export function quoted(argv) {
  return argv.map((argument) => (PLAIN.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`)).join(" ")
}

/** @param {string} text @returns {Piece} */
function plain(text) {
  return { sign: false, text, name: "" }
}

/** @param {string} character @returns {Piece} */
function sign(character) {
  const code = `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`
  return { sign: true, text: SIGNS.get(character) ?? code, name: character === " " ? t("approvals.space") : code }
}
