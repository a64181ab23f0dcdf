import { t } from "../texts/index.js"

const DECIDED = new Map([
  ["keep_old", t("common.decided_keep_old")],
  ["keep_new", t("common.decided_keep_new")],
  ["both", t("common.decided_both")],
  ["merge", t("common.decided_merge")],
  ["dismiss", t("common.decided_dismiss")],
  ["gone", t("common.decided_gone")],
])

const RELATED = new Map([
  ["keep_new", t("common.decided_confirmed")],
  ["keep_old", t("common.decided_rejected")],
  ["dismiss", t("common.decided_rejected")],
  ["gone", t("common.decided_withdrawn")],
])

/** The decision, in a sentence. @param {Review} review */
export function decidedWords({ kind, resolution }) {
  if (kind === "file") return t(resolution === "keep_new" ? "common.decided_file" : "common.decided_memory")
  if (kind === "relationship") return RELATED.get(resolution ?? "") ?? ""
  return DECIDED.get(resolution ?? "") ?? ""
}

/** The reason for the conflict, as a sentence. @param {Review} review */
export function whyWords({ reason }) {
  if (!/^[a-z\d]/.test(reason)) return reason
  const difference = reason.replace("may conflict: ", "").replace(/^(.+) instead of (.+)$/, "“$1” instead of “$2”")
  return t("common.difference", { reason: difference })
}

const REPORTS = new Map([
  ["learned", t("common.reported_first")],
  ["created", t("common.reported_manually")],
  ["reinforced", t("common.reported_again")],
  ["contradicted", t("common.reported_contradiction")],
])

/**
 * How a memory came to be reported, or that the organizer extracted it from an episode.
 * @param {ReportSource & {extracted?: boolean}} said
 */
export function reportWords({ cause, session_id: session, extracted }) {
  if (extracted) return t("common.reported_by_organizer")
  const reportText = REPORTS.get(cause) ?? cause.replaceAll("_", " ")
  return session ? t("common.by_session", { what: reportText }) : t("common.by_person", { what: reportText })
}
