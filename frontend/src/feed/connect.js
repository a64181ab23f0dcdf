import workerAddress from "./worker.js?sharedworker&url"
import { scriptAddress } from "../trusted.js"
import { openSource } from "./source.js"

const ANSWER_MS = 3_000

/** Join the browser's one feed; where no SharedWorker answers, hold a stream of our own. @param {Feed} feed */
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
  let settled = false
  const giveUp = () => {
    if (settled) return
    settled = true
    worker.port.close()
    fallback()
  }
  const timer = setTimeout(giveUp, ANSWER_MS)
  worker.onerror = giveUp
  worker.port.onmessage = ({ data }) => {
    if (!settled) clearTimeout(timer)
    settled = true
    receive(data)
  }
  addEventListener("pagehide", () => worker.port.postMessage("leave"))
  addEventListener("pageshow", ({ persisted }) => persisted && worker.port.postMessage("join"))
}

/** @param {(message: FeedMessage) => void} receive */
function own(receive) {
  const source = openSource({
    emit: receive,
    EventSource: globalThis.EventSource,
    fetch: globalThis.fetch.bind(globalThis),
  })
  addEventListener("pagehide", ({ persisted }) => persisted || source.close())
}
