/**
 * The order of requests whose responses may arrive in another order. Call the result before each request; the function
 * that it returns says, once the response is there, whether to show it: yes, unless the response of a later request has
 * been shown. Responses are shown even if requests follow faster than they are answered.
 */
export function sequence() {
  let requests = 0
  let lastShown = 0
  return () => {
    const requestId = ++requests
    return () => {
      if (requestId < lastShown) return false
      lastShown = requestId
      return true
    }
  }
}
