/** @typedef {{page: string, id: number | null, name: string, params: URLSearchParams}} Place */
/** @typedef {{y: number, link: string}} Mark the scroll position, and the focused link */

const PAGES = [
  { page: "overview", pattern: /^\/overview\/?$/ },
  { page: "sessions", pattern: /^\/sessions\/?$/ },
  { page: "session", pattern: /^\/sessions\/(\d{1,15})\/?$/ },
  { page: "events", pattern: /^\/events\/?$/ },
  { page: "memories", pattern: /^\/memories\/?$/ },
  { page: "memories", pattern: /^\/memories\/(\d{1,15})\/?$/ },
  { page: "trash", pattern: /^\/trash\/?$/ },
  { page: "cooldowns", pattern: /^\/cooldowns\/?$/ },
  { page: "reviews", pattern: /^\/reviews\/?$/ },
  { page: "reviews", pattern: /^\/reviews\/(\d{1,15})\/?$/ },
  { page: "search", pattern: /^\/search\/?$/ },
  { page: "search", pattern: /^\/search\/(\d{1,15})\/?$/ },
  { page: "service", pattern: /^\/services\/([\w-]{1,64})\/?$/ },
  { page: "incidents", pattern: /^\/incidents\/?$/ },
  { page: "incidents", pattern: /^\/incidents\/(\d{1,15})\/?$/ },
  { page: "graph", pattern: /^\/graph\/?$/ },
  { page: "graph", pattern: /^\/graph\/(\d{1,15})\/?$/ },
  { page: "notebook", pattern: /^\/notebook\/?$/ },
  { page: "organizer", pattern: /^\/organizer\/?$/ },
  { page: "organizer", pattern: /^\/organizer\/(\d{1,15})\/?$/ },
  { page: "approvals", pattern: /^\/approvals\/?$/ },
  { page: "approvals", pattern: /^\/approvals\/(\d{1,15})\/?$/ },
  { page: "preview", pattern: /^\/preview\/?$/ },
  { page: "audit", pattern: /^\/audit\/?$/ },
  { page: "health", pattern: /^\/health\/?$/ },
  { page: "editor", pattern: /^\/editor\/?$/ },
  { page: "settings", pattern: /^\/settings\/?$/ },
]
export const HOME = "/overview"
/** The anchor of the list of services. */
export const SERVICES = "services-title"

/**
 * The page of an address; an unknown address is a page too.
 * @param {string} path
 * @param {string} [search]
 * @returns {Place}
 */
export function place(path, search = "") {
  const params = new URLSearchParams(search)
  for (const { page, pattern } of PAGES) {
    const match = pattern.exec(path)
    if (!match) continue
    const name = page === "service" ? match[1] : ""
    return { page, id: match[1] && !name ? Number(match[1]) : null, name, params }
  }
  return { page: "elsewhere", id: null, name: "", params }
}

/**
 * The current page: the address decides, the page follows. `mark` returns what to restore on the way back: it is stored
 * in the history entry that is left.
 * @param {{location: Location, history: History, mark?: () => Mark}} browser
 */
export function createRouter({ location, history, mark = () => ({ y: 0, link: "" }) }) {
  const canonical = named(location.pathname)
  if (canonical !== location.pathname) history.replaceState(null, "", canonical)
  const startPlace = place(location.pathname, location.search)
  /** @type {((now: Place, before: Place) => void)[]} */
  const listeners = []
  return {
    ...startPlace,
    /** What to restore when the operator comes back to this page. */
    left: /** @type {Mark | null} */ (null),

    /** The part of the page in the address, such as a line of an output. */
    hash: location.hash ?? "",

    /** @param {(now: Place, before: Place) => void} listener */
    onMove(listener) {
      listeners.push(listener)
    },

    /** @param {string} address @param {{replace?: boolean}} [how] */
    go(address, { replace = false } = {}) {
      const current = location.pathname + location.search + (location.hash ?? "")
      address = named(address)
      if (address !== current && !replace) history.replaceState(mark(), "")
      if (address !== current) history[replace ? "replaceState" : "pushState"](null, "", address)
      this.arrive()
    },

    /** @param {Mark | null} [left] */
    arrive(left = null) {
      this.left = left
      const previous = { page: this.page, id: this.id, name: this.name, params: this.params }
      const now = place(location.pathname, location.search)
      Object.assign(this, now, { hash: location.hash ?? "" })
      listeners.forEach((listener) => listener(now, previous))
    },

    /** The same page with other filters; empty filters are left out. @param {Record<string, any>} changes */
    with(changes) {
      const params = new URLSearchParams(this.params)
      for (const [name, value] of Object.entries(changes)) {
        params.delete(name)
        for (const item of Array.isArray(value) ? value : [value]) if (item) params.append(name, item)
      }
      return location.pathname + tail(params)
    },

    /** Another path under the same filters. @param {string} path */
    keeping(path) {
      return path + tail(this.params)
    },
  }
}

/** Replace an alias: services are listed on the overview. @param {string} address */
function named(address) {
  if (address === "/") return HOME
  return /^\/services\/?$/.test(address) ? `${HOME}#${SERVICES}` : address
}

/** @param {URLSearchParams} params */
function tail(params) {
  const text = params.toString()
  return text && `?${text}`
}

/**
 * A click on a link within the app navigates without loading; a click with a modifier is left to the browser.
 * @param {MouseEvent} click
 */
export function inner(click) {
  if (click.defaultPrevented || click.button !== 0) return null
  if (click.metaKey || click.ctrlKey || click.shiftKey || click.altKey) return null
  const link = /** @type {Element} */ (click.target).closest?.("a[href]")
  if (!(link instanceof HTMLAnchorElement) || link.origin !== location.origin || link.target) return null
  return link.pathname.startsWith("/api/") || link.getAttribute("href")?.startsWith("#") ? null : link
}
