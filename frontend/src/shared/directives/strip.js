import { dayState, dayWords, stripWords } from "../format/status.js"

const NONE = -1

/**
 * The last days of a service as bars, and one line that says what they say: the whole of it, or the day under the
 * pointer, or the one chosen with the arrow keys.
 * @param {HTMLElement} el
 */
export function stripView(el) {
  const bars = document.createElement("div")
  const words = document.createElement("p")
  /** @type {StripDay[]} */
  let days = []
  let chosen = NONE
  bars.className = "bars"
  bars.tabIndex = 0
  bars.setAttribute("role", "img")
  words.className = "strip-words"
  words.setAttribute("aria-live", "polite")
  el.append(bars, words)
  bars.addEventListener("pointermove", ({ target }) =>
    choose([...bars.children].indexOf(/** @type {Element} */ (target))),
  )
  bars.addEventListener("pointerleave", () => choose(NONE))
  bars.addEventListener("blur", () => choose(NONE))
  bars.addEventListener("keydown", walk)
  return {
    /** @param {StripDay[]} now */
    show(now) {
      days = now
      while (bars.children.length > days.length) bars.lastElementChild?.remove()
      while (bars.children.length < days.length) bars.append(document.createElement("i"))
      days.forEach((day, at) => dress(/** @type {HTMLElement} */ (bars.children[at]), day))
      bars.setAttribute("aria-label", stripWords(days))
      choose(Math.min(chosen, days.length - 1))
    },
  }

  /** @param {HTMLElement} bar @param {StripDay} day */
  function dress(bar, day) {
    bar.dataset.state = dayState(day)
    bar.title = dayWords(day)
  }

  /** @param {number} at */
  function choose(at) {
    bars.children[chosen]?.removeAttribute("data-chosen")
    chosen = at
    bars.children[chosen]?.setAttribute("data-chosen", "")
    words.textContent = days[chosen] ? dayWords(days[chosen]) : stripWords(days)
  }

  /** @param {KeyboardEvent} event */
  function walk(event) {
    const step = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0
    if (!step) return
    event.preventDefault()
    const from = chosen === NONE ? days.length + (step < 0 ? 0 : -2) : chosen
    choose(Math.min(days.length - 1, Math.max(0, from + step)))
  }
}
