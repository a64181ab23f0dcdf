import Alpine from "@alpinejs/csp"
import { createApi } from "./shared/api.js"
import { registry } from "./palette/registry.js"
import { directives } from "./shared/directives/index.js"
import { pages } from "./pages/index.js"
import { drafts } from "./shared/memory-form/drafts.js"
import { createFeed } from "./feed/index.js"
import { rowActions } from "./palette/commands/list.js"
import { connect } from "./feed/connect.js"
import { isForPalette, isForUs, keys } from "./palette/keys.js"
import { lastVisit } from "./pages/overview/last-visit.js"
import { reloadOnLogout } from "./shared/browser/reload.js"
import { createRouter, inner } from "./shared/browser/router.js"
import { returnFocus } from "./shared/browser/focus.js"
import { keepFocus } from "./shared/browser/lost-focus.js"
import { storage, tabStorage } from "./shared/browser/storage.js"
import { addMemory } from "./shared/memory-form/add-memory.js"
import { approvals } from "./shared/stores/approvals.js"
import { clock } from "./shared/frame/clock.js"
import { confirm } from "./shared/dialogs/confirm.js"
import { conflict } from "./pages/memory/conflict.js"
import { curate } from "./pages/memories/curate.js"
import { engines } from "./shared/stores/engines.js"
import { halt } from "./shared/dialogs/halt.js"
import { heartbeats } from "./shared/stores/heartbeats.js"
import { journal } from "./shared/stores/journal.js"
import { late } from "./pages/loading/store.js"
import { login } from "./shared/frame/logout.js"
import { memories } from "./pages/memories/store.js"
import { memory } from "./pages/memory/store.js"
import { overview } from "./pages/overview/store.js"
import { palette } from "./palette/store.js"
import { requests } from "./shared/stores/requests.js"
import { reviews } from "./pages/reviews/store.js"
import { rowEdit } from "./pages/memories/row-edit.js"
import { runNow } from "./shared/dialogs/run-now.js"
import { services } from "./shared/stores/services.js"
import { sessions } from "./pages/sessions/store.js"
import { steps } from "./pages/memory/undo.js"
import { supervisor } from "./shared/frame/supervisor.js"
import { theme } from "./shared/frame/theme.js"
import { toasts } from "./shared/parts/toasts.js"
import { whatIf } from "./pages/memory/what-if.js"
import { addTexts } from "./shared/texts/index.js"
import { visits } from "./shared/frame/navigation.js"
import { words } from "./shared/format/vocabulary.js"

/** @type {Record<string, any>} the stores passed to the commands, by name */
const byName = {}
/** @type {import("./palette/registry.js").Listed[]} */
let commands = []

/** The composition root: passes every store its dependencies. */
/** @template T @param {string} name @param {T} value @returns {T} the reactive one */
function add(name, value) {
  Alpine.store(name, /** @type {any} */ (value))
  return (byName[name] = /** @type {any} */ (Alpine.store(name)))
}

const reload = () => location.reload()
const refused = reloadOnLogout({ reload, storage: tabStorage })
/** @type {(act: number, path: string) => void} */
let note = () => {}
const api = createApi({ refused, acted: (actId, path) => note(actId, path) })
const feed = createFeed({ changes: (after) => api.get("/changes", { after, limit: 500 }), refused })
feed.state = add("live", feed.state)

const stores = {
  router: add("router", createRouter({ location, history, mark })),
  clock: add("clock", clock()),
  toasts: add("toasts", toasts()),
  confirm: add("confirm", confirm()),
  services: add("services", services({ api })),
  engines: add("engines", engines({ api })),
  requests: add("requests", requests({ api, feed })),
  theme: add("theme", theme({ root: document.documentElement, storage })),
  live: feed.state,
}
const strips = add("heartbeats", heartbeats({ api }))
const { router, toasts: toaster, confirm: asker, requests: requestStore, services: serviceStore } = stores
const waiting = add("approvals", approvals({ api, feed, confirm: asker, toasts: toaster }))
Object.assign(stores, { approvals: waiting })
const stopping = add("halt", halt({ api, confirm: asker, toasts: toaster }))
const listStores = {
  memories: add("memories", memories({ api, feed, router })),
  sessions: add("sessions", sessions({ api, feed, router })),
  reviews: add("reviews", reviews({ api, feed, router })),
}
const leader = add("supervisor", supervisor({ api, clock: stores.clock }))
const visit = lastVisit({ storage })
const unsaved = drafts({ storage })
const clashing = add("conflict", conflict())
const details = {
  supervisor: leader,
  memory: add(
    "memory",
    memory({ api, memories: listStores.memories, drafts: unsaved, conflict: clashing, toasts: toaster }),
  ),
  overview: add(
    "overview",
    overview({
      api,
      feed,
      supervisor: leader,
      reviews: listStores.reviews,
      approvals: waiting,
      halt: stopping,
      clock: stores.clock,
      heartbeats: strips,
      visit,
    }),
  ),
}
const acts = add("journal", journal({ api, toasts: toaster }))
acts.onUndone(async ({ memory_id: id }) => {
  const row = id === null ? null : await api.get(`/memories/${id}`).catch(() => null)
  if (row) await details.memory.accept(row)
})
note = (actId, path) => acts.note(actId, path)
add("steps", steps({ api, memory: details.memory, toasts: toaster, journal: acts }))
add("whatIf", whatIf({ api }))
add("login", login({ api, reload, toasts: toaster }))
add(
  "rowEdit",
  rowEdit({
    memories: listStores.memories,
    memory: details.memory,
    router,
    toasts: toaster,
    drafts: unsaved,
    journal: acts,
  }),
)
add(
  "curate",
  curate({
    api,
    memories: listStores.memories,
    shown: details.memory,
    confirm: asker,
    toasts: toaster,
    journal: acts,
  }),
)
const writing = add(
  "addMemory",
  addMemory({ api, memories: listStores.memories, toasts: toaster, journal: acts, storage, unsaved }),
)
const running = add(
  "runNow",
  runNow({ requests: requestStore, services: serviceStore, engines: stores.engines, toasts: toaster }),
)
const keyboard = add("keys", keys({ commands: () => commands, storage }))
const finder = add(
  "palette",
  palette({
    ...{ api, commands: () => commands, router, services: serviceStore, runNow: running, storage },
    ...{ approvals: waiting, decide: waiting.decide.bind(waiting), row: rowActions },
    catalog: async () => (await api.get("/settings")).settings,
  }),
)
router.onMove(() => writing.open && writing.hide())
const ui = add("ui", { togglePause, more: false, toggleMore, hideMore, newEvents: 0 })
router.onMove(hideMore)
const early = /** @type {Record<string, any>} */ (
  import.meta.glob(["./palette/commands/*.js", "./pages/{approvals,memories,sessions}/commands.js"], {
    eager: true,
  })
)
commands = registry(early, byName)
const coming = add("late", late({ api, router, reload, fetch: fetchLate }))

Alpine.magic("fmt", () => vocabulary)
const vocabulary = words(stores)
directives(Alpine)
pages(Alpine)
visits({ Alpine, feed, late: coming, halt: stopping, heartbeats: strips, ui, ...stores, ...listStores, ...details })

document.addEventListener("click", (click) => {
  const link = inner(click)
  if (!link) return
  click.preventDefault()
  router.go(link.pathname + link.search + link.hash)
})
addEventListener("popstate", ({ state }) => router.arrive(state))
returnFocus()
keepFocus()
document.addEventListener("keydown", (event) => {
  if (isForPalette(event)) {
    event.preventDefault()
    if (!document.querySelector("dialog.palette[open]")) {
      finder.hide()
      finder.show()
    }
  } else if (keyboard.on && isForUs(event) && keyboard.press(event.key, event.repeat)) event.preventDefault()
})

connect(feed)
Alpine.start()

/** Load the lazy pages: their texts first, because their modules use texts while they load. */
async function fetchLate() {
  addTexts(await import("./shared/texts/late.js").then((texts) => texts.late))
  const { commands: more, latePages } = await import("./pages/late.js")
  const pages = latePages({
    ...{ Alpine, add, api, feed, storage, unsaved, vocabulary, journal: acts, heartbeats: strips },
    ...stores,
    ...listStores,
    ...details,
  })
  commands = registry({ ...early, ...more }, byName)
  return pages
}

/** The scroll position and the focused link of the page being left. */
function mark() {
  const link = document.activeElement?.closest("main a[href]")
  return { y: scrollY, link: link?.getAttribute("href") ?? "" }
}

function togglePause() {
  if (feed.state.paused) feed.resume()
  else feed.pause()
}

function toggleMore() {
  ui.more = !ui.more
}

function hideMore() {
  ui.more = false
}
