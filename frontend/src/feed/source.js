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
  let live = false
  let closed = false
  let probing = false
  let refused = false
  let unknown = false
  let heardAt = 0
  /** @type {any} */ let silence = null
  connect()
  return {
    close() {
      closed = true
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
      return live
    },
  }

  function connect() {
    if (closed) return
    if (!EventSource) return poll()
    stream = new EventSource(`${base}/stream?ping=${PING_SECONDS}${seq === null ? "" : `&after=${seq}`}`)
    stream.addEventListener("hello", hello)
    stream.addEventListener("ping", heard)
    stream.addEventListener("check_results", results)
    stream.addEventListener("reset", (/** @type {MessageEvent} */ { data }) => reset(JSON.parse(data).seq))
    ENTITIES.forEach((entity) =>
      stream.addEventListener(entity, (/** @type {MessageEvent} */ event) => take(entity, event)),
    )
    stream.onerror = lose
    timer = timers.setTimeout(lose, probing ? POLL_MS : HELLO_MS)
  }

  /** @param {MessageEvent} event */
  function hello({ data }) {
    const { seq: at, version } = JSON.parse(data)
    timers.clearTimeout(timer)
    failures = 0
    probing = refused = false
    if (seq !== null && at < seq) reset(at)
    seq ??= at
    emit({ kind: "hello", seq: at, version })
    alive()
    heard()
  }

  /** Check results are no changes: they have no number, and none is sent twice. @param {MessageEvent} event */
  function results({ data }) {
    heard()
    emit({ kind: "results", items: JSON.parse(data).items })
  }

  /** An unplugged cable causes no error: only silence reveals it. */
  function heard() {
    heardAt = now()
    timers.clearTimeout(silence)
    silence = timers.setTimeout(lose, SILENCE_MS)
  }

  function alive() {
    live = true
    heardAt = now()
    emit({ kind: "live" })
  }

  /** @param {number} at */
  function reset(at) {
    seq = at
    emit({ kind: "reset", seq: at })
  }

  /** @param {string} entity @param {MessageEvent} event */
  function take(entity, { lastEventId, data }) {
    heard()
    pass([{ ...JSON.parse(data), entity, seq: Number(lastEventId) }])
  }

  /** @param {Change[]} changes */
  function pass(changes) {
    const items = changes.filter((change) => seq === null || change.seq > seq)
    if (!items.length) return
    seq = items[items.length - 1].seq
    emit({ kind: "changes", items })
  }

  function lose() {
    const givenUp = stream?.readyState === GIVEN_UP
    timers.clearTimeout(timer)
    timers.clearTimeout(silence)
    stream?.close()
    if (probing) return refuse()
    failures += 1
    if (live) emit({ kind: "lost", at: heardAt || now() })
    live = false
    if (closed) return
    // the response is not a stream: only a request shows what kind of response it is
    timer = timers.setTimeout(givenUp || failures > FAILURES_BEFORE_A_POLL ? poll : connect, backoff(failures))
  }

  /** The server responds, but not with a stream: keep polling, so that the page stays live. */
  function refuse() {
    probing = false
    refused = true
    timer = timers.setTimeout(poll, 0)
  }

  async function poll(asked = 0) {
    if (closed) return
    try {
      await ask()
    } catch {
      refused = false
      failures = FAILURES_BEFORE_A_POLL - 1
      return lose()
    }
    if (unknown) return emit({ kind: "refused" })
    if (!live) alive()
    probing = Boolean(EventSource) && (!refused || asked >= POLLS_BEFORE_A_STREAM)
    timer = probing ? timers.setTimeout(connect, 0) : timers.setTimeout(() => poll(asked + 1), POLL_MS)
  }

  async function ask() {
    const answer = await fetch(`${base}/changes?after=${seq ?? 0}&limit=${seq === null ? 1 : 500}`)
    unknown = answer.status === NOBODY
    if (unknown) return
    if (!answer.ok) throw new Error(`The changes answered ${answer.status}.`)
    const page = await answer.json()
    if (seq === null) return begin(page.seq)
    if (page.reset || page.seq < seq) return reset(page.seq)
    heardAt = now()
    pass(page.items)
  }

  /** Start at a number: the pages read the current state themselves. @param {number} at */
  function begin(at) {
    seq = at
    emit({ kind: "hello", seq: at, version: "" })
  }
}
