import { applies } from "./registry.js"
import { shownKeys } from "./keys.js"
import { best, fits } from "./fuzzy.js"
import { t } from "../shared/texts/index.js"

const KEY = "lamplighter.recent"
const RECENT = 6
const IN_SIGHT = 30
const FEWEST_LETTERS = 2
const STILL_MS = 150
const RECENT_BONUS = 3
const SURE = 1_000
const SERVICE_PAGES = /** @type {const} */ (["memories", "events", "cooldowns"])
const NUMBERED = /** @type {const} */ (["session", "memory", "review"])

/** @typedef {{id: string, kind: string, label: string, parts: string[], run: () => void}} Entry */

/**
 * Finds everything that can be run or opened: commands, pages, services, sessions, memories and reviews by number,
 * memories and notebook pages by text.
 * @param {{api: Api, commands: () => import("./registry.js").Listed[], router: any, services: any, runNow: any, approvals?: any, decide?: (approval: Approval, decision: "approve" | "deny") => unknown, row?: () => {label: string, run: () => void}[], catalog?: () => Promise<Setting[]>, storage: Pick<Storage, "getItem" | "setItem">, later?: (run: () => void, ms: number) => any}} dependencies
 */
export function palette({
  api,
  commands,
  router,
  services,
  runNow,
  approvals = { open: [] },
  decide = () => {},
  row = () => [],
  catalog = async () => [],
  storage,
  later = setTimeout,
}) {
  let lastRequestId = 0
  /** @type {Entry[]} */ let entries = []
  /** @type {Entry[]} */ let hits = []
  /** @type {Entry[] | null} */ let settings = null
  return {
    open: false,
    query: "",
    entries: /** @type {Entry[]} */ ([]),
    at: 0,
    /** Whether memories and pages are still loading. */
    busy: false,
    problem: "",

    show() {
      entries = [
        ...row().map(ofRow),
        ...approvals.open.flatMap(ofApproval),
        ...commands().filter(choosable).map(ofCommand),
        ...services.names.flatMap(ofService),
      ]
      hits = []
      Object.assign(this, { query: "", at: 0, busy: false, problem: "", open: true })
      this.list()
      if (!settings) this.readSettings()
    },

    /** Settings are found by name, once they are loaded. */
    async readSettings() {
      settings = []
      const response = await catalog().catch(() => null)
      settings = response?.map(ofSetting) ?? null
      if (this.open) this.list()
    },

    hide() {
      lastRequestId += 1
      this.open = false
    },

    /** @param {string} query */
    type(query) {
      this.query = query
      this.at = 0
      hits = []
      this.list()
      this.ask(query.trim())
    },

    /** Request memories and pages when typing pauses; only the newest response counts. @param {string} q */
    ask(q) {
      const requestId = ++lastRequestId
      this.busy = q.length >= FEWEST_LETTERS
      this.problem = ""
      if (!this.busy) return
      later(async () => {
        if (requestId !== lastRequestId) return
        const request = api.get("/search", { q, layers: "memory,page", limit: 6 })
        const page = await request.catch((/** @type {Error} */ problem) => problem)
        if (requestId !== lastRequestId) return
        this.busy = false
        if (page instanceof Error) this.problem = page.message
        else hits = page.items.flatMap(ofHit)
        this.list()
      }, STILL_MS)
    },

    list() {
      const recent = kept(storage)
      const matchingSettings = (settings ?? []).filter(({ label }) => holds(label, this.query))
      const candidates = [
        ...entries,
        ...matchingSettings,
        ...ofNumber(this.query),
        ...recent.filter(isAddress).map(ofAddress),
      ]
      const chosen = this.query.trim()
        ? best(candidates, (entry) => scored(entry, this.query, recent))
        : recentFirst(candidates, recent)
      this.entries = [...unique([...chosen, ...hits]).slice(0, IN_SIGHT), ...ofSearch(this.query.trim())]
      this.at = Math.min(this.at, Math.max(0, this.entries.length - 1))
    },

    /** @param {number} by */
    move(by) {
      const n = this.entries.length
      if (n) this.at = (this.at + by + n) % n
    },

    /**
     * Close first: the focus returns to its previous element, and the chosen entry may move it from there, before the
     * next key press is handled.
     * @param {Entry} [chosen]
     */
    choose(chosen) {
      const entry = chosen ?? this.entries[this.at]
      if (!entry) return
      remember(storage, entry.id)
      this.hide()
      queueMicrotask(() => entry.run())
    },

    get active() {
      return this.entries.length ? `palette-${this.at}` : null
    },

    get words() {
      const n = this.entries.length - ofSearch(this.query.trim()).length
      if (this.busy && !n) return t("app.palette_searching")
      return n ? t("app.palette_results", { n }) : t("app.palette_none")
    },
  }

  /** @param {string} address @param {string} label @param {string} kind @returns {Entry} */
  function linkTo(address, label, kind) {
    return { id: address, kind, label, parts: [], run: () => router.go(address) }
  }

  /** All results that the palette itself does not find. @param {string} query @returns {Entry[]} */
  function ofSearch(query) {
    if (query.length < FEWEST_LETTERS) return []
    const address = `/search?${new URLSearchParams({ q: query })}`
    return [linkTo(address, t("app.search_for", { query }), t("common.search_page"))]
  }

  /** @param {string} service @returns {Entry[]} */
  function ofService(service) {
    const labels = serviceLabels(service)
    const pages = SERVICE_PAGES.map((page) => linkTo(serviceAddress(page, service), labels[page], service))
    const run = { run: () => runNow.show({ services: [service] }), label: labels.run, kind: service }
    const servicePage = linkTo(`/services/${encodeURIComponent(service)}`, service, t("common.service_page"))
    return [servicePage, ...pages, { ...run, id: `run ${service}`, parts: [] }]
  }

  /** @param {Setting} setting @returns {Entry} */
  function ofSetting({ name, variable, about }) {
    const run = () => router.go(`/settings?change=${name}`)
    return { id: `setting ${name}`, kind: t("common.settings_page"), label: `${variable}: ${about}`, parts: [], run }
  }

  /** @param {Approval} approval @returns {Entry[]} */
  function ofApproval(approval) {
    const values = { wish: approvals.requestedAction(approval) }
    return [
      { decision: /** @type {const} */ ("approve"), label: t("app.palette_approve", values) },
      { decision: /** @type {const} */ ("deny"), label: t("app.palette_deny", values) },
    ].map(({ decision, label }) => ({
      id: `${decision} ${approval.id}`,
      kind: t("common.approvals_page"),
      label,
      parts: [],
      run: () => decide(approval, decision),
    }))
  }

  /** The entries for a number: "session 12", "mem 45", "12". @param {string} query @returns {Entry[]} */
  function ofNumber(query) {
    const [, prefix, digits] = /^\s*([a-z]*)\s*#?(\d{1,15})\s*$/i.exec(query) ?? []
    if (!digits) return []
    return NUMBERED.filter((name) => name.startsWith(prefix.toLowerCase())).map((name) => numbered(name, digits))
  }

  /** @param {typeof NUMBERED[number]} name @param {string} digits */
  function numbered(name, digits) {
    const labels = {
      session: t("app.session_n", { id: digits }),
      memory: t("app.memory_n", { id: digits }),
      review: t("app.review_n", { id: digits }),
    }
    return linkTo(`/${PATHS[name]}/${digits}`, labels[name], t("app.kind_open"))
  }

  /** @param {Hit} hit @returns {Entry[]} */
  function ofHit({ memory, page }) {
    if (page) return [linkTo(`/notebook?page=${encodeURIComponent(page.path)}`, page.path, t("common.notebook_page"))]
    if (!memory) return []
    const { id, title, observation } = memory
    return [linkTo(`/memories/${id}`, title || observation, t("app.memory_n", { id: String(id) }))]
  }

  /** @param {string} address @returns {Entry} */
  function ofAddress(address) {
    const [, path, digits] = /^\/(\w+)\/(\d+)$/.exec(address) ?? []
    const name = NUMBERED.find((candidate) => PATHS[candidate] === path)
    if (name) return numbered(name, digits)
    const [, serviceName] = /^\/services\/([\w-]+)$/.exec(address) ?? []
    if (serviceName) return linkTo(address, serviceName, t("common.service_page"))
    const url = new URL(address, "http://here")
    const page = SERVICE_PAGES.find((candidate) => `/${candidate}` === url.pathname) ?? "memories"
    const service = url.searchParams.get("service") ?? ""
    return linkTo(address, serviceLabels(service)[page], service)
  }
}

/**
 * Whether a text contains all words of a query; matching letters in their order, as for commands, would match most long
 * texts.
 * @param {string} text
 * @param {string} query
 */
function holds(text, query) {
  const terms = query.toLowerCase().split(/\s+/u).filter(Boolean)
  return terms.length > 0 && terms.every((term) => text.toLowerCase().includes(term))
}

/** @param {{label: string, run: () => void}} action @param {number} at @returns {Entry} */
function ofRow({ label, run }, at) {
  return { id: `row ${at}`, kind: t("app.kind_row"), label, parts: [], run }
}

const PATHS = { session: "sessions", memory: "memories", review: "reviews" }

/** @param {string} page @param {string} service */
function serviceAddress(page, service) {
  return `/${page}?service=${encodeURIComponent(service)}`
}

/** @param {string} service */
function serviceLabels(service) {
  return {
    memories: t("app.memories_of", { service }),
    events: t("app.events_of", { service }),
    cooldowns: t("app.cooldowns_of", { service }),
    run: t("app.run_for", { service }),
  }
}

/**
 * Native browser keys, and the command that opens the palette, cannot be chosen.
 * @param {import("./registry.js").Listed} command
 */
function choosable(command) {
  return !command.native && applies(command)
}

/** @param {import("./registry.js").Listed} command @returns {Entry} */
function ofCommand({ id, group, title, keys = "", label, run }) {
  return { id, kind: group === "go" ? t("app.kind_page") : title, label, parts: shownKeys(keys), run }
}

/** @param {Entry} entry @param {string} query @param {string[]} recent */
function scored({ id, label }, query, recent) {
  if (/\d\s*$/.test(query) && id.startsWith("/") && id.endsWith(query.trim().match(/\d+$/)?.[0] ?? "")) return SURE
  const score = fits(query, label)
  return score === null ? null : score + (recent.includes(id) ? RECENT_BONUS : 0)
}

/** @param {Entry[]} entries @param {string[]} recent */
function recentFirst(entries, recent) {
  const recentEntries = recent.flatMap((id) => entries.find((entry) => entry.id === id) ?? [])
  return [
    ...recentEntries,
    ...entries.filter((entry) => entry.parts.length),
    ...entries.filter(({ id }) => !isAddress(id)),
  ]
}

/** @param {Entry[]} entries */
function unique(entries) {
  return [...new Map(entries.map((entry) => [entry.id, entry])).values()]
}

/** @param {string} id */
function isAddress(id) {
  return /^\/(sessions|memories|reviews)\/\d{1,15}$|^\/(memories|events|cooldowns)\?service=[^&]+$/.test(id)
}

/** @param {Pick<Storage, "getItem" | "setItem">} storage @param {string} id */
function remember(storage, id) {
  const otherIds = kept(storage).filter((item) => item !== id)
  storage.setItem(KEY, JSON.stringify([id, ...otherIds].slice(0, RECENT)))
}

/** @param {Pick<Storage, "getItem">} storage @returns {string[]} */
function kept(storage) {
  try {
    const stored = JSON.parse(storage.getItem(KEY) ?? "[]")
    return Array.isArray(stored) ? stored.filter((item) => typeof item === "string").slice(0, RECENT) : []
  } catch {
    return []
  }
}
