import workerAddress from "./worker.js?sharedworker&url"
import { scriptAddress } from "../shared/browser/trusted.js"

const ANSWER_MS = 3_000
const AGAIN_MS = 2_000

/** Join the shared feed of the browser; if no SharedWorker answers, open a stream for this page. @param {Feed} feed */
export function connect(feed) {
  const receive = feed.receive.bind(feed)
  addEventListener("offline", () => feed.goOffline())
  addEventListener("online", () => feed.goOnline())
  if (!navigator.onLine) feed.goOffline()
  feed.begin()
  try {
    share(receive, () => own(receive))
  } catch {
    own(receive)
  }
}

/** @param {(message: FeedMessage) => void} receive @param {() => void} fallback */
function share(receive, fallback) {
  const worker = new SharedWorker(scriptAddress(workerAddress), { name: "lamplighter-feed", type: "module" })
  let isSettled = false
  const giveUp = () => {
    if (isSettled) return
    isSettled = true
    worker.port.close()
    fallback()
  }
  const timer = setTimeout(giveUp, ANSWER_MS)
  worker.onerror = giveUp
  worker.port.onmessage = ({ data }) => {
    if (!isSettled) clearTimeout(timer)
    isSettled = true
    receive(data)
  }
  addEventListener("pagehide", () => worker.port.postMessage("leave"))
  addEventListener("pageshow", ({ persisted }) => persisted && worker.port.postMessage("join"))
}

/**
 * Few browsers need this code, so the first load does not include it.
 * @param {(message: FeedMessage) => void} receive
 */
function own(receive) {
  const retry = () => setTimeout(() => own(receive), AGAIN_MS)
  import("./source.js").then(({ openSource }) => hold(openSource, receive), retry)
}

/** @param {typeof import("./source.js").openSource} openSource @param {(message: FeedMessage) => void} receive */
function hold(openSource, receive) {
  const source = openSource({
    emit: receive,
    EventSource: globalThis.EventSource,
    fetch: globalThis.fetch.bind(globalThis),
  })
  addEventListener("pagehide", ({ persisted }) => persisted || source.close())
}
