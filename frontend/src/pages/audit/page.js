import { confidence, exact, serviceName } from "../../shared/format/format.js"
import { t } from "../../shared/texts/index.js"

/** @typedef {{count: number, sessions: {session_id: number | null, at: string | null}[]}} Tally */

/** @param {(name: string) => any} store */
export function auditPage(store) {
  const audit = store("audit")
  return {
    empty: () => audit.phase === "ready" && audit.rows.length === 0,
    heading: () => (audit.topic ? t("audit.about", { topic: audit.service ?? audit.topic }) : t("audit.audit")),
    asOf: () => (audit.at ? t("audit.asOf", { at: exact(new Date(audit.at).toISOString()) }) : ""),
    services: () => store("services").items,

    /** @param {SubmitEvent} event */
    submit(event) {
      const form = /** @type {HTMLFormElement} */ (event.target)
      audit.ask(String(new FormData(form).get("topic") ?? ""))
    },

    /** @param {Belief} row */
    address: ({ memory }) => `/memories/${memory.id}`,
    /** @param {Belief} row */
    name: ({ memory }) => t("audit.memory", { id: String(memory.id) }),
    /** @param {Belief} row */
    about: ({ memory }) =>
      [serviceName(memory.service), memory.category, t("audit.confidence", { n: confidence(memory.confidence) })].join(
        ", ",
      ),
    /** @param {Belief} row */
    facts: (row) => factsOf(row),
    /** @param {Belief} row */
    conflicts: (row) => conflictsOf(row),
    /** @param {Belief} row */
    added: ({ prompt }) => (prompt?.added ?? []).map((text, key) => ({ key, text })),
    /** @param {Belief} row */
    without: (row) => withoutWords(row),
  }
}

/** The facts that support a memory, each with its name. @param {Belief} row */
export function factsOf(row) {
  const { memory, confirmed, contradicted, told: prompts, inactive_from: inactiveFrom } = row
  const facts = [
    ["source", sourceWords(row)],
    ["verified", verificationWords(row)],
    ["confirmations", tallyWords(confirmed)],
    ["contradictions", tallyWords(contradicted)],
    ["use", prompts.count ? t("audit.prompts", { n: prompts.count, last: last(prompts) }) : t("audit.noPrompt")],
    ["fades", inactiveFrom && memory.active ? t("audit.falls", { at: exact(inactiveFrom) }) : ""],
  ]
  return facts
    .filter(([, text]) => text)
    .map(([name, text]) => ({ name, title: t(/** @type {any} */ (`audit.${name}`)), words: text }))
}

/** The other memories in its links and open reviews. @param {Belief} row */
export function conflictsOf({ links, reviews }) {
  const linkRows = links.items.map(({ what, direction, memory_id: id, observation }, at) => ({
    key: `link ${at}`,
    address: `/memories/${id}`,
    link: t("audit.memory", { id: String(id) }),
    what: t(direction === "to" ? "audit.linkTo" : "audit.linkFrom", { what: what.replaceAll("_", " ") }),
    text: observation ?? t("audit.deleted"),
  }))
  const reviewRows = reviews.items.map(({ id, kind, said }) => ({
    key: `review ${id}`,
    address: `/reviews/${id}`,
    link: t("audit.review", { id: String(id) }),
    what: t("audit.open", { kind }),
    text: said,
  }))
  return [...reviewRows, ...linkRows]
}

/** The effect of leaving a memory out of the next prompt. @param {Belief} row */
export function withoutWords({ prompt }) {
  if (!prompt) return ""
  if (prompt.position === null) return t("audit.notIncluded", { why: prompt.why })
  const values = { why: prompt.why, tokens: prompt.tokens }
  return prompt.added.length ? t("audit.replacedBy", values) : t("audit.leftOut", values)
}

/** @param {Belief} row */
function sourceWords({ memory }) {
  const author = memory.session_id ? t("audit.bySession", { id: String(memory.session_id) }) : memory.source
  return t("audit.learned", { by: author, trust: memory.trust, at: exact(memory.created_at) })
}

/** @param {Belief} row */
function verificationWords({ memory, verification }) {
  if (!verification) return memory.verified_at ? exact(memory.verified_at) : t("audit.neverTested")
  const evidenceTexts = verification.evidence.map(({ claim, state, detail }) => `${claim}: ${state} (${detail})`)
  const summary = t("audit.tested", { state: verification.state, at: exact(verification.checked_at ?? "") })
  return [summary, ...evidenceTexts].join("; ")
}

/** @param {Tally} tally */
function tallyWords(tally) {
  return tally.count ? t("audit.times", { n: tally.count, last: last(tally) }) : t("audit.none")
}

/** @param {Tally} tally */
function last({ sessions: [newest] }) {
  if (!newest) return t("audit.unknown")
  const author = newest.session_id ? t("audit.bySession", { id: String(newest.session_id) }) : t("audit.supervisor")
  return newest.at ? `${author}, ${exact(newest.at)}` : author
}
