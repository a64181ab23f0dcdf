import assert from "node:assert/strict"
import { readFileSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"

const SRC = fileURLToPath(new URL("../../src", import.meta.url))
const FOLDER_LIMIT = 15
const LINE_LIMIT = 500
const entries = readdirSync(SRC, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())

test("a folder has at most 15 files", () => {
  for (const folder of new Set(entries.map(({ parentPath }) => parentPath))) {
    const files = entries.filter(({ parentPath }) => parentPath === folder)
    assert.ok(files.length <= FOLDER_LIMIT, `${folder}: ${files.length}`)
  }
})

test("a file has at most 500 lines", () => {
  for (const { parentPath, name } of entries) {
    const lines = readFileSync(join(parentPath, name), "utf8").split("\n").length
    assert.ok(lines <= LINE_LIMIT, `${name}: ${lines}`)
  }
})

test("every page has a folder with its HTML", () => {
  for (const { name } of readdirSync(join(SRC, "pages"), { withFileTypes: true }).filter((each) => each.isDirectory()))
    assert.ok(readdirSync(join(SRC, "pages", name)).includes("page.html"), name)
})
