const AHEAD = "700px 0px"
const AGAIN_MS = 200

/**
 * A button that activates itself when it comes into view: a list loads more as it is scrolled, and the button stays
 * reachable by keyboard. After a failure it waits for a click.
 * @param {HTMLButtonElement} el @param {any} list @param {(end: () => void) => void} cleanup
 */
export function loadMore(el, list, cleanup) {
  const observer = new IntersectionObserver(
    (entries) => entries.some(({ isIntersecting }) => isIntersecting) && press(),
    {
      rootMargin: AHEAD,
    },
  )
  observer.observe(el)
  cleanup(() => observer.disconnect())

  function press() {
    if (list.problem === "") el.click()
    observer.unobserve(el)
    setTimeout(() => el.isConnected && observer.observe(el), AGAIN_MS)
  }
}
