import { openSource } from "./source.js"

/** The SharedWorker: one connection to the server for every tab of this browser. */
/** @type {Set<MessagePort>} */
const ports = new Set()
const source = openSource({
  emit: broadcast,
  EventSource: globalThis.EventSource,
  fetch: globalThis.fetch.bind(globalThis),
})

globalThis.addEventListener("connect", (event) => {
  const [port] = /** @type {MessageEvent} */ (event).ports
  port.onmessage = ({ data }) => (data === "leave" ? ports.delete(port) : join(port))
  join(port)
})

/** @param {MessagePort} port */
function join(port) {
  ports.add(port)
  source.resume()
  port.postMessage({ kind: "joined", seq: source.seq, live: source.live })
}

/** @param {FeedMessage} message */
function broadcast(message) {
  ports.forEach((port) => port.postMessage(message))
}
