import { span, timeAgo, until } from "../../../shared/format/format.js"
import { t } from "../../../shared/texts/index.js"

const ICONS = { passed: "circle-check", failed: "circle-x", partial: "circle-question-mark", untested: "info" }
const CLAIMS = { confirmed: "circle-check", refuted: "circle-x", unknown: "circle-question-mark" }

/** @param {(name: string) => any} store */
export function verificationPart(store) {
  const [verification, memory, clock] = ["verification", "memory", "clock"].map(store)
  return {
    follow: () => memory.row && verification.follow(memory.row),

    state() {
      const { outcome, verified_at: verified } = verification
      return outcome?.state ?? (verified ? "passed" : "untested")
    },
    icon() {
      return `#icon-${ICONS[/** @type {keyof typeof ICONS} */ (this.state())]}`
    },
    sum() {
      const { loaded, outcome, verified_at: verified } = verification
      if (!loaded) return t("verification.loading")
      if (!outcome?.checked_at) return t(verified ? "verification.passed" : "verification.never")
      return t(/** @type {any} */ (`verification.${outcome.state}`))
    },
    at: () => verification.outcome?.checked_at ?? verification.verified_at,
    when() {
      const at = this.at()
      return at ? t("verification.tested", { when: timeAgo(at, clock.now) }) : ""
    },
    /** What marked the memory for verification, until the next verification. */
    mark() {
      const { marked_at: at, mark } = verification.outcome ?? {}
      return at ? t("verification.marked", { why: mark }) : ""
    },
    evidence: () =>
      (verification.outcome?.evidence ?? []).map((/** @type {EvidenceItem} */ item, /** @type {number} */ n) => ({
        ...item,
        key: `${n} ${item.claim}`,
      })),
    /** @param {EvidenceItem} each */
    claimIcon: ({ state }) => `#icon-${CLAIMS[state]}`,
    /** @param {EvidenceItem} each */
    claimState: ({ state }) => t(`verification.${state}`),
    /** @param {EvidenceItem} each */
    detail: ({ source, detail }) => (source ? t("verification.detail", { source, detail }) : detail && `: ${detail}`),
    untested() {
      const parts = verification.outcome?.untested ?? []
      return parts.length ? t("verification.untested_parts", { parts: parts.join("; ") }) : ""
    },
    reviewName: (/** @type {number} */ id) => t("verification.review", { id: String(id) }),
    mayVerify: () => !verification.busy && memory.row?.active,

    /** @param {AttachedCheck} check */
    source: ({ command, check, service }) =>
      command ?? t("verification.check_of", { check: `${check}`, service: `${service}` }),
    /** @param {AttachedCheck} check */
    checkFacts: ({ cadence, state, next_at: next, detail }) =>
      [
        t("verification.every", { span: span(cadence) }),
        t(/** @type {any} */ (`verification.check_${state}`)),
        state === "failed" ? detail : "",
        t("verification.next", { when: until(next, clock.now) }),
      ]
        .filter(Boolean)
        .join(" · "),
    /** @param {AttachedCheck} check */
    removeLabel(check) {
      return t("verification.remove", { source: this.source(check) })
    },
  }
}
