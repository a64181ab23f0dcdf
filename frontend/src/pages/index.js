import { memoriesPage } from "./memories/page.js"
import { memoryFields } from "../shared/memory-form/memory-fields.js"
import { memoryPanel } from "./memory/page.js"
import { overviewPage } from "./overview/page.js"
import { sessionsPage } from "./sessions/page.js"

/** Registers the component data of each page. @param {any} Alpine */
export function pages(Alpine) {
  const store = (/** @type {string} */ name) => Alpine.store(name)
  Alpine.data("memoriesPage", () => memoriesPage(store))
  Alpine.data("sessionsPage", () => sessionsPage(store))
  Alpine.data("overviewPage", () => overviewPage(store))
  Alpine.data("memoryPanel", () => memoryPanel(store))
  Alpine.data("newMemory", () => memoryFields(store("addMemory"), "add"))
  Alpine.data("editedMemory", () => memoryFields(store("memory"), "edit"))
  for (const [name, which] of [
    ["keysHere", "here"],
    ["keysElsewhere", "elsewhere"],
  ])
    Alpine.data(name, () => ({
      get groups() {
        return store("keys")[which]
      },
    }))
}
