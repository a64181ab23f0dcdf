/** @typedef {{tag: string, text?: string, href?: string, outside?: boolean, kind?: string, children?: Node[]}} Node */

const INLINE =
  /\\([!-/:-@[-`{-~])|`([^`]+)`|\*\*(.+?)\*\*|\*([^*\s](?:[^*]*[^*\s])?)\*|\[\[([^\]|]+)(?:\|([^\]]+))?\]\]|\[([^\]]+)\]\((https?:\/\/[^)\s]+)\)|\s\^m(\d+)\s*$/g
const BULLET = /^(\s*)(?:[-*+]|\d+[.)])\s+(.*)$/

/**
 * A page as nodes: headings, lists, quotes, code and paragraphs. Everything else stays text, including HTML: no part of
 * a page becomes markup.
 * @param {string} text @returns {Node[]}
 */
export function blocks(text) {
  const lines = text.replace(/^---\n[\s\S]*?\n---\n/, "").split("\n")
  /** @type {Node[]} */
  const nodes = []
  for (let at = 0; at < lines.length;) at = block(lines, at, nodes)
  return nodes
}

/** @param {string[]} lines @param {number} at @param {Node[]} nodes @returns {number} index of the line after the block */
function block(lines, at, nodes) {
  const line = lines[at]
  if (!line.trim()) return at + 1
  const heading = /^(#{1,6})\s+(.*)$/.exec(line)
  if (heading) {
    // the name of the page is the heading above it
    nodes.push({ tag: `h${Math.min(6, heading[1].length + 2)}`, children: inline(heading[2]) })
    return at + 1
  }
  if (line.startsWith("```")) return fence(lines, at, nodes)
  if (/^\s*(?:-{3,}|\*{3,})\s*$/.test(line)) {
    nodes.push({ tag: "hr" })
    return at + 1
  }
  if (BULLET.test(line)) return list(lines, at, nodes)
  const quoted = line.startsWith(">")
  let end = at
  while (end < lines.length && lines[end].trim() && lines[end].startsWith(">") === quoted && isText(lines[end])) end++
  const textLines = lines.slice(at, Math.max(end, at + 1)).map((text) => (quoted ? text.replace(/^>\s?/, "") : text))
  nodes.push({ tag: quoted ? "blockquote" : "p", children: inline(textLines.join("\n")) })
  return Math.max(end, at + 1)
}

/** @param {string} line */
function isText(line) {
  return !/^(#{1,6}\s|```)/.test(line) && !BULLET.test(line)
}

/** @param {string[]} lines @param {number} at @param {Node[]} nodes */
function fence(lines, at, nodes) {
  const end = lines.findIndex((line, n) => n > at && line.startsWith("```"))
  const until = end < 0 ? lines.length : end
  nodes.push({ tag: "pre", text: lines.slice(at + 1, until).join("\n") })
  return until + 1
}

/**
 * Bullets of one depth; lines indented below a bullet belong to it.
 * @param {string[]} lines
 * @param {number} at
 * @param {Node[]} nodes
 */
function list(lines, at, nodes) {
  /** @type {Node[]} */
  const items = []
  while (at < lines.length) {
    const bullet = BULLET.exec(lines[at])
    if (!bullet) break
    const depth = bullet[1].length
    let end = at + 1
    while (end < lines.length && lines[end].trim() && indent(lines[end]) > depth) end++
    const nested = lines.slice(at + 1, end)
    const firstBullet = nested.findIndex((line) => BULLET.test(line))
    const itemLines = [
      bullet[2],
      ...(firstBullet < 0 ? nested : nested.slice(0, firstBullet)).map((line) => line.trim()),
    ]
    /** @type {Node[]} */
    const children = tagged(itemLines.join("\n"))
    if (firstBullet >= 0) list(nested.slice(firstBullet), 0, children)
    items.push({ tag: "li", children })
    at = end
  }
  nodes.push({ tag: "ul", children: items })
  return at
}

/** @param {string} line */
function indent(line) {
  return line.length - line.trimStart().length
}

/**
 * The category at the start of a memory's line becomes a badge, the number at its end a link.
 * @param {string} text
 * @returns {Node[]}
 */
function tagged(text) {
  const tag = /^\[([a-z_]+)\]\s+/.exec(text)
  if (!tag) return inline(text)
  return [{ tag: "span", kind: "md-tag", text: tag[1] }, ...inline(` ${text.slice(tag[0].length)}`)]
}

/** @param {string} text @returns {Node[]} */
function inline(text) {
  /** @type {Node[]} */
  const nodes = []
  let lastIndex = 0
  const pushText = (/** @type {string} */ value) => value && nodes.push({ tag: "span", text: value })
  for (const match of text.matchAll(INLINE)) {
    pushText(text.slice(lastIndex, match.index))
    lastIndex = match.index + match[0].length
    nodes.push(piece(match))
  }
  pushText(text.slice(lastIndex))
  return nodes
}

/** @param {RegExpMatchArray} match @returns {Node} */
function piece([, escaped, code, strong, em, page, label, linkText, url, memory]) {
  if (escaped) return { tag: "span", text: escaped }
  if (code) return { tag: "code", text: code }
  if (strong) return { tag: "strong", children: inline(strong) }
  if (em) return { tag: "em", children: inline(em) }
  if (page) return { tag: "a", href: `/notebook?page=${encodeURIComponent(page)}`, text: label ?? page }
  if (url) return { tag: "a", href: url, outside: true, text: linkText }
  return { tag: "a", kind: "md-memory", href: `/memories/${memory}`, text: `#${memory}` }
}

/** Render the Markdown of an expression. @param {HTMLElement} el @param {{expression: string}} it @param {any} tools */
export function markdown(el, { expression }, { evaluateLater, effect }) {
  const evaluate = evaluateLater(expression)
  effect(() => evaluate((/** @type {string} */ text) => patch(el, blocks(text ?? "").map(made))))
}

/**
 * Replace only the nodes that differ: what is read or focused around them stays in its place.
 * @param {Element} el @param {ChildNode[]} nodes
 */
function patch(el, nodes) {
  const old = [...el.childNodes]
  let [start, end, newEnd] = [0, old.length, nodes.length]
  while (start < Math.min(end, newEnd) && old[start].isEqualNode(nodes[start])) start++
  while (Math.min(end, newEnd) > start && old[end - 1].isEqualNode(nodes[newEnd - 1])) (end--, newEnd--)
  const [left, made] = [old[start], nodes[start]]
  const isOneList = end - start === 1 && newEnd - start === 1 && left.nodeName === "UL" && made.nodeName === "UL"
  if (isOneList) return patch(/** @type {Element} */ (left), [...made.childNodes])
  for (const node of old.slice(start, end)) node.remove()
  for (const node of nodes.slice(start, newEnd)) el.insertBefore(node, old[end] ?? null)
}

/** @param {Node} node @returns {HTMLElement} */
function made({ tag, text, href, outside, kind, children = [] }) {
  const el = document.createElement(tag)
  if (text !== undefined) el.textContent = text
  if (kind) el.className = kind
  if (href && el instanceof HTMLAnchorElement) el.href = href
  if (outside && el instanceof HTMLAnchorElement) Object.assign(el, { rel: "noopener noreferrer", target: "_blank" })
  el.append(...children.map(made))
  return el
}
