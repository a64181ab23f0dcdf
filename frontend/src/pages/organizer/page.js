import { duration, timeAgo } from "../../shared/format/format.js"
import { newSide, oldSide, wordDiff } from "../../shared/format/diff.js"
import { t } from "../../shared/texts/index.js"
import { outcome, would } from "./outcome.js"

/** The number of items of each kind shown at first. */
const SHOWN = 20
const EXAMPLES = /** @type {const} */ (["duplicates", "digests", "facts", "known_facts", "conflicts"])

/** @param {(name: string) => any} store */
export function organizerPage(store) {
  const [organizer, clock, supervisor] = ["organizer", "clock", "supervisor"].map(store)
  return {
    shown: /** @type {Record<string, number>} */ ({ repeats: SHOWN, compresses: SHOWN, extracted_from: SHOWN }),
    empty: () => organizer.phase === "ready" && organizer.rows.length === 0,
    waits: () => organizer.busy || Boolean(organizer.active),
    list: () => organizer.id === null,
    chosen: () => organizer.chosen ?? {},
    title: () => t("organizer.run", { id: String(organizer.id) }),

    /** @param {OrganizerRun} run */
    address: ({ id }) => `/organizer/${id}`,
    /** @param {OrganizerRun} run */
    name: ({ id }) => t("organizer.run", { id: String(id) }),
    /** @param {OrganizerRun} run */
    outcome: (run) => progress(run, supervisor.away) || outcome(run.counts),
    /** @param {OrganizerRun} run */
    working: ({ state }) => state !== "completed",
    /** @param {OrganizerRun} run */
    barName: ({ id }) => t("organizer.progress", { id: String(id) }),
    stage,
    /** Without a value the bar is indeterminate. @param {OrganizerRun} run */
    done: ({ stage_done: done, stage_total: total }) => (total ? done : null),
    /** @param {OrganizerRun} run */
    total: ({ stage_total: total }) => total || null,
    /** @param {OrganizerRun} run */
    share: ({ stage_done: done, stage_total: total }) => (total ? done / total : 0),
    /** @param {OrganizerRun} run */
    facts({ state, trigger, started_at: startedAt, ended_at: endedAt, undone_by: undoneBy, counts }) {
      const time = endedAt ? duration(Date.parse(endedAt) - Date.parse(startedAt)) : ""
      return [
        t(trigger === "schedule" ? "organizer.started_by_schedule" : "organizer.started_by_person"),
        time && t("organizer.took", { time }),
        state === "completed" && "raw_after" in counts && counts.raw !== counts.raw_after
          ? t("organizer.size", { before: counts.raw, after: counts.raw_after })
          : "",
        undoneBy ? t("organizer.undone") : "",
      ]
        .filter(Boolean)
        .join(" · ")
    },
    /** @param {OrganizerRun} run */
    when: ({ started_at: at }) => timeAgo(at, clock.now),

    would: () => (organizer.report ? would(organizer.report.counts) : ""),
    examples: () =>
      EXAMPLES.filter((kind) => organizer.report?.examples[kind]?.length).map((kind) => ({
        kind,
        title: t(`organizer.example_${kind}`),
        texts: organizer.report.examples[kind],
      })),

    mayUndo: () =>
      organizer.chosen?.state === "completed" && Boolean(organizer.chosen.act_id) && !organizer.chosen.undone_by,
    reviews: () => organizer.chosen?.reviews.filter((/** @type {Review} */ { kind }) => kind === "fact") ?? [],
    proposals: () =>
      organizer.chosen?.reviews.filter((/** @type {Review} */ { kind }) => kind === "relationship") ?? [],
    /** @param {Review} review */
    reviewAddress: ({ id }) => `/reviews/${id}`,
    /** @param {Review} review */
    reviewName: ({ id }) => t("organizer.review", { id: String(id) }),
    /** @param {Review} review */
    reviewState: ({ state }) => t(state === "open" ? "organizer.open" : "organizer.resolved"),
    /** @param {Review} review */
    oldParts: ({ old, said }) => oldSide(wordDiff(old?.observation ?? "", said)),
    /** @param {Review} review */
    newParts: ({ old, said }) => newSide(wordDiff(old?.observation ?? "", said)),

    /** @param {string} what */
    of: (what) => (organizer.chosen?.replacements ?? []).filter((/** @type {Substitute} */ item) => item.what === what),
    /** @param {string} what */
    some(what) {
      return this.of(what).slice(0, this.shown[what])
    },
    /** @param {string} what */
    count(what) {
      return this.of(what).length
    },
    /** @param {string} what */
    hasMore(what) {
      return this.count(what) > this.shown[what]
    },
    /** @param {string} what */
    showAll(what) {
      this.shown[what] = Infinity
    },
    /** @param {Substitute} each */
    text: ({ memory }) => memory?.observation ?? "",
    /** @param {Substitute} each */
    memoryAddress: ({ memory, id }) => (memory ? `/memories/${id}` : null),
    /** @param {number} id */
    memoryName: (id) => t("organizer.memory", { id: String(id) }),
    /** The differences of the older text. @param {Substitute} each @param {{observation: string}} sample */
    parts: ({ memory }, { observation }) => oldSide(wordDiff(observation, memory?.observation ?? "")),
    /** @param {Substitute} each */
    sources: ({ replaced }) => t("organizer.sources", { n: replaced.length }),
    /** The session, event or incident of a fact without an episode. @param {Substitute} each */
    origin: ({ memory }) => t("organizer.origin", { source: memory?.source_ref?.split(", ")[1] ?? "" }),
    /** @param {Substitute} each */
    beyond: ({ replaced, samples }) =>
      replaced.length > samples.length ? t("organizer.more_sources", { n: replaced.length - samples.length }) : "",
  }
}

/** The progress of a run that has not ended. @param {OrganizerRun} run @param {boolean} isAway */
function progress(run, isAway) {
  const { state } = run
  if (state === "completed") return ""
  if (state === "queued") return t(isAway ? "organizer.queued_away" : "organizer.queued")
  return stage(run)
}

/** The current stage of a run, and its progress. @param {OrganizerRun} run */
function stage({ stage: name, stage_done: done, stage_total: total }) {
  if (!name) return t("organizer.working")
  const what = t(`organizer.stage_${/** @type {"compare"} */ (name)}`)
  if (!total) return t("organizer.working_stage", { what })
  return t("organizer.working_part", { what, done, n: total, percent: Math.floor((100 * done) / total) })
}
