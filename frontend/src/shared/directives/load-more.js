const AHEAD = "700px 0px"
const AGAIN_MS = 200

/**
 * A button that presses itself when it comes near: a list reads on as it is scrolled, and keys still find the button.
 * What could not be read waits for a person to press it.
 * @param {HTMLButtonElement} el @param {any} list @param {(end: () => void) => void} cleanup
 */
export function loadMore(el, list, cleanup) {
  const watch = new IntersectionObserver((seen) => seen.some(({ isIntersecting }) => isIntersecting) && press(), {
    rootMargin: AHEAD,
  })
  watch.observe(el)
  cleanup(() => watch.disconnect())

  function press() {
    if (list.problem === "") el.click()
    watch.unobserve(el)
    setTimeout(() => el.isConnected && watch.observe(el), AGAIN_MS)
  }
}
