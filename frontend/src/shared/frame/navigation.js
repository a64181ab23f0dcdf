import { LATE } from "../../pages/loading/store.js"
import { FOLLOWED } from "../../pages/overview/store.js"
import { focusAfter, focusOn } from "../browser/focus.js"
import { SERVICES } from "../browser/router.js"
import { pageName } from "../format/page-names.js"
import { t } from "../texts/index.js"

const START = "main h1"
const PLACES = /** @type {Record<string, string>} */ ({
  reviews: ".case",
  approvals: ".ask[data-chosen] h2 a",
})

/** The title of a page in the browser tab. @param {{page: string, id: number | null, name?: string}} place */
export function titleOf(place) {
  return t("common.title", { page: pageName(place) })
}

/**
 * The effects of a navigation: lists are loaded, changes are routed to their stores, the title and the focus follow.
 * @param {any} dependencies
 */
export function visits(dependencies) {
  const {
    Alpine,
    feed,
    router,
    memories,
    memory,
    sessions,
    overview,
    reviews,
    late,
    requests,
    supervisor,
    services,
    approvals,
    halt,
    clock,
    toasts,
    heartbeats,
    ui,
  } = dependencies

  /** @type {Record<string, any> | null} the stores of the lazily loaded pages, once one of them was opened */
  let opened = null
  let lastRequestId = 0
  let arrivals = 0
  feed.on("memory", (/** @type {Change} */ change) => followMemory(change))
  feed.on("review", (/** @type {Change} */ change) => followReview(change))
  feed.on("page_review", () => reviews.tally())
  feed.on("event", (/** @type {Change} */ { op }) => {
    if (op === "created" && router.page !== "events") ui.newEvents += 1
  })
  feed.on("session", (/** @type {Change} */ change) => sessions.follow(change))
  feed.on("approval", (/** @type {Change} */ change) => approvals.follow(change))
  feed.on("halt", () => halt.follow())
  feed.on("request", (/** @type {Change} */ change) => requests.follow(change))
  feed.on("supervisor", (/** @type {Change} */ change) => {
    supervisor.follow(change)
    if (router.page === "settings") opened?.settings.load() // its warnings compare both processes
  })
  for (const entity of FOLLOWED) feed.on(entity, () => overview.follow())
  feed.on("check_results", (/** @type {any} */ items) => (heartbeats.take(items), overview.followResults(items)))
  feed.onReset(reloadAll)

  router.onMove(arrive)
  arrive(router, { page: "", id: null, name: "" })
  clock.start()
  supervisor.watch()
  services.load()
  sessions.tally()
  if (router.page !== "memories") memories.tally()
  reviews.tally()
  approvals.load()
  halt.watch()
  for (const name of ["pointerdown", "keydown"])
    document.addEventListener(name, () => overview.touch(), { passive: true })
  document.addEventListener("visibilitychange", () => document.hidden || overview.touch())
  Alpine.effect(() => overview.tick(clock.second))
  Alpine.effect(() => halt.tick(clock.second))
  Alpine.effect(() => (document.title = badge(titleOf(router))))
  Alpine.effect(() => announce("approvals", approvals.waits && approvals.words))
  Alpine.effect(() => announce("halt", halt.on && t("app.halted", { words: halt.words })))
  Alpine.effect(() => announce("overview", overview.here && overview.sentence))
  for (const [name, list] of Object.entries({ memories, reviews, sessions }))
    Alpine.effect(() => announce(name, list.waiting.length && list.pill))
  let announced = ""
  Alpine.effect(() => (announced = announceFeed(announced)))

  /** @param {import("../browser/router.js").Place} now @param {{page: string, id: number | null, name: string}} previous */
  function arrive({ page, id, name, params }, previous) {
    document.title = badge(titleOf({ page, id, name }))
    if (page !== "overview") overview.exit()
    else if (!overview.here) overview.visit()
    if (page === "overview" && router.hash === `#${SERVICES}`) focusOn(router.hash, 300)
    if (page === "memories") (memories.visit(params), memory.visit(id, memories.filters.as_of))
    else memory.visit(page === "search" ? id : null)
    if (page === "events") ui.newEvents = 0
    if (opened && previous.page !== page && LATE.includes(previous.page)) opened[previous.page].exit()
    if (LATE.includes(page)) visitLate(page, previous.page !== "")
    if (page === "sessions") (sessions.visit(params), requests.load())
    const isDetailPage = page === "session" || page === "incidents" // another number is another page
    if (previous.page && (page !== previous.page || name !== previous.name || (isDetailPage && id !== previous.id)))
      focusSoon(START)
    else if (previous.page && id !== null && id !== previous.id) focusSoon(PLACES[page] ?? ".panel h2")
    else if (page === "memories" && previous.page === page && id === null && previous.id !== null)
      focusAfter(() => document.querySelector(`[data-id="${previous.id}"] [data-row]`)) // its panel closed
    else if (previous.page && page === "editor") focusAfter(() => document.querySelector(START)) // its form, or its list
    if (previous.page === "graph" && page === "graph" && id !== null)
      focusAfter(() => document.querySelector(".graph-case h2"), 300) // hides a list
  }

  /**
   * Prefix the title with the number of open approvals, so that it is visible in background tabs.
   * @param {string} title
   */
  function badge(title) {
    return approvals.waits ? t("common.title_waits", { n: approvals.waits, title }) : title
  }

  /**
   * Visit a page whose code may still be loading; by then the operator may be on another page.
   * @param {string} page
   * @param {boolean} hasMoved
   */
  async function visitLate(page, hasMoved) {
    const requestId = ++lastRequestId
    const isFirst = !opened
    const stores = opened ?? (await late.open())
    if (!stores) return
    opened = stores
    if (router.page !== page || requestId !== lastRequestId) return
    stores[page].visit(router.params, router.id, router.hash)
    const focused = document.activeElement
    if (isFirst && hasMoved && (focused === document.body || focused?.matches(START))) focusSoon(START)
  }

  /** Reload everything visible: the feed cannot tell which changes were missed. */
  function reloadAll() {
    memories.tally()
    sessions.tally()
    reviews.tally()
    approvals.load()
    halt.load()
    supervisor.load()
    requests.load()
    const { page } = router
    if (page === "overview") overview.load()
    if (memories.phase !== "loading" || page === "memories") memories.load()
    if (sessions.phase !== "loading" || page === "sessions") sessions.load()
    if (reviews.phase !== "loading" || page === "reviews") reviews.load()
    if (opened) opened[page]?.load()
    else if (LATE.includes(page)) visitLate(page, false)
    if (memory.open) memory.load(memory.id)
  }

  /** @param {Change} change */
  function followMemory(change) {
    memories.follow(change)
    memory.follow(change)
  }

  /** @param {Change} change */
  function followReview(change) {
    reviews.follow(change)
    sessions.followReview(change)
  }

  /**
   * One polite announcement for the rows held back, not one for each row.
   * @param {string} source
   * @param {string | 0 | false} text
   */
  function announce(source, text) {
    if (text) toasts.announce(text, source)
  }

  /**
   * Announce the loss of the feed once and its return once, however often the banner updates.
   * @param {string} announced
   */
  function announceFeed(announced) {
    const { stale, offline } = feed.state
    const announcement = offline ? t("app.offline_announced") : stale ? t("app.stale_announced") : ""
    if (announcement !== announced) announce("feed", announcement || t("app.live_again"))
    if (announcement !== announced && !announcement && late.comes) visitLate(router.page, false)
    return announcement
  }

  /**
   * Focus the link where the operator left the page, the main field of the page, or its heading, unless the focus moved
   * meanwhile.
   * @param {string} selector
   */
  function focusSoon(selector) {
    const { left } = router
    const focused = document.activeElement
    const arrivalId = ++arrivals
    Alpine.nextTick(() => {
      const now = document.activeElement
      if (arrivalId !== arrivals || (now !== focused && now !== document.body)) return
      const begins = selector === START
      const link = begins && left?.link && document.querySelector(`main a[href="${CSS.escape(left.link)}"]`)
      const field = begins && document.querySelector("main [data-start]")
      const target = /** @type {HTMLElement | null} */ (link || field || document.querySelector(selector))
      target?.focus({ preventScroll: true })
      if (begins) scrollTo(0, left?.y ?? 0)
    })
  }
}
