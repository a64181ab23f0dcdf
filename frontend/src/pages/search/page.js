import { serviceName, triggerWords } from "../../shared/format/format.js"
import { LAYERS } from "../../../generated/values.js"
import { keyOf, marked, rowOf } from "./hits.js"
import { SINCE } from "./store.js"
import { t } from "../../shared/texts/index.js"
import { onControl } from "../../shared/directives/rows.js"

const METHODS = /** @type {Record<string, import("../../shared/texts/index.js").TextKey>} */ ({
  topic_key: "search.topic_key",
  words: "search.keyword",
  meaning: "search.semantic",
  recent: "search.recent",
})

/** The actions of the search page, and the texts of a hit. @param {(name: string) => any} store */
export function searchPage(store) {
  const [search, memory, router, live] = ["search", "memory", "router", "live"].map(store)
  return {
    ...answerWords({ search }),

    /** Focus the search field, unless a memory is already open. */
    init() {
      if (router.id === null) queueMicrotask(() => box()?.focus())
    },

    layers: () => LAYERS.map((name) => ({ name, title: t(`search.${name}`), on: String(search.searchesIn(name)) })),
    services: () => choices(search.facets.services, search.query.service, serviceName, "service"),
    categories: () => choices(search.facets.categories, search.query.category, String, "category"),
    projects: () => choices(search.facets.projects, search.query.project, String, "project"),
    times: () =>
      ["", ...Object.keys(SINCE)].map((name) => ({
        name,
        label: t(name ? /** @type {any} */ (`search.last_${name}`) : "search.any_time"),
      })),

    /** @param {string} q */
    again: (q) => `/search?${new URLSearchParams({ q })}`,

    forget() {
      search.forget()
      box()?.focus()
    },

    /** A note about the visible results, in one sentence. */
    note() {
      if (search.phase !== "ready") return ""
      if (live.offline) return t("search.offline")
      if (search.problem) return `${search.problem} ${t("search.stale")}`
      return [leftOut(search), clashing(search)].filter(Boolean).join(" ")
    },

    nothing: () => t("search.nothing", { q: search.answered }),

    /** @param {string} filter */
    untypeLabel: (filter) => t("search.remove", { filter }),

    /** From the search field to the results; Enter saves the search. @param {KeyboardEvent} event */
    boxKey(event) {
      if (event.isComposing || !["ArrowDown", "Enter"].includes(event.key)) return
      event.preventDefault()
      search.type(/** @type {HTMLInputElement} */ (event.target).value)
      if (event.key === "Enter") search.remember()
      firstHit(search)
    },

    /** @param {Hit} hit */
    hitClass(hit) {
      const row = rowOf(hit)
      return {
        "is-open": hit.layer === "memory" && row?.id === memory.id,
        "is-off": hit.layer === "memory" && !row?.active,
        "is-leaving": search.gone[keyOf(hit)],
      }
    },

    /** Only a memory opens beside the list. @param {Hit} hit */
    dataId: (hit) => (hit.layer === "memory" ? rowOf(hit).id : null),

    /** @param {Hit} hit */
    address(hit) {
      const { id } = rowOf(hit)
      if (hit.layer === "session") return `/sessions/${id}`
      if (hit.layer === "page") return `/notebook?page=${encodeURIComponent(rowOf(hit).path)}`
      return hit.layer === "event" ? `/events?event=${id}` : router.keeping(`/search/${id}`)
    },

    opened: () => search.remember(),

    /** A click anywhere on a hit opens it. @param {Hit} hit @param {MouseEvent} click */
    openHit(hit, click) {
      if (onControl(click)) return
      search.remember()
      router.go(this.address(hit))
    },
  }
}

/** The texts of a hit. @param {{search: any}} dependencies */
function answerWords({ search }) {
  return {
    key: keyOf,

    /** @param {{layer: Hit["layer"]}} group */
    title: ({ layer }) => t(`search.${layer}`),

    /** @param {{layer: Hit["layer"]}} group */
    noneOf: ({ layer }) => t(`search.none_${layer}`),

    /** @param {Hit} hit */
    facts: (hit) => FACTS[hit.layer](rowOf(hit)).map((fact, at) => ({ at, ...fact })),

    /** @param {Hit} hit */
    at: (hit) => rowOf(hit)?.updated_at ?? rowOf(hit)?.started_at ?? rowOf(hit)?.created_at ?? null,

    /** @param {Hit} hit */
    titleOf(hit) {
      if (hit.layer === "session") return t("search.session_title", { id: String(rowOf(hit).id) })
      if (hit.layer === "page") return rowOf(hit).path
      return hit.layer === "memory" ? rowOf(hit).title : ""
    },

    /** @param {Hit} hit */
    parts(hit) {
      if (hit.text) return marked(hit.text, hit.spans)
      return [{ kind: "same", text: hit.layer === "session" ? t("search.no_summary") : "" }]
    },

    /** @param {Hit} hit */
    isGone: (hit) => Boolean(search.gone[keyOf(hit)]),

    /** @param {Hit} hit */
    isOpen: (hit) => search.open === keyOf(hit),

    /** @param {Hit} hit */
    whyLabel: (hit) => t("search.why_of", { name: t(`search.${hit.layer}_n`, { id: String(rowOf(hit).id) }) }),

    /** @param {Hit} hit */
    sum: ({ method, rank, score }) =>
      t("search.sum", {
        method: METHODS[method] ? t(METHODS[method]) : method,
        place: rank,
        all: search.found.items.length,
        score: inNumber(score),
      }),

    /** The contributions to the score, relative to the largest. @param {Hit} hit */
    reasons({ reasons }) {
      const maxScore = Math.max(...reasons.map(({ score }) => Math.abs(score)), 0)
      return reasons.map(({ what, score }, at) => ({
        at,
        what,
        score: inNumber(score),
        share: maxScore ? Math.abs(score) / maxScore : 0,
      }))
    },
  }
}

/** The facts above a hit, each with its style. */
const FACTS = {
  memory: (/** @type {Memory} */ row) => [
    { text: serviceName(row.service), style: row.service ? "hit-name" : "hit-name is-general" },
    { text: row.category, style: "" },
    ...(row.project && row.project !== "ops"
      ? [{ text: t("search.in_project", { project: row.project }), style: "" }]
      : []),
    { text: row.confidence.toFixed(2), style: "" },
    ...(row.active ? [] : [{ text: t("memories.inactive"), style: "hit-off" }]),
  ],
  session: (/** @type {Session} */ row) => [
    { text: triggerWords(row.trigger), style: "hit-name" },
    ...(row.agent ? [{ text: t("search.by_agent", { agent: row.agent }), style: "" }] : []),
    ...(row.project && row.project !== "ops"
      ? [{ text: t("search.in_project", { project: row.project }), style: "" }]
      : []),
  ],
  page: (/** @type {NonNullable<Hit["page"]>} */ row) => [
    { text: row.title, style: "hit-name" },
    ...(row.project && row.project !== "ops"
      ? [{ text: t("search.in_project", { project: row.project }), style: "" }]
      : []),
  ],
  event: (/** @type {OpsEvent} */ row) => [
    { text: serviceName(row.service), style: row.service ? "hit-name" : "hit-name is-general" },
    { text: row.level, style: `hit-${row.level}` },
  ],
}

/**
 * The choices of a filter, including the current one even if it has no matches.
 * @param {any[]} facets @param {string} selected @param {(name: any) => string} labelOf @param {string} field
 */
function choices(facets, selected, labelOf, field) {
  const options = facets.map((facet) => ({
    name: labelOf(facet[field]),
    label: t("search.choice", { name: labelOf(facet[field]), n: facet.count }),
  }))
  return !selected || options.some(({ name }) => name === selected)
    ? options
    : [...options, { name: selected, label: selected }]
}

/** A filter typed while another one is selected is treated as plain text: the page says so. @param {any} search */
function clashing({ query, typed }) {
  const activeFilters = ["service", "project", "kind", "category"].filter((name) => query[name])
  const clash = activeFilters.map((name) => typedAs(name, query.q)).find((filter) => filter && !typed.includes(filter))
  return clash ? t("search.clash", { filter: clash }) : ""
}

/** @param {string} name @param {string} q */
function typedAs(name, q) {
  const pattern = name === "category" ? "(?:category|type)" : name
  return new RegExp(`(?<!\\S)${pattern}:[^\\s:/"]\\S*`, "i").exec(q)?.[0]
}

/** The parts that were not searched, and whether the page retries. @param {any} search */
function leftOut({ found: { partial, missing }, retrying }) {
  if (!partial) return ""
  const partNames = missing
    .map((/** @type {string} */ part) => t(/** @type {any} */ (`search.part_${part}`)))
    .join(", ")
  return t(retrying ? "search.retrying" : "search.left_out", { names: partNames })
}

/** @param {number} score */
function inNumber(score) {
  return score.toFixed(Math.abs(score) < 0.1 ? 3 : 2)
}

/** @returns {HTMLInputElement | null} */
export function box() {
  return document.querySelector("#search-q")
}

const FRAMES = 40
const FRAME_MS = 50

/**
 * Focus the first hit when it is rendered, if the focus is still in the search field.
 * @param {any} search
 * @param {number} [attempts]
 */
function firstHit(search, attempts = FRAMES) {
  setTimeout(
    () => {
      if (document.activeElement !== box()) return
      const query = box()?.value.trim()
      const hit = /** @type {HTMLElement | null} */ (document.querySelector(".hit [data-row]"))
      if (!search.busy && search.answered === query && hit) hit.focus()
      else if (attempts && (search.busy || search.answered !== query)) firstHit(search, attempts - 1)
    },
    attempts === FRAMES ? 0 : FRAME_MS,
  )
}
