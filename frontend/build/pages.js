import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { pseudo } from "./pseudo.js"
import { filled, pageTexts } from "./texts.js"

const HERE = dirname(fileURLToPath(import.meta.url))
const SRC = resolve(HERE, "../src")
const ICONS = resolve(HERE, "../node_modules/lucide-static/icons")

/**
 * One page of HTML out of its parts: <include-part src> is the file itself, {{area.key}} a sentence of the catalogue,
 * <lucide-icon name> a reference into one sprite with only the icons in use, and the theme script a blocking file, so
 * that a dark room sees no white flash. @param {{foreign?: boolean}} [how] in the language of nobody
 */
export function pages({ foreign = false } = {}) {
  const theme = script(resolve(SRC, "shared/browser/theme-boot.js"))
  return {
    name: "lamplighter-pages",
    transformIndexHtml: {
      order: "pre",
      handler: (html) => sprite(icons(filled(include(html), texts()))),
    },
    generateBundle() {
      this.emitFile({ type: "asset", fileName: theme.file, source: theme.source })
    },
    configureServer(server) {
      server.middlewares.use(`/${theme.file}`, (_request, response) => {
        response.setHeader("content-type", "text/javascript")
        response.end(theme.source)
      })
    },
  }

  function texts() {
    const found = [...pageTexts(SRC)]
    return new Map(foreign ? found.map(([key, text]) => [key, pseudo(text)]) : found)
  }

  function include(html) {
    return html
      .replace("<theme-script></theme-script>", `<script vite-ignore src="/${theme.file}"></script>`)
      .replace(/<include-part src="([^"]+)"><\/include-part>/g, (_, name) => include(read(resolve(SRC, name))))
  }
}

function icons(html) {
  return html.replace(
    /<lucide-icon name="([^"]+)"><\/lucide-icon>/g,
    (_, name) => `<svg class="icon" aria-hidden="true"><use href="#icon-${name}"></use></svg>`,
  )
}

function sprite(html) {
  const [tag, chosen] = html.match(/<icon-sprite also="([^"]*)"><\/icon-sprite>/)
  const names = new Set(
    [...html.matchAll(/href="#icon-([a-z0-9-]+)"/g)].map(([, name]) => name).concat(chosen.split(" ")),
  )
  const symbols = [...names].sort().map(symbol).join("")
  return html.replace(tag, `<svg class="sprite" aria-hidden="true">${symbols}</svg>`)
}

function symbol(name) {
  const [, body] = read(resolve(ICONS, `${name}.svg`)).match(/<svg[^>]*>([\s\S]*)<\/svg>/)
  return `<symbol id="icon-${name}" viewBox="0 0 24 24">${body.replace(/\s+/g, " ").trim()}</symbol>`
}

function script(path) {
  const source = read(path)
  return { source, file: `assets/theme-${createHash("sha256").update(source).digest("hex").slice(0, 8)}.js` }
}

function read(path) {
  return readFileSync(path, "utf8")
}
