import { existsSync, readFileSync, readdirSync } from "node:fs"
import { resolve } from "node:path"

const HOLE = /\{\{([a-z0-9_]+\.[a-z0-9_]+)\}\}/g

/** The sentences of the pages: one file of them for each file of HTML. @param {string} place @returns {Map<string, string>} */
export function pageTexts(place) {
  if (!existsSync(place)) return new Map()
  return new Map(
    readdirSync(place)
      .filter((name) => name.endsWith(".json"))
      .flatMap((name) => entries(place, name)),
  )
}

/** @param {string} place @param {string} name @returns {[string, string][]} */
function entries(place, name) {
  const area = name.replace(/\.json$/, "").replaceAll("-", "_")
  return Object.entries(JSON.parse(readFileSync(resolve(place, name), "utf8"))).map(([key, text]) => [
    `${area}.${key}`,
    String(text),
  ])
}

/**
 * Put each sentence where its key stands, `{{area.key}}`. A key without a sentence, and a sentence that nobody says,
 * end the build. @param {string} html @param {Map<string, string>} texts
 */
export function filled(html, texts) {
  const used = new Set()
  const missing = new Set()
  const out = html.replace(HOLE, (hole, key, at) => {
    used.add(key)
    if (!texts.has(key)) missing.add(key)
    const text = texts.get(key) ?? hole
    const quoted = html[at - 1] === "'" && html[at + hole.length] === "'"
    return escaped(quoted ? inQuotes(text) : text)
  })
  const unused = [...texts.keys()].filter((key) => !used.has(key))
  if (missing.size) throw new Error(`No sentence for ${[...missing].join(", ")}.`)
  if (unused.length) throw new Error(`No page says ${unused.join(", ")}.`)
  return out
}

/** As it stands within '…' of an expression. @param {string} text */
function inQuotes(text) {
  return text.replace(/['\\]/g, "\\$&")
}

/** @param {string} text */
function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;")
}

const TOKEN = /<!--[\s\S]*?-->|<(?:"[^"]*"|[^">])*>|[^<]+/g
const SILENT = ["code", "kbd", "pre", "script", "style"]
const SAID = ["aria-label", "placeholder", "title", "alt"]

/**
 * What a page says in its own words: its texts, its attributes for people, and quoted words in expressions that are
 * shown. @param {string} html @returns {string[]}
 */
export function bareTexts(html) {
  const found = []
  let silent = ""
  for (const [token] of html.matchAll(TOKEN)) {
    const [, slash, tag] = /^<(\/?)([\w-]+)/.exec(token) ?? []
    if (silent) {
      if (slash && tag === silent) silent = ""
      continue
    }
    if (!token.startsWith("<")) found.push(token)
    else if (tag && !slash) {
      found.push(...attributes(token))
      if (SILENT.includes(tag)) silent = tag
    }
  }
  return found
    .map((text) =>
      text
        .replace(HOLE, "")
        .replace(/&[a-z]+;/g, "")
        .trim(),
    )
    .filter((text) => /\p{L}/u.test(text))
}

/** @param {string} tag */
function attributes(tag) {
  return [...tag.matchAll(/([:@\w.-]+)="([^"]*)"/g)].flatMap(([, name, value]) => {
    if (SAID.includes(name)) return [value]
    return name === "x-text" || SAID.some((each) => name === `:${each}`) ? literals(value) : []
  })
}

/** Words that an expression shows; what it compares with, or hands on, is none of them. @param {string} expression */
function literals(expression) {
  return [...expression.matchAll(/'((?:\\.|[^'\\])*)'/g)]
    .filter(({ index }) => !/[=(,[]\s*$/.test(expression.slice(0, index)))
    .map(([, words]) => words)
}
