import { plot as plotIn } from "../../charts/plot.js"
import { filler } from "./fill.js"
import { hold } from "./hold.js"
import { loadMore } from "./load-more.js"
import { beatsView } from "../../charts/beats.js"
import { onceShown } from "../browser/focus.js"

const TYPED_MS = 400

/**
 * Directives of the HTML. They set styles and open dialogs from code, because the content security policy forbids style
 * attributes.
 * @param {any} Alpine
 */
export function directives(Alpine) {
  Alpine.directive("confidence", confidence)
  Alpine.directive("fill", fill)
  Alpine.directive("dialog", dialog)
  Alpine.directive(
    "hold",
    (/** @type {HTMLElement} */ el, /** @type {any} */ { expression }, /** @type {any} */ tools) =>
      hold(el, tools.evaluate(expression), tools.cleanup),
  )
  Alpine.directive(
    "load-more",
    (/** @type {HTMLButtonElement} */ el, /** @type {any} */ { expression }, /** @type {any} */ tools) =>
      loadMore(el, tools.evaluate(expression), tools.cleanup),
  )
  Alpine.directive("log", log)
  Alpine.directive("beats", beats)
  Alpine.directive("typed", typed)
  Alpine.directive("diff", diff)
  Alpine.directive("plot", plot)
  Alpine.directive("seen", seen)
  Alpine.directive("part", part)
  // at once, for the next key press; a field in a part that is shown only in the next frame cannot take it before
  Alpine.directive("focus", (/** @type {HTMLElement} */ el) =>
    queueMicrotask(() => {
      el.focus()
      if (document.activeElement !== el) onceShown(() => el.focus())
    }),
  )

  /** @param {HTMLElement} el @param {{expression: string}} it @param {any} tools */
  function confidence(el, { expression }, { evaluateLater, effect }) {
    const evaluate = evaluateLater(expression)
    effect(() => evaluate((/** @type {unknown} */ value) => el.style.setProperty("--v", `${100 * share(value)}%`)))
  }

  /** @param {HTMLDialogElement} el @param {{expression: string}} it @param {any} tools */
  function dialog(el, { expression }, { evaluateLater, effect }) {
    const evaluate = evaluateLater(expression)
    effect(() => evaluate((/** @type {unknown} */ open) => toggle(el, Boolean(open))))
    el.addEventListener("click", (event) => event.target === el && el.close())
    // report Escape at once: the next key press may come before the browser reports the close
    el.addEventListener("cancel", (event) => {
      event.preventDefault()
      el.close()
      el.dispatchEvent(new Event("close"))
    })
    // a close event that arrives while the dialog is open again belongs to the previous close
    const closed = (/** @type {Event} */ event) => (el.open ? event.stopImmediatePropagation() : release(el))
    el.addEventListener("close", closed, { capture: true })
  }

  /** @param {HTMLElement} el @param {{expression: string}} it @param {any} tools */
  function fill(el, { expression }, { evaluateLater, effect }) {
    const put = filler(el)
    const evaluate = evaluateLater(expression)
    effect(() => evaluate(put))
  }

  /** @param {HTMLElement} el @param {{expression: string}} it @param {any} tools */
  function beats(el, { expression }, { evaluateLater, effect }) {
    const view = beatsView(el)
    const evaluate = evaluateLater(expression)
    effect(() => evaluate((/** @type {string} */ service) => view.show(Alpine.store("heartbeats").of(service))))
  }

  /**
   * The value of a field follows the address, but never while the operator types in it: the typed text is newer.
   * @param {HTMLInputElement} el @param {{expression: string}} it @param {any} tools
   */
  function typed(el, { expression }, { evaluateLater, effect }) {
    const evaluate = evaluateLater(expression)
    let isEdited = false
    const follow = () =>
      evaluate((/** @type {string} */ value) => {
        if (!isEdited || document.activeElement !== el) el.value = value ?? ""
      })
    effect(follow)
    el.addEventListener("input", () => (isEdited = true))
    // a rejected value is not left in the field; a change in flight gets time to arrive
    el.addEventListener("blur", () => setTimeout(() => ((isEdited = false), follow()), TYPED_MS))
  }

  /**
   * The parts of a text, with removed and added parts marked.
   * @param {HTMLElement} el
   * @param {{expression: string}} it
   * @param {any} tools
   */
  function diff(el, { expression }, { evaluateLater, effect }) {
    const evaluate = evaluateLater(expression)
    effect(() =>
      evaluate((/** @type {import("../format/diff.js").Part[]} */ parts) =>
        el.replaceChildren(...parts.flatMap(pieces)),
      ),
    )
  }

  /**
   * Scroll the chosen element into view.
   * @param {HTMLElement} el
   * @param {{expression: string}} it
   * @param {any} tools
   */
  function seen(el, { expression }, { evaluateLater, effect }) {
    const evaluate = evaluateLater(expression)
    effect(() => evaluate((/** @type {boolean} */ chosen) => chosen && el.scrollIntoView({ block: "nearest" })))
  }

  /**
   * A chart of the value of the expression.
   * @param {HTMLElement} el
   * @param {{expression: string}} it
   * @param {any} tools
   */
  function plot(el, { expression }, { evaluateLater, effect, cleanup }) {
    const view = plotIn(el)
    const evaluate = evaluateLater(expression)
    effect(() => evaluate((/** @type {import("../../charts/plot.js").Spec | null} */ spec) => spec && view.show(spec)))
    cleanup(() => view.close())
  }

  /**
   * Insert the template with this id, which several pages share.
   * @param {HTMLElement} el
   * @param {{expression: string}} it
   */
  function part(el, { expression }) {
    const { content } = /** @type {HTMLTemplateElement} */ (document.getElementById(expression))
    Alpine.mutateDom(() => {
      el.append(content.cloneNode(true))
      for (const child of el.children) Alpine.initTree(child)
    })
  }

  /** @param {HTMLElement} el @param {{expression: string}} it @param {any} tools */
  function log(el, { expression }, { evaluateLater, effect, cleanup }) {
    const lines = Alpine.store("log")
    const evaluate = evaluateLater(expression)
    let isRemoved = false
    /** @type {(() => void) | null} */
    let close = null
    // the code that draws an output is loaded only when an output is opened
    import("../../log/view.js").then(({ logView }) => {
      if (isRemoved) return
      const view = logView(el, lines)
      close = view.close
      effect(() => view.show())
      effect(() => evaluate((/** @type {Marker[]} */ markers) => view.mark(markers.map((marker) => ({ ...marker })))))
    }, lines.lost.bind(lines))
    cleanup(() => {
      isRemoved = true
      close?.()
    })
  }
}

const MARKS = { same: "span", gone: "del", new: "ins", hit: "mark" }

/** Leading and trailing space of a change stays outside its mark. @param {import("../format/diff.js").Part} part */
function pieces({ kind, text }) {
  const trimmed = text.trim()
  if (kind === "same" || !trimmed) return [marked(kind, text)]
  const at = text.indexOf(trimmed)
  return [text.slice(0, at), marked(kind, trimmed), text.slice(at + trimmed.length)]
}

/** @param {import("../format/diff.js").Part["kind"]} kind @param {string} text */
function marked(kind, text) {
  const el = document.createElement(MARKS[kind])
  el.textContent = text
  return el
}

/** @param {unknown} value */
function share(value) {
  return Math.min(1, Math.max(0, Number(value) || 0))
}

/** @param {HTMLDialogElement} el @param {boolean} open */
function toggle(el, open) {
  if (open && !el.open) el.showModal()
  if (open || !el.open) return
  el.close()
  release(el)
}

/**
 * If nothing had the focus before, a field of a closed dialog keeps it until the next frame.
 * @param {HTMLDialogElement} el
 */
function release(el) {
  const { activeElement: focused } = document
  if (focused instanceof HTMLElement && el.contains(focused)) focused.blur()
}
