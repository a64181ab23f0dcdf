const TICK_MS = 1_000
const GLANCE_MS = 15_000

/** The current time at two rates: `now` for "2 min ago", `second` for countdowns. */
export function clock() {
  return {
    now: Date.now(),
    second: Date.now(),

    start() {
      setInterval(() => (document.hidden ? undefined : this.tick()), TICK_MS)
      document.addEventListener("visibilitychange", () => this.tick())
    },

    tick() {
      this.second = Date.now()
      if (this.second - this.now >= GLANCE_MS) this.now = this.second
    },
  }
}
