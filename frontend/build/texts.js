import { readFileSync, readdirSync } from "node:fs"
import { basename, dirname, join } from "node:path"

const HOLE = /\{\{([a-z0-9_]+\.[a-z0-9_]+)\}\}/g

/** The texts of the HTML files: each has a JSON catalog of the same name beside it. @param {string} root @returns {Map<string, string>} */
export function pageTexts(root) {
  return new Map(
    readdirSync(root, { recursive: true })
      .map(String)
      .filter((path) => path.endsWith(".json"))
      .sort()
      .flatMap((path) => entries(join(root, path))),
  )
}

/** @param {string} file @returns {[string, string][]} */
function entries(file) {
  return Object.entries(JSON.parse(readFileSync(file, "utf8"))).map(([key, text]) => [
    `${area(file)}.${key}`,
    String(text),
  ])
}

/** The first half of a key: the name of the file; of a `page.json`, its folder. @param {string} file */
function area(file) {
  const name = basename(file, ".json")
  return (name === "page" ? basename(dirname(file)) : name).replaceAll("-", "_")
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
