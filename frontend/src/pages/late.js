import { auditPage } from "./audit/page.js"
import { audit } from "./audit/store.js"
import { approvalsPage } from "./approvals/page.js"
import { cooldownsPage } from "./cooldowns/page.js"
import { healthPage } from "./health/page.js"
import { previewPage } from "./preview/page.js"
import { searchPage } from "./search/page.js"
import { reviewsPage } from "./reviews/page.js"
import { revealIn } from "../shared/directives/rows.js"
import { sessionPage } from "./session/page.js"
import { servicePage } from "./service/page.js"
import { service } from "./service/store.js"
import { timeChart } from "../charts/time-chart.js"
import { settingsPage } from "./settings/page.js"
import { trashPage } from "./trash/page.js"
import { agents } from "./settings/agents.js"
import { browserPush } from "./settings/browser-push.js"
import { devices } from "./settings/devices.js"
import { logins } from "./settings/logins.js"
import { chain } from "./session/chain/store.js"
import { verificationPart } from "./memory/verification/part.js"
import { verification } from "./memory/verification/store.js"
import { cooldowns } from "./cooldowns/store.js"
import { approvalQueue } from "./approvals/store.js"
import { health } from "./health/store.js"
import { log } from "../log/store.js"
import { memoryHealth } from "./health/memory.js"
import { alerts, notices } from "./health/deliveries.js"
import { incidentsPage } from "./incidents/page.js"
import { incidentList } from "./incidents/list.js"
import { incidents } from "./incidents/store.js"
import { density } from "./events/density.js"
import { eventGroups } from "./events/event-groups.js"
import { eventsPage } from "./events/page.js"
import { events } from "./events/store.js"
import { editorPage } from "./editor/page.js"
import { editor } from "./editor/store.js"
import { focusOn } from "../shared/browser/focus.js"
import { graphPage } from "./graph/page.js"
import { neighborhood } from "./graph/directive.js"
import { graph } from "./graph/store.js"
import { notebookPage } from "./notebook/page.js"
import { markdown } from "./notebook/markdown.js"
import { notebook } from "./notebook/store.js"
import { textValue } from "./notebook/text-value.js"
import { organizerPage } from "./organizer/page.js"
import { organizer } from "./organizer/store.js"
import { preview } from "./preview/store.js"
import { revocation } from "./session/revocation.js"
import { review } from "./reviews/review.js"
import { search } from "./search/store.js"
import { session } from "./session/store.js"
import { settings } from "./settings/store.js"
import { tokens } from "./settings/tokens.js"
import { trash } from "./trash/store.js"
import { uses } from "./cooldowns/uses.js"
import { argv } from "../shared/directives/argv.js"
import { LAYERS } from "../../generated/values.js"
import { lateWords } from "./late-vocabulary.js"

export const commands = /** @type {Record<string, any>} */ (
  import.meta.glob("./{editor,events,health,preview,reviews,search,settings}/commands.js", { eager: true })
)

/**
 * The pages outside the first load: their stores, components and feed subscriptions. Their texts are already loaded.
 * @param {any} dependencies
 */
export function latePages(dependencies) {
  const { Alpine, vocabulary } = dependencies
  const store = (/** @type {string} */ name) => Alpine.store(name)
  Object.assign(vocabulary, lateWords)
  Alpine.directive("argv", argv)
  Alpine.directive("neighborhood", neighborhood(Alpine))
  Alpine.directive("first", first)
  Alpine.directive("time-chart", charted)
  Alpine.data("approvalsPage", () => approvalsPage(store))
  Alpine.data("searchPage", () => searchPage(store))
  Alpine.data("previewPage", () => previewPage(store))
  Alpine.data("incidentsPage", () => incidentsPage(store))
  Alpine.data("editorPage", () => editorPage(store))
  Alpine.data("servicePage", () => servicePage(store))
  Alpine.data("graphPage", () => graphPage(store))
  Alpine.directive("markdown", markdown)
  Alpine.directive("text-value", textValue)
  Alpine.data("verificationPart", () => verificationPart(store))
  dependencies.add("verification", verification({ api: dependencies.api }))
  Alpine.data("notebookPage", () => notebookPage(store))
  Alpine.data("organizerPage", () => organizerPage(store))
  Alpine.data("healthPage", () => healthPage(store))
  Alpine.data("settingsPage", () => settingsPage(store))
  Alpine.data("auditPage", () => auditPage(store))
  Alpine.data("trashPage", () => trashPage(store))
  Alpine.data("sessionPage", () => sessionPage(store))
  Alpine.data("cooldownsPage", () => cooldownsPage(store, () => revealIn(store("uses"))))
  Alpine.data("reviewsPage", () => reviewsPage(store, () => revealIn(store("reviews"))))
  Alpine.data("eventsPage", () => eventsPage(store))
  Alpine.data("linkedEvent", () => ({
    get event() {
      return store("events").linked ?? {}
    },
  }))
  Alpine.data("sessionHead", () => ({
    get session() {
      return store("session").row
    },
  }))
  return {
    ...ofSettings(dependencies),
    ...ofHealth(dependencies),
    ...ofPreview(dependencies),
    ...ofUses(dependencies),
    editor: ofEditor(dependencies),
    events: ofEvents(dependencies),
    graph: ofGraph(dependencies),
    incidents: ofIncidents(dependencies),
    service: ofService(dependencies),
    notebook: ofNotebook(dependencies),
    organizer: ofOrganizer(dependencies),
    search: ofSearch(dependencies),
    approvals: ofApprovals(dependencies),
    reviews: ofReviews(dependencies),
    session: ofSession(dependencies),
    audit: dependencies.add("audit", audit(dependencies)),
    trash: ofTrash(dependencies),
  }
}

/** Focus the first field of a form that opened. @param {HTMLElement} el */
function first(el) {
  requestAnimationFrame(() => el.querySelector("input")?.focus())
}

/**
 * A time chart of the value of the expression.
 * @param {HTMLElement} el
 * @param {{expression: string}} it
 * @param {any} tools
 */
function charted(el, { expression }, { evaluateLater, effect, cleanup }) {
  const view = timeChart(el)
  const evaluate = evaluateLater(expression)
  effect(() =>
    evaluate((/** @type {import("../charts/time-chart.js").TimeSpec | null} */ spec) => spec && view.show(spec)),
  )
  cleanup(() => view.close())
}

/** @param {any} dependencies */
function ofService({ add, api, feed, journal, router, toasts, heartbeats }) {
  const store = add("service", service({ api, heartbeats, journal, router, toasts }))
  journal.onUndone(
    (/** @type {{action: string}} */ { action }) => action.endsWith("pause") && store.here && store.load(),
  )
  for (const entity of ["incident", "session", "cooldown", "memory", "approval"]) feed.on(entity, () => store.follow())
  feed.on("check_results", (/** @type {any} */ items) => store.followResults(items))
  return {
    visit: (/** @type {URLSearchParams} */ params) => store.visit(params),
    exit: () => store.exit(),
    load: () => (store.load(), store.loadChart(), heartbeats.load(store.name)),
  }
}

/** @param {any} dependencies */
function ofSettings({ add, api, clock, confirm, toasts, journal, router }) {
  const keyring = add("tokens", tokens({ api, confirm, toasts }))
  const subscribed = add("devices", devices({ api, push: browserPush(), toasts, clock }))
  const agentStore = add("agents", agents({ api, clock }))
  const browsers = add("logins", logins({ api, confirm, toasts, clock }))
  const store = add(
    "settings",
    settings({
      api,
      tokens: keyring,
      logins: browsers,
      agents: agentStore,
      devices: subscribed,
      toasts,
      journal,
      router,
    }),
  )
  journal.onUndone(
    (/** @type {{action: string}} */ { action }) => action === "configure" && store.state && store.load(),
  )
  const visit = async (/** @type {URLSearchParams} */ params) => {
    await store.visit(params)
    if (params.has("change") && store.editing) focusOn(".set-edit :is(input, select)")
  }
  return { settings: { visit, exit: () => store.exit(), load: () => store.load() } }
}

/** @param {any} dependencies */
function ofHealth({ Alpine, add, api, feed, clock, supervisor, toasts }) {
  const healthStore = add("health", health({ api, toasts, clock }))
  Alpine.effect(() => healthStore.follow(supervisor.away, feed.state.live))
  const memoryStore = add("memoryHealth", memoryHealth({ api, toasts, clock }))
  const alertStore = add("alerts", alerts({ api, feed }))
  const noticeStore = add("notices", notices({ api, feed, toasts }))
  feed.on("alert", (/** @type {Change} */ change) => alertStore.phase === "ready" && alertStore.apply(change))
  feed.on("notice", (/** @type {Change} */ change) => noticeStore.follow(change))
  const loadAll = () => (memoryStore.load(), alertStore.load(), noticeStore.load())
  return {
    health: {
      visit: () => (healthStore.visit(), loadAll()),
      exit: () => healthStore.exit(),
      load: () => (healthStore.load(), loadAll()),
    },
  }
}

/** @param {any} dependencies */
function ofPreview({ add, api, feed, router, services, clock }) {
  const store = add("preview", preview({ api, router, services, clock }))
  feed.on("memory", (/** @type {Change} */ change) => store.follow(change))
  return { preview: store }
}

/** @param {any} dependencies */
function ofGraph({ add, api, feed, router, confirm, toasts, journal }) {
  const drawn = !matchMedia("(max-width: 760px)").matches // on a phone the list comes first
  const store = add("graph", graph({ api, router, confirm, toasts, journal, drawn }))
  for (const entity of ["entity", "relationship", "memory"]) feed.on(entity, () => store.follow())
  return { visit: store.visit.bind(store), exit: () => store.exit(), load: () => store.reload() }
}

/** @param {any} dependencies */
function ofIncidents({ Alpine, add, api, feed, confirm, toasts, journal }) {
  const list = add("incidentList", incidentList({ api, feed }))
  const store = add("incidents", incidents({ api, confirm, toasts, journal }))
  feed.on("incident", (/** @type {Change} */ change) => list.follow(change))
  for (const entity of ["incident", "session", "event", "approval"]) feed.on(entity, () => store.follow())
  Alpine.effect(() => list.waiting.length && toasts.announce(list.pill, "incidents"))
  journal.onUndone((/** @type {{action: string}} */ { action }) => action === "incident" && store.here && store.load())
  return {
    visit: (/** @type {URLSearchParams} */ params, /** @type {number | null} */ id) =>
      Promise.all([store.visit(id), id === null && list.visit(params)]),
    exit: () => store.exit(),
    load: () => (store.id === null ? list.load() : store.load()),
  }
}

/** @param {any} dependencies */
function ofEvents({ Alpine, add, api, feed, router, toasts }) {
  const groups = add("eventGroups", eventGroups({ api, feed }))
  const densityStore = add("density", density({ api, feed }))
  const store = add("events", events({ api, feed, router, groups, density: densityStore }))
  feed.on("event", (/** @type {Change} */ change) => store.follow(change))
  feed.onReset(() => router.page !== "events" && store.phase !== "loading" && store.reload())
  Alpine.effect(() => store.list.waiting.length && toasts.announce(store.list.pill, "events"))
  return {
    visit: (/** @type {URLSearchParams} */ params) => store.visit(params),
    exit: () => store.exit(),
    load: () => store.reload(),
  }
}

/** @param {any} dependencies */
function ofEditor({ add, api, confirm, toasts, journal, router, services }) {
  const store = add("editor", editor({ api, confirm, toasts, journal, router, services }))
  journal.onUndone((/** @type {{action: string}} */ { action }) => {
    if (/configure|pause/.test(action)) return Promise.all([store.here && store.load(), services.load()])
  })
  return store
}

/** @param {any} dependencies */
function ofNotebook({ add, api, feed, confirm, toasts, unsaved }) {
  const store = add("notebook", notebook({ api, confirm, toasts, drafts: unsaved }))
  for (const entity of ["memory", "event", "notebook", "page_review"]) feed.on(entity, () => store.follow())
  return { visit: store.visit.bind(store), exit: () => store.exit(), load: () => store.reload() }
}

/** @param {any} dependencies */
function ofOrganizer({ add, api, feed, confirm, toasts, journal }) {
  const store = add("organizer", organizer({ api, confirm, toasts, journal }))
  journal.onUndone(() => store.here && store.reload())
  for (const entity of ["memory", "review"]) feed.on(entity, () => store.follow())
  feed.on("organizer_run", (/** @type {Change} */ change) => store.followRun(change))
  return { visit: store.visit.bind(store), exit: () => store.exit(), load: () => store.reload() }
}

/** @param {any} dependencies */
function ofSearch({ add, api, feed, router, storage }) {
  const store = add("search", search({ api, feed, router, storage }))
  for (const layer of LAYERS)
    feed.on(layer, (/** @type {Change} */ change) => store.here && store.follow(layer, change))
  return store
}

/** @param {any} dependencies */
function ofApprovals({ Alpine, add, api, feed, approvals, clock, live, toasts }) {
  const queue = add("approvalQueue", approvalQueue({ api, feed, approvals, clock, live, toasts }))
  feed.on("approval", (/** @type {Change} */ change) => queue.follow(change))
  feed.on("cooldown", (/** @type {Change} */ change) => queue.followUse(change))
  Alpine.effect(() => queue.here && queue.gather(approvals.open))
  Alpine.effect(() => queue.here && queue.tick())
  return queue
}

/** @param {any} dependencies */
function ofReviews({ Alpine, add, api, feed, router, reviews, toasts, journal }) {
  const store = add("review", review({ api, reviews, toasts, journal, router }))
  journal.onUndone(async (/** @type {{review_id: number | null}} */ { review_id: id }) => {
    if (id !== null) await store.reopened(await api.get(`/reviews/${id}`))
  })
  feed.on("review", (/** @type {Change} */ change) => store.follow(change))
  feed.on("memory", (/** @type {Change} */ change) => store.followMemory(change))
  feed.on("page_review", () => router.page === "reviews" && Alpine.store("notebook").load())
  return {
    visit: (/** @type {URLSearchParams} */ params, /** @type {number | null} */ id) => (
      reviews.visit(params),
      Alpine.store("notebook").load(),
      store.visit(id)
    ),
    exit: () => store.visit(null),
    load: () => router.id !== null && store.load(router.id),
  }
}

/** @param {any} dependencies */
function ofTrash({ add, api, feed, confirm, toasts, journal }) {
  const thrown = add("trash", trash({ api, confirm, toasts, journal }))
  for (const entity of ["memory", "trash"]) feed.on(entity, () => thrown.follow())
  return thrown
}

/** @param {any} dependencies */
function ofSession({ add, api, feed, engines, toasts, journal }) {
  add("revocation", revocation({ api, toasts, journal }))
  const chainStore = add("chain", chain({ api, feed }))
  const store = add("session", session({ api, feed, log: add("log", log({ api })), chain: chainStore, engines }))
  feed.on("session", (/** @type {Change} */ change) => (store.follow(change), chainStore.follow(change)))
  feed.on("memory", (/** @type {Change} */ change) => store.followMemory(change))
  feed.on("event", (/** @type {Change} */ change) => store.followEvent(change))
  feed.on("marker", (/** @type {Change} */ change) => store.followMarker(change))
  feed.on("review", (/** @type {Change} */ change) => store.followReview(change))
  feed.on("escalation", (/** @type {Change} */ change) => chainStore.followHandoff(change))
  return {
    /** @param {URLSearchParams} params @param {number} id @param {string} hash */
    visit: (params, id, hash) => store.visit(id, params.get("part") ?? "", hash),
    exit: () => store.exit(),
    load: () => store.reload(),
  }
}

/** @param {any} dependencies */
function ofUses({ Alpine, add, api, feed, router, clock, toasts, journal }) {
  const slots = add("cooldowns", cooldowns({ api, feed, clock, toasts, journal }))
  const usesStore = add("uses", uses({ api, feed, router }))
  feed.on("cooldown", (/** @type {Change} */ change) => (usesStore.follow(change), slots.follow()))
  feed.onReset(() => router.page !== "cooldowns" && usesStore.phase !== "loading" && usesStore.load())
  Alpine.effect(() => slots.tick(clock.second))
  Alpine.effect(() => usesStore.waiting.length && toasts.announce(usesStore.pill, "uses"))
  return {
    cooldowns: {
      visit: (/** @type {URLSearchParams} */ params) => (slots.visit(), usesStore.visit(params)),
      exit: () => slots.exit(),
      load: () => (slots.load(), usesStore.load()),
    },
  }
}
