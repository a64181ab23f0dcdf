import { clockSeconds, exact } from "../shared/format/format.js"

/**
 * The element of a line: its number, which links to it, and its text, which is never parsed as HTML. A line with folded
 * lines has a button.
 * @param {import("./lines.js").Line} line
 */
export function rowElement({ key, kind, text, first, fold, head, at }) {
  const row = element("div", "line")
  row.dataset.kind = kind
  row.dataset.key = key
  if (first && kind !== "text") row.dataset.label = kind
  if (head) row.dataset.head = ""
  else if (fold) row.dataset.inside = ""
  row.append(address(key), head ? folded(fold, text) : textOf(text))
  if (first && at) row.append(timeOf(at))
  return row
}

/** @param {string} key */
function address(key) {
  const link = element("a", "line-number num")
  link.setAttribute("href", `#${key}`)
  link.dataset.row = ""
  link.tabIndex = -1
  return link
}

/** @param {Time} at */
function timeOf(at) {
  const time = element("time", "line-time num")
  time.setAttribute("datetime", at)
  time.title = exact(at)
  time.textContent = clockSeconds(Date.parse(at))
  return time
}

/** @param {string} fold @param {string} text */
function folded(fold, text) {
  const button = element("button", "line-fold")
  button.setAttribute("type", "button")
  button.dataset.fold = fold
  button.append(textOf(text), element("span", "line-more num"))
  return button
}

/** @param {string} text */
function textOf(text) {
  const span = element("span", "line-text")
  span.textContent = text || " "
  return span
}

/** @param {string} name @param {string} className */
function element(name, className) {
  const el = document.createElement(name)
  el.className = className
  return el
}
