import { t } from "../texts.js"

/** The outcome of a marker in words. @param {Marker} marker */
export function outcomeWords({ state, outcome, reason }) {
  if (state === "taken") return outcome
  return reason ? t("sessions.because", { state, reason }) : state
}
