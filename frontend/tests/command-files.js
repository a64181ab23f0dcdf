import { readdirSync } from "node:fs"

const SRC = new URL("../src/", import.meta.url)

/** The URLs of all files that export commands. */
export function commandFiles() {
  return readdirSync(SRC, { recursive: true })
    .filter((path) => /^palette\/commands\/|\/commands\.js$/.test(path))
    .map((path) => new URL(path, SRC).href)
}
