import { timeAgo } from "../../shared/format/format.js"
import { t } from "../../shared/texts/index.js"

const GROUPS = /** @type {const} */ ([
  ["running", ["supervisor", "timer", "requests", "feed"]],
  ["database", ["database", "log", "space", "schema", "clock", "integrity", "rows", "sqlite"]],
  ["memories", ["index", "vectors"]],
  [
    "setup",
    [
      "services",
      "programs",
      "engine",
      "lexicon",
      "home",
      "session_files",
      "sockets",
      "app",
      "token",
      "halt",
      "notices",
    ],
  ],
])
/** @type {Record<string, import("../../shared/texts/index.js").TextKey>} */
const NAMES = {
  supervisor: "health.supervisor",
  timer: "health.timer",
  requests: "health.requests",
  feed: "health.feed",
  database: "health.size",
  log: "health.log",
  space: "health.space",
  schema: "health.schema",
  clock: "health.clock",
  integrity: "health.integrity",
  rows: "health.rows",
  sqlite: "health.sqlite",
  memory: "health.memory",
  index: "health.index",
  vectors: "health.vectors",
  services: "health.services",
  programs: "health.programs",
  engine: "health.engine",
  lexicon: "health.lexicon",
  home: "health.home",
  session_files: "health.sessions",
  sockets: "health.sockets",
  app: "health.app",
  token: "health.token",
  halt: "health.halt",
  notices: "health.notices",
}
const STATES = /** @type {const} */ ({
  ok: "health.ok",
  warning: "health.warns",
  failing: "health.fails",
  unknown: "health.notKnown",
})

/** The display name of a check. @param {{name: string}} sign */
export function signName({ name }) {
  return NAMES[name] ? t(NAMES[name]) : name.replaceAll("_", " ")
}

/** The finding of a check, without the name shown beside it. @param {{name: string, words: string}} sign */
export function signWords(sign) {
  const plainName = sign.name.replaceAll("_", " ")
  const prefixes = [signName(sign), plainName[0].toUpperCase() + plainName.slice(1)]
  const name = prefixes.find((prefix) => sign.words.startsWith(`${prefix} `))
  return name ? sign.words.slice(name.length + 1) : sign.words
}

/** Split a sentence at its back-ticks: the text between them is code. @param {string} text */
export function parts(text) {
  return text.split("`").map((words, at) => ({ at, words, typed: at % 2 === 1 }))
}

/** The checks by area; an unknown check belongs to the installation. @param {VitalSign[]} checks */
export function grouped(checks) {
  const groupedNames = new Set(["memory", ...GROUPS.flatMap(([, names]) => names)]) // the memory has a section of its own
  return GROUPS.map(([group, names]) => {
    const groupChecks = names.flatMap((name) => checks.filter((check) => check.name === name))
    const otherChecks =
      group === "setup" ? checks.filter(({ name }) => !groupedNames.has(/** @type {any} */ (name))) : []
    const signs = [...groupChecks, ...otherChecks].map((sign, at) => ({ ...sign, key: `${sign.name} ${at}` }))
    return { group, title: t(`health.${group}`), signs }
  }).filter(({ signs }) => signs.length)
}

/** The overall health, in one sentence. @param {VitalSign[]} checks */
export function healthSentence(checks) {
  const namesIn = (/** @type {string} */ state) => [
    ...new Set(checks.filter((check) => check.state === state).map(signName)),
  ]
  const [failing, warning] = [namesIn("failing"), namesIn("warning")]
  const sentences = [
    failing.length ? t("health.failing", { n: failing.length, name: failing.join(", ") }) : "",
    warning.length ? t("health.warning", { n: warning.length, name: warning.join(", ") }) : "",
  ]
  return sentences.filter(Boolean).join(" ") || t("health.healthy")
}

/**
 * The health of Lamplighter itself: loaded on arrival, on request, and when the supervisor starts or stops.
 * @param {{api: Api, toasts: any, clock: {now: number}, now?: () => number}} dependencies
 */
export function health({ api, toasts, clock, now = Date.now }) {
  let lastRequestId = 0
  return {
    phase: "loading",
    problem: "",
    forbidden: false,
    state: "unknown",
    checks: /** @type {VitalSign[]} */ ([]),
    at: 0,
    busy: false,
    fullCheck: false,
    here: false,
    known: "",

    visit() {
      this.here = true
      return this.load()
    },

    exit() {
      this.here = false
    },

    async load() {
      await this.ask(() => api.get("/health"))
    },

    /** Check every page of the database and every memory, on request. */
    async runFullCheck() {
      this.fullCheck = true
      const problem = await this.ask(() => api.post("/health/checks"))
      this.fullCheck = false
      if (problem) toasts.show(t("health.notChecked", { why: problem.message }), { bad: true })
      else toasts.announce(t("health.checked", { words: this.sentence }))
    },

    /** @param {() => Promise<any>} request @returns {Promise<any>} the error, if any */
    async ask(request) {
      const requestId = ++lastRequestId
      this.busy = true
      try {
        const answer = await request()
        if (requestId === lastRequestId) this.take(answer)
        return null
      } catch (problem) {
        if (requestId === lastRequestId) this.fail(problem)
        return problem
      } finally {
        if (requestId === lastRequestId) this.busy = false
      }
    },

    /** @param {{state: string, checks: VitalSign[]}} answer */
    take({ state, checks }) {
      this.state = state
      this.checks = checks
      this.at = now()
      this.phase = "ready"
      this.problem = ""
    },

    /** @param {any} problem */
    fail(problem) {
      this.problem = problem.message
      this.forbidden = problem.status === 403
      this.phase = this.checks.length ? this.phase : "failed"
    },

    /**
     * The supervisor or the feed started or stopped: their results are out of date.
     * @param {boolean} away
     * @param {boolean} live
     */
    follow(away, live) {
      const now = `${away} ${live}`
      const isChanged = this.known !== "" && this.known !== now
      this.known = now
      if (isChanged && this.here) this.load()
    },

    get groups() {
      return grouped(this.checks)
    },

    get sentence() {
      return healthSentence(this.checks)
    },

    get mood() {
      return this.state
    },

    get lastChecked() {
      return this.at
        ? t("health.lastChecked", { when: timeAgo(new Date(this.at).toISOString(), Math.max(clock.now, this.at)) })
        : ""
    },

    name: signName,
    words: signWords,

    /** @param {VitalSign} sign */
    advice: (sign) => parts(sign.what_to_do),

    /** @param {VitalSign} sign */
    word: (sign) => t(STATES[sign.state]),
  }
}
