import { past } from "../format.js"

const OLD_MS = 60_000

/** @param {(name: string) => any} store */
export function healthPage(store) {
  const health = store("health")
  return {
    again: () => health.load(),
    closer: () => health.lookCloser(),

    /** When a check was looked at, where that is not just now. @param {VitalSign} sign */
    when({ at }) {
      const now = Math.max(store("clock").now, health.at)
      return now - Date.parse(at) < OLD_MS ? "" : past(at, now)
    },
  }
}
