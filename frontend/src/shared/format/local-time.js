/** A time in the format of a datetime-local field, to the second. @param {string} iso */
export function localTime(iso) {
  if (!iso) return ""
  const time = new Date(iso)
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}

/** The value of such a field, or of an address, as the API accepts it; nothing for an invalid time. @param {string | null} local */
export function momentOf(local) {
  const time = Date.parse(local ?? "")
  return Number.isNaN(time) ? "" : new Date(time).toISOString()
}
