import { defineConfig } from "vite"
import { pages } from "./build/pages.js"
import { pseudoTexts } from "./build/pseudo.js"

export default defineConfig(({ mode }) => ({
  plugins: mode === "pseudo" ? [pages({ foreign: true }), pseudoTexts()] : [pages()],
  worker: { format: "es" },
  build: {
    assetsInlineLimit: 0, // fonts may not be data: under the content security policy
    modulePreload: { polyfill: false },
    cssTarget: ["chrome123", "firefox121", "safari17.5"], // the first with light-dark()
    target: ["chrome111", "firefox114", "safari16.4"],
    reportCompressedSize: true,
  },
  server: { proxy: { "/api": "http://127.0.0.1:8080" } },
}))
