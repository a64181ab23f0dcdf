import { ENTITIES } from "../../generated/values.js"

const POLL_MS = 2_000
const HELLO_MS = 5_000
const PING_SECONDS = 2
const SILENCE_MS = 4_500 // two missed pings
const POLLS_BEFORE_A_STREAM = 15
const FAILURES_BEFORE_A_POLL = 3
const GIVEN_UP = 2
const NOBODY = 401

/** The delay before the next attempt, at most 2 s, so that a restart is hardly noticed. @param {number} failures */
export function backoff(failures) {
  return Math.min(2_000, 125 * 2 ** Math.max(0, failures - 1))
}

/**
 * The change feed of one browser. It resumes after the last change it received, whatever interrupted it: the browser's
 * own reconnect would lose the start position if no change had arrived yet. If streams cannot be held open, it polls
 * every 2 s. If the server rejects the login, it reports that once and stops until it is resumed.
 * @param {{emit: (message: FeedMessage) => void, EventSource?: any, fetch?: any, timers?: any, now?: () => number, base?: string}} dependencies
 */
export function openSource({ emit, EventSource, fetch, timers = globalThis, now = Date.now, base = "/api/v1" }) {
  /** @type {number | null} */ let seq = null
  /** @type {any} */ let stream = null
  /** @type {any} */ let timer = null
  let failures = 0
  let isLive = false
  let isClosed = false
  let probing = false
  let isRefused = false
  let unknown = false
  let heardAt = 0
  /** @type {any} */ let silence = null
  connect()
  return {
    close() {
      isClosed = true
      timers.clearTimeout(timer)
      timers.clearTimeout(silence)
      stream?.close()
    },
    resume() {
      if (!unknown) return
      unknown = false
      failures = 0
      connect()
    },
    get seq() {
      return seq
    },
    get live() {
      return isLive
    },
  }

  function connect() {
    if (isClosed) return
    if (!EventSource) return poll()
    stream = new EventSource(`${base}/stream?ping=${PING_SECONDS}${seq === null ? "" : `&after=${seq}`}`)
    stream.addEventListener("hello", hello)
    stream.addEventListener("ping", onMessage)
    stream.addEventListener("check_results", results)
    stream.addEventListener("reset", (/** @type {MessageEvent} */ { data }) => reset(JSON.parse(data).seq))
    ENTITIES.forEach((entity) =>
      stream.addEventListener(entity, (/** @type {MessageEvent} */ event) => onChange(entity, event)),
    )
    stream.onerror = onLost
    timer = timers.setTimeout(onLost, probing ? POLL_MS : HELLO_MS)
  }

  /** @param {MessageEvent} event */
  function hello({ data }) {
    const { seq: at, version } = JSON.parse(data)
    timers.clearTimeout(timer)
    failures = 0
    probing = isRefused = false
    if (seq !== null && at < seq) reset(at)
    seq ??= at
    emit({ kind: "hello", seq: at, version })
    markLive()
    onMessage()
  }

  /** Check results are no changes: they have no number, and none is sent twice. @param {MessageEvent} event */
  function results({ data }) {
    onMessage()
    emit({ kind: "results", items: JSON.parse(data).items })
  }

  /** An unplugged cable causes no error: only silence reveals it. */
  function onMessage() {
    heardAt = now()
    timers.clearTimeout(silence)
    silence = timers.setTimeout(onLost, SILENCE_MS)
  }

  function markLive() {
    isLive = true
    heardAt = now()
    emit({ kind: "live" })
  }

  /** @param {number} at */
  function reset(at) {
    seq = at
    emit({ kind: "reset", seq: at })
  }

  /** @param {string} entity @param {MessageEvent} event */
  function onChange(entity, { lastEventId, data }) {
    onMessage()
    emitChanges([{ ...JSON.parse(data), entity, seq: Number(lastEventId) }])
  }

  /** @param {Change[]} changes */
  function emitChanges(changes) {
    const items = changes.filter((change) => seq === null || change.seq > seq)
    if (!items.length) return
    seq = items[items.length - 1].seq
    emit({ kind: "changes", items })
  }

  function onLost() {
    const givenUp = stream?.readyState === GIVEN_UP
    timers.clearTimeout(timer)
    timers.clearTimeout(silence)
    stream?.close()
    if (probing) return refuse()
    failures += 1
    if (isLive) emit({ kind: "lost", at: heardAt || now() })
    isLive = false
    if (isClosed) return
    // the response is not a stream: only a request shows what kind of response it is
    timer = timers.setTimeout(givenUp || failures > FAILURES_BEFORE_A_POLL ? poll : connect, backoff(failures))
  }

  /** The server responds, but not with a stream: keep polling, so that the page stays live. */
  function refuse() {
    probing = false
    isRefused = true
    timer = timers.setTimeout(poll, 0)
  }

  async function poll(polls = 0) {
    if (isClosed) return
    try {
      await fetchChanges()
    } catch {
      isRefused = false
      failures = FAILURES_BEFORE_A_POLL - 1
      return onLost()
    }
    if (unknown) return emit({ kind: "refused" })
    if (!isLive) markLive()
    probing = Boolean(EventSource) && (!isRefused || polls >= POLLS_BEFORE_A_STREAM)
    timer = probing ? timers.setTimeout(connect, 0) : timers.setTimeout(() => poll(polls + 1), POLL_MS)
  }

  async function fetchChanges() {
    const answer = await fetch(`${base}/changes?after=${seq ?? 0}&limit=${seq === null ? 1 : 500}`)
    unknown = answer.status === NOBODY
    if (unknown) return
    if (!answer.ok) throw new Error(`The changes answered ${answer.status}.`)
    const page = await answer.json()
    if (seq === null) return start(page.seq)
    if (page.reset || page.seq < seq) return reset(page.seq)
    heardAt = now()
    emitChanges(page.items)
  }

  /** Start at a number: the pages read the current state themselves. @param {number} at */
  function start(at) {
    seq = at
    emit({ kind: "hello", seq: at, version: "" })
  }
}
