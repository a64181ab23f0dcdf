import { PAGE_LIMIT } from "../../generated/values.js"
import { t } from "./texts/index.js"

const BASE = "/api/v1"
const PATIENCE_MS = 15_000

/** A rejection or a failure of the API, with a message that a person can act on. */
export class Problem extends Error {
  /** @param {{status?: number, title?: string, detail?: string, errors?: {field: string, message: string}[], current?: any}} body */
  constructor({ status = 0, title = "", detail = "", errors = [], current = null }) {
    super(detail || title || t("common.no_answer"))
    this.status = status
    this.errors = errors
    this.current = current
  }

  /** The error of a field, if any. @param {string} name */
  about(name) {
    return this.errors.find(({ field }) => field === name)?.message ?? ""
  }
}

/**
 * The client of the API; `refused` is called if the server rejects the login, `acted` if a response names the act that
 * it recorded.
 * @param {{fetch?: typeof globalThis.fetch, base?: string, refused?: () => void, acted?: (act: number, path: string) => void}} [dependencies]
 * @returns {Api}
 */
export function createApi({
  fetch = globalThis.fetch.bind(globalThis),
  base = BASE,
  refused = () => {},
  acted = () => {},
} = {}) {
  /** @type {Set<{method: string, path: string, request: Promise<any>}>} */
  const inFlight = new Set()
  return {
    get: read,
    all,
    post: (path, body = {}, version) => change("POST", path, body, on(version)),
    put: (path, body = {}, version) => change("PUT", path, body, on(version)),
    patch: (path, body, version) => change("PATCH", path, body, on(version)),
    remove: (path, version) => track("DELETE", path, () => remove(path, version)),
    settled: () => settledWhere(({ method }) => method !== "GET"),
  }

  /**
   * A read. While its resource is being deleted it waits, and is not sent if nothing is left to read.
   * @param {string} path
   * @param {Record<string, any>} [params]
   */
  async function read(path, params) {
    const results = await settledWhere((one) => one.method === "DELETE" && isWithin(path, one.path))
    if (results.some(({ status }) => status === "fulfilled")) throw new Problem({ status: 404, title: "Not Found" })
    return track("GET", path, () => send("GET", path + query(params)))
  }

  /** @param {string} method @param {string} path @param {any} [body] @param {Record<string, string>} [headers] */
  function change(method, path, body, headers) {
    return track(method, path, () => send(method, path, body, headers))
  }

  /**
   * A deletion waits for the reads of its resource: the server would answer a later one with an error.
   * @param {string} path
   * @param {string} [version]
   */
  async function remove(path, version) {
    await settledWhere((one) => one.method === "GET" && isWithin(one.path, path))
    return send("DELETE", path, undefined, on(version))
  }

  /** A request is in flight until its response arrives. @param {string} method @param {string} path @param {() => Promise<any>} begin */
  async function track(method, path, begin) {
    const entry = { method, path, request: begin() }
    inFlight.add(entry)
    try {
      return await entry.request
    } finally {
      inFlight.delete(entry)
    }
  }

  /** @param {(one: {method: string, path: string}) => boolean} isMeant */
  function settledWhere(isMeant) {
    return Promise.allSettled([...inFlight].filter(isMeant).map(({ request }) => request))
  }

  /**
   * All pages of a list, as of the time its first page was read.
   * @param {string} path
   * @param {Record<string, any>} [params]
   */
  async function all(path, params) {
    const firstPage = await send("GET", path + query({ ...params, limit: PAGE_LIMIT }))
    let cursor = firstPage.next
    while (cursor) {
      const page = await send("GET", path + query({ ...params, limit: PAGE_LIMIT, cursor }))
      firstPage.items.push(...page.items)
      cursor = page.next
    }
    return firstPage
  }

  /** @param {string} method @param {string} path @param {unknown} [body] @param {Record<string, string>} [headers] */
  async function send(method, path, body, headers = {}) {
    const answer = await fetchAnswer(base + path, {
      method,
      headers: { accept: "application/json", ...(method === "GET" ? {} : JSON_TYPE), ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(PATIENCE_MS),
    })
    if (answer.status === 401) refused()
    if (!answer.ok) throw await problem(answer)
    const responseBody = answer.status === 204 ? null : await answer.json()
    const actId = Number(answer.headers?.get("lamplighter-act"))
    if (actId) acted(actId, path)
    return responseBody
  }

  /** @param {string} url @param {RequestInit} init */
  async function fetchAnswer(url, init) {
    try {
      return await fetch(url, init)
    } catch (cause) {
      const isTimeout = cause instanceof DOMException && cause.name === "TimeoutError"
      throw new Problem({ detail: isTimeout ? t("common.too_late") : t("common.out_of_reach") })
    }
  }
}

/**
 * Only if the version is still current; "" stands for a page without a file.
 * @param {string} [version]
 * @returns {Record<string, string>}
 */
function on(version) {
  return version === undefined ? {} : { "If-Match": `"${version}"` }
}

/** @param {string} path @param {string} resource */
function isWithin(path, resource) {
  return path === resource || path.startsWith(`${resource}/`)
}

const JSON_TYPE = { "content-type": "application/json" }

/**
 * The query of an address: empty values are left out, lists repeat their name.
 * @param {Record<string, any>} [params]
 */
export function query(params = {}) {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(params)) {
    for (const item of Array.isArray(value) ? value : [value]) {
      if (item !== null && item !== undefined && item !== "") search.append(name, String(item))
    }
  }
  const text = search.toString()
  return text && `?${text}`
}

/** @param {Response} answer */
async function problem(answer) {
  const body = await answer.json().catch(() => ({}))
  return new Problem({ title: answer.statusText, ...body, status: answer.status })
}
