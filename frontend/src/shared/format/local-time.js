/** A moment as a field for local time takes it, to the second. @param {string} iso */
export function localTime(iso) {
  if (!iso) return ""
  const time = new Date(iso)
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}

/** What such a field says as the API takes it; nothing for what is no moment. @param {string} local */
export function momentOf(local) {
  const time = Date.parse(local)
  return Number.isNaN(time) ? "" : new Date(time).toISOString()
}
