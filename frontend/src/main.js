import Alpine from "@alpinejs/csp"
import { createApi } from "./api.js"
import { registry } from "./commands/index.js"
import { directives } from "./components/directives.js"
import { pages } from "./components/pages.js"
import { drafts } from "./drafts.js"
import { createFeed } from "./feed.js"
import { connect } from "./feed/connect.js"
import { isForPalette, isForUs, keys } from "./keys.js"
import { lastVisit } from "./last-visit.js"
import { leaving } from "./leave.js"
import { createRouter, inner } from "./router.js"
import { storage, tabStorage } from "./storage.js"
import { addMemory } from "./stores/add-memory.js"
import { approvals } from "./stores/approvals.js"
import { clock } from "./stores/clock.js"
import { confirm } from "./stores/confirm.js"
import { conflict } from "./stores/conflict.js"
import { curate } from "./stores/curate.js"
import { density } from "./stores/density.js"
import { eventGroups } from "./stores/event-groups.js"
import { engines } from "./stores/engines.js"
import { events } from "./stores/events.js"
import { halt } from "./stores/halt.js"
import { journal } from "./stores/journal.js"
import { late } from "./stores/late.js"
import { login } from "./stores/login.js"
import { memories } from "./stores/memories.js"
import { memory } from "./stores/memory.js"
import { overview } from "./stores/overview.js"
import { palette } from "./stores/palette.js"
import { requests } from "./stores/requests.js"
import { reviews } from "./stores/reviews.js"
import { rowEdit } from "./stores/row-edit.js"
import { runNow } from "./stores/run-now.js"
import { services } from "./stores/services.js"
import { sessions } from "./stores/sessions.js"
import { steps } from "./stores/steps.js"
import { supervisor } from "./stores/supervisor.js"
import { theme } from "./stores/theme.js"
import { toasts } from "./stores/toasts.js"
import { whatIf } from "./stores/what-if.js"
import { learn } from "./texts.js"
import { visits } from "./visits.js"
import { words } from "./words.js"

/** @type {Record<string, any>} what commands are made of */
const byName = {}
/** @type {import("./commands/index.js").Listed[]} */
let commands = []

/** The composition root: every store gets what it needs here, and nothing reaches for anything else. */
/** @template T @param {string} name @param {T} value @returns {T} the reactive one */
function add(name, value) {
  Alpine.store(name, /** @type {any} */ (value))
  return (byName[name] = /** @type {any} */ (Alpine.store(name)))
}

const reload = () => location.reload()
const refused = leaving({ reload, storage: tabStorage })
/** @type {(act: number, path: string) => void} */
let note = () => {}
const api = createApi({ refused, acted: (act, path) => note(act, path) })
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
  approvals: add("approvals", approvals({ api, feed })),
  theme: add("theme", theme({ root: document.documentElement, storage })),
  live: feed.state,
}
const { router, toasts: toaster, confirm: asker, requests: asked, services: known } = stores
const stopping = add("halt", halt({ api, confirm: asker, toasts: toaster }))
const grouped = add("eventGroups", eventGroups({ api, feed }))
const counted = add("density", density({ api, feed }))
const lists = {
  memories: add("memories", memories({ api, feed, router })),
  events: add("events", events({ api, feed, router, groups: grouped, density: counted })),
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
    memory({ api, memories: lists.memories, drafts: unsaved, conflict: clashing, toasts: toaster }),
  ),
  overview: add(
    "overview",
    overview({
      api,
      feed,
      supervisor: leader,
      reviews: lists.reviews,
      approvals: stores.approvals,
      halt: stopping,
      clock: stores.clock,
      visit,
    }),
  ),
}
const acts = add("journal", journal({ api, toasts: toaster }))
acts.onUndone(async ({ memory_id: id }) => {
  const row = id === null ? null : await api.get(`/memories/${id}`).catch(() => null)
  if (row) await details.memory.accept(row)
})
note = (act, path) => acts.note(act, path)
add("steps", steps({ api, memory: details.memory, toasts: toaster, journal: acts }))
add("whatIf", whatIf({ api }))
add("login", login({ api, reload, toasts: toaster }))
add(
  "rowEdit",
  rowEdit({
    memories: lists.memories,
    memory: details.memory,
    router,
    toasts: toaster,
    drafts: unsaved,
    journal: acts,
  }),
)
add("curate", curate({ api, memories: lists.memories, confirm: asker, toasts: toaster, journal: acts }))
const writing = add(
  "addMemory",
  addMemory({ api, memories: lists.memories, toasts: toaster, journal: acts, storage, unsaved }),
)
const running = add("runNow", runNow({ requests: asked, services: known, engines: stores.engines, toasts: toaster }))
const keyboard = add("keys", keys({ commands: () => commands, storage }))
const finder = add(
  "palette",
  palette({ api, commands: () => commands, router, services: known, runNow: running, storage }),
)
router.onMove(() => writing.open && writing.hide())
const ui = add("ui", { togglePause, more: false, toggleMore, hideMore })
router.onMove(hideMore)
const early = /** @type {Record<string, any>} */ (import.meta.glob("./commands/*.js", { eager: true }))
commands = registry(early, byName)
const coming = add("late", late({ api, router, reload, fetch: fetchLate }))

Alpine.magic("fmt", () => vocabulary)
const vocabulary = words(stores)
directives(Alpine)
pages(Alpine)
visits({ Alpine, feed, late: coming, halt: stopping, ...stores, ...lists, ...details })

document.addEventListener("click", (click) => {
  const link = inner(click)
  if (!link) return
  click.preventDefault()
  router.go(link.pathname + link.search + link.hash)
})
addEventListener("popstate", ({ state }) => router.arrive(state))
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

/** The rest of the pages: their texts first, for their code speaks while it loads. */
async function fetchLate() {
  learn(await import("./texts/late.js").then((texts) => texts.late))
  const { commands: more, latePages } = await import("./late/index.js")
  const pages = latePages({
    ...{ Alpine, add, api, feed, storage, vocabulary, journal: acts },
    ...stores,
    ...lists,
    ...details,
  })
  commands = registry({ ...early, ...more }, byName)
  return pages
}

/** Where one is on a page that is left. */
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
