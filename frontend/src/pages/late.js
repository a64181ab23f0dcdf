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
  const one = add("service", service({ api, heartbeats, journal, router, toasts }))
  journal.onUndone((/** @type {{action: string}} */ { action }) => action.endsWith("pause") && one.here && one.load())
  for (const entity of ["incident", "session", "cooldown", "memory", "approval"]) feed.on(entity, () => one.follow())
  feed.on("check_results", (/** @type {any} */ items) => one.followResults(items))
  return {
    visit: (/** @type {URLSearchParams} */ params) => one.visit(params),
    exit: () => one.exit(),
    load: () => (one.load(), one.loadChart(), heartbeats.load(one.name)),
  }
}

/** @param {any} dependencies */
function ofSettings({ add, api, clock, confirm, toasts, journal, router }) {
  const keyring = add("tokens", tokens({ api, confirm, toasts }))
  const subscribed = add("devices", devices({ api, push: browserPush(), toasts, clock }))
  const known = add("agents", agents({ api, clock }))
  const browsers = add("logins", logins({ api, confirm, toasts, clock }))
  const one = add(
    "settings",
    settings({ api, tokens: keyring, logins: browsers, agents: known, devices: subscribed, toasts, journal, router }),
  )
  journal.onUndone((/** @type {{action: string}} */ { action }) => action === "configure" && one.state && one.load())
  const visit = async (/** @type {URLSearchParams} */ params) => {
    await one.visit(params)
    if (params.has("change") && one.editing) focusOn(".set-edit :is(input, select)")
  }
  return { settings: { visit, exit: () => one.exit(), load: () => one.load() } }
}

/** @param {any} dependencies */
function ofHealth({ Alpine, add, api, feed, clock, supervisor, toasts }) {
  const well = add("health", health({ api, toasts, clock }))
  Alpine.effect(() => well.follow(supervisor.away, feed.state.live))
  const measured = add("memoryHealth", memoryHealth({ api, toasts, clock }))
  const came = add("alerts", alerts({ api, feed }))
  const went = add("notices", notices({ api, feed, toasts }))
  feed.on("alert", (/** @type {Change} */ change) => came.phase === "ready" && came.apply(change))
  feed.on("notice", (/** @type {Change} */ change) => went.follow(change))
  const all = () => (measured.load(), came.load(), went.load())
  return {
    health: { visit: () => (well.visit(), all()), exit: () => well.exit(), load: () => (well.load(), all()) },
  }
}

/** @param {any} dependencies */
function ofPreview({ add, api, feed, router, services, clock }) {
  const next = add("preview", preview({ api, router, services, clock }))
  feed.on("memory", (/** @type {Change} */ change) => next.follow(change))
  return { preview: next }
}

/** @param {any} dependencies */
function ofGraph({ add, api, feed, router, confirm, toasts, journal }) {
  const drawn = !matchMedia("(max-width: 760px)").matches // on a phone the list comes first
  const one = add("graph", graph({ api, router, confirm, toasts, journal, drawn }))
  for (const entity of ["entity", "relationship", "memory"]) feed.on(entity, () => one.follow())
  return { visit: one.visit.bind(one), exit: () => one.exit(), load: () => one.reload() }
}

/** @param {any} dependencies */
function ofIncidents({ add, api, feed, confirm, toasts, journal }) {
  const found = add("incidents", incidents({ api, confirm, toasts, journal }))
  for (const entity of ["incident", "session", "event", "approval"]) feed.on(entity, () => found.follow())
  journal.onUndone((/** @type {{action: string}} */ { action }) => action === "incident" && found.here && found.load())
  return found
}

/** @param {any} dependencies */
function ofEvents({ Alpine, add, api, feed, router, toasts }) {
  const groups = add("eventGroups", eventGroups({ api, feed }))
  const counted = add("density", density({ api, feed }))
  const one = add("events", events({ api, feed, router, groups, density: counted }))
  feed.on("event", (/** @type {Change} */ change) => one.follow(change))
  feed.onReset(() => router.page !== "events" && one.phase !== "loading" && one.reload())
  Alpine.effect(() => one.list.waiting.length && toasts.announce(one.list.pill, "events"))
  return {
    visit: (/** @type {URLSearchParams} */ params) => one.visit(params),
    exit: () => one.exit(),
    load: () => one.reload(),
  }
}

/** @param {any} dependencies */
function ofEditor({ add, api, confirm, toasts, journal, router, services }) {
  const one = add("editor", editor({ api, confirm, toasts, journal, router, services }))
  journal.onUndone((/** @type {{action: string}} */ { action }) => {
    if (/configure|pause/.test(action)) return Promise.all([one.here && one.load(), services.load()])
  })
  return one
}

/** @param {any} dependencies */
function ofNotebook({ add, api, feed, confirm, toasts, unsaved }) {
  const one = add("notebook", notebook({ api, confirm, toasts, drafts: unsaved }))
  for (const entity of ["memory", "event", "page_review"]) feed.on(entity, () => one.follow())
  return { visit: one.visit.bind(one), exit: () => one.exit(), load: () => one.reload() }
}

/** @param {any} dependencies */
function ofOrganizer({ add, api, feed, confirm, toasts, journal }) {
  const one = add("organizer", organizer({ api, confirm, toasts, journal }))
  journal.onUndone(() => one.here && one.reload())
  for (const entity of ["memory", "review"]) feed.on(entity, () => one.follow())
  feed.on("organizer_run", (/** @type {Change} */ change) => one.followRun(change))
  return { visit: one.visit.bind(one), exit: () => one.exit(), load: () => one.reload() }
}

/** @param {any} dependencies */
function ofSearch({ add, api, feed, router, storage }) {
  const found = add("search", search({ api, feed, router, storage }))
  for (const layer of LAYERS)
    feed.on(layer, (/** @type {Change} */ change) => found.here && found.follow(layer, change))
  return found
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
  const one = add("review", review({ api, reviews, toasts, journal, router }))
  journal.onUndone(async (/** @type {{review_id: number | null}} */ { review_id: id }) => {
    if (id !== null) await one.reopened(await api.get(`/reviews/${id}`))
  })
  feed.on("review", (/** @type {Change} */ change) => one.follow(change))
  feed.on("memory", (/** @type {Change} */ change) => one.followMemory(change))
  feed.on("page_review", () => router.page === "reviews" && Alpine.store("notebook").load())
  return {
    visit: (/** @type {URLSearchParams} */ params, /** @type {number | null} */ id) => (
      reviews.visit(params),
      Alpine.store("notebook").load(),
      one.visit(id)
    ),
    exit: () => one.visit(null),
    load: () => router.id !== null && one.load(router.id),
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
  const linked = add("chain", chain({ api, feed }))
  const one = add("session", session({ api, feed, log: add("log", log({ api })), chain: linked, engines }))
  feed.on("session", (/** @type {Change} */ change) => (one.follow(change), linked.follow(change)))
  feed.on("memory", (/** @type {Change} */ change) => one.followMemory(change))
  feed.on("event", (/** @type {Change} */ change) => one.followEvent(change))
  feed.on("marker", (/** @type {Change} */ change) => one.followMarker(change))
  feed.on("review", (/** @type {Change} */ change) => one.followReview(change))
  feed.on("escalation", (/** @type {Change} */ change) => linked.followHandoff(change))
  return {
    /** @param {URLSearchParams} params @param {number} id @param {string} hash */
    visit: (params, id, hash) => one.visit(id, params.get("part") ?? "", hash),
    exit: () => one.exit(),
    load: () => one.reload(),
  }
}

/** @param {any} dependencies */
function ofUses({ Alpine, add, api, feed, router, clock, toasts, journal }) {
  const slots = add("cooldowns", cooldowns({ api, feed, clock, toasts, journal }))
  const done = add("uses", uses({ api, feed, router }))
  feed.on("cooldown", (/** @type {Change} */ change) => (done.follow(change), slots.follow()))
  feed.onReset(() => router.page !== "cooldowns" && done.phase !== "loading" && done.load())
  Alpine.effect(() => slots.tick(clock.second))
  Alpine.effect(() => done.waiting.length && toasts.announce(done.pill, "uses"))
  return {
    cooldowns: {
      visit: (/** @type {URLSearchParams} */ params) => (slots.visit(), done.visit(params)),
      exit: () => slots.exit(),
      load: () => (slots.load(), done.load()),
    },
  }
}
