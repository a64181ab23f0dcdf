import assert from "node:assert/strict"
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { build } from "vite"
import { bareTexts, filled, pageTexts } from "../../build/texts.js"

const ROOT = fileURLToPath(new URL("../..", import.meta.url))
const SRC = join(ROOT, "src")
const FILES = [join(ROOT, "index.html"), ...htmlFiles()]

function htmlFiles() {
  return readdirSync(SRC, { recursive: true })
    .filter((name) => name.endsWith(".html"))
    .map((name) => join(SRC, name))
}

test("texts are escaped for attributes and expressions", () => {
  const texts = new Map([
    ["a.b", 'Say "<it>" & don\'t'],
    ["a.c", "plain"],
  ])
  const html = `<p title="{{a.b}}" x-text="x ? '{{a.b}}' : y">{{a.c}}</p>`

  assert.equal(
    filled(html, texts),
    `<p title="Say &quot;&lt;it&gt;&quot; &amp; don't" x-text="x ? 'Say &quot;&lt;it&gt;&quot; &amp; don\\'t' : y">plain</p>`,
  )
})

test("the build fails on a key without a text and on an unused text", () => {
  assert.throws(() => filled("{{a.b}}", new Map()), /No sentence for a\.b/)
  assert.throws(() => filled("", new Map([["a.b", "x"]])), /No page says a\.b/)
})

test("hard-coded text in HTML is detected", () => {
  assert.deepEqual(bareTexts(`<p>One <code>two</code> {{a.b}}</p>`), ["One"])
  assert.deepEqual(bareTexts(`<a aria-label="Three" :title="x ? 'four' : '{{a.b}}'" href="five"></a>`), [
    "Three",
    "four",
  ])
  assert.deepEqual(bareTexts(`<i x-text="state === 'loading' ? '' : fmt('x')" class="six"></i>&nbsp;·`), [])
})

test("all text in the HTML comes from a catalog", () => {
  assert.ok(FILES.length > 30)
  for (const file of FILES) assert.deepEqual(bareTexts(readFileSync(file, "utf8")), [], file)
})

test("the pseudo-locale build marks all text", async () => {
  const place = mkdtempSync(join(tmpdir(), "lamplighter-pseudo-"))
  try {
    await build({ root: ROOT, mode: "pseudo", logLevel: "silent", build: { outDir: place, emptyOutDir: true } })
    const html = readFileSync(join(place, "index.html"), "utf8")
    const plain = [...pageTexts(SRC)].filter(([, text]) => !/[&<>"']/.test(text))
    for (const [key, text] of plain) assert.ok(html.includes(`⟦${text} ·`), key)
    const own = bareTexts(html.replace(/⟦[^⟧]*⟧/g, ""))
    assert.deepEqual(own, [])
  } finally {
    rmSync(place, { recursive: true })
  }
})
