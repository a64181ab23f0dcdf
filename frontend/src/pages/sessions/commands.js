import { attempt } from "../../shared/directives/attempt.js"
import { t } from "../../shared/texts/index.js"

/**
 * Commands for the open session.
 * @param {any} stores
 */
export function sessionsCommands({ router, session, log, runNow, sessions, toasts }) {
  const onSessionPage = () => router.page === "session" && Boolean(session?.row)
  const isServerSession = () => onSessionPage() && !session.ofClient
  const onList = () => router.page === "sessions"
  return [
    { keys: "f", label: t("sessions.keyFollow"), when: () => isServerSession() && session.running, run: follow },
    { keys: "w", label: t("sessions.keyWrap"), when: isServerSession, run: () => (log.wrap = !log.wrap) },
    {
      label: t("sessions.keyAgain"),
      when: () => isServerSession() && !session.running,
      run: () => runNow.again(session.row),
    },
    { label: t("sessions.keyStop"), when: () => isServerSession() && session.running, run: stop },
    {
      label: t("sessions.keyRaw"),
      when: isServerSession,
      run: () => router.go(router.with({ part: session.part === "raw" ? "" : "raw" })),
    },
    {
      label: t("sessions.keyGroup"),
      when: onList,
      run: () => sessions.filter({ group: sessions.grouped ? "" : "chain" }),
    },
    {
      keys: "]",
      label: t("sessions.keyNewer"),
      when: onSessionPage,
      run: () => router.go(`/sessions/${router.id + 1}`),
    },
    {
      keys: "[",
      label: t("sessions.keyOlder"),
      when: () => router.page === "session" && router.id > 1, // also from a number without a session
      run: () => router.go(`/sessions/${router.id - 1}`),
    },
  ]

  function stop() {
    return attempt(
      () => toasts,
      () => session.stop(),
    )
  }

  function follow() {
    if (log.following) log.pause()
    else log.follow()
  }
}
