import { count } from "../format.js"

const FEW = 1_000

/** @typedef {"confidence" | "raise" | "lower" | "deactivate" | "activate"} Act */

/** What an act asks of the API. @param {Act} act @param {number} value */
export function askOf(act, value) {
  if (act === "deactivate" || act === "activate") return { action: act }
  if (act === "confidence") return { action: act, value }
  return { action: "adjust", value: act === "raise" ? value : -value }
}

/** What an act did, in a sentence. @param {Act} act @param {number} value @param {number} changed @param {number} [left] */
export function doneWords(act, value, changed, left = 0) {
  const many = count(changed, "memory", "memories")
  const by = value.toFixed(2)
  const done = {
    confidence: `${many} set to ${by}.`,
    raise: `${many} raised by ${by}.`,
    lower: `${many} lowered by ${by}.`,
    deactivate: `${many} deactivated.`,
    activate: `${many} active again.`,
  }[act]
  return left
    ? `${done} ${count(left, "other is", "others are")} below 0.30 and ${left === 1 ? "stays" : "stay"} inactive.`
    : done
}

const QUESTIONS = {
  confidence: (/** @type {string} */ many, /** @type {string} */ by) => `Set ${many} to ${by}?`,
  raise: (/** @type {string} */ many, /** @type {string} */ by) => `Raise ${many} by ${by}?`,
  lower: (/** @type {string} */ many, /** @type {string} */ by) => `Lower ${many} by ${by}?`,
  deactivate: (/** @type {string} */ many) => `Deactivate ${many}?`,
  activate: (/** @type {string} */ many) => `Bring ${many} back?`,
}

/**
 * What an operator does to memories beyond editing one: delete with a way back, and many at a time.
 * @param {{api: Api, memories: any, confirm: any, toasts: any}} with_
 */
export function curate({ api, memories, confirm, toasts }) {
  return {
    /** @param {Memory} memory @returns {Promise<boolean>} */
    async remove(memory) {
      const yes = await confirm.ask({
        title: "Delete this memory?",
        text: memory.observation,
        note: "No session will read it again. You can undo this for half a minute.",
        verb: "Delete",
      })
      return yes && tell(() => removed([memory], () => api.remove(`/memories/${memory.id}`)))
    },

    /** Those that are ticked, or all that match. @param {Memory[]} ticked @returns {Promise<boolean>} */
    async removeMany(ticked) {
      const n = memories.everything ? memories.chosenCount : ticked.length
      const many = n > FEW
      const yes = await confirm.ask({
        title: `Delete ${count(n, "memory", "memories")}?`,
        text: memories.everything ? filterWords(memories.wanted) : "",
        note: `No session will read them again. ${many ? "So many cannot be brought back." : "You can undo this for half a minute."}`,
        verb: "Delete",
      })
      if (!yes) return false
      if (many) return tell(() => removed([], () => erase(allThatMatch()), n))
      return tell(async () => {
        const rows = memories.everything ? (await api.all("/memories", memories.wanted)).items : ticked
        await removed(rows, () => erase({ ids: idsOf(rows) }))
      })
    },

    /** Change those that are ticked at once, or all that match after one question. @param {Memory[]} rows @param {Act} act @param {number} value @returns {Promise<boolean>} */
    async change(rows, act, value) {
      const many = count(memories.chosenCount, "memory", "memories")
      const yes =
        !memories.everything ||
        (await confirm.ask({
          title: QUESTIONS[act](many, value.toFixed(2)),
          text: filterWords(memories.wanted),
          note: "You can undo this for half a minute, and each of them in its history after that.",
          verb: "Change them",
        }))
      return yes && tell(() => changed(rows, act, value))
    },
  }

  /** Where nothing narrows the list it has to be said that every memory is meant. */
  function allThatMatch() {
    return memories.filtered ? { filter: memories.wanted } : { filter: {}, all: true }
  }

  /** @param {Memory[]} rows @param {Act} act @param {number} value */
  async function changed(rows, act, value) {
    const whom = memories.everything ? allThatMatch() : { ids: idsOf(rows) }
    const answer = await api.post("/memories/bulk", { ...whom, ...askOf(act, value) })
    memories.unchoose()
    toasts.say(doneWords(act, value, answer.changed, answer.left), { undo: () => takeBack(answer.bulk) })
  }

  /** @param {number | string} bulk */
  async function takeBack(bulk) {
    const { left } = await api.post(`/memories/bulk/${bulk}/undo`)
    const rest = left ? ` ${count(left, "memory", "memories")} changed since and stayed.` : ""
    toasts.say(`They are as they were.${rest}`)
  }

  /** @param {Record<string, unknown>} whom */
  function erase(whom) {
    return api.post("/memories/bulk", { ...whom, action: "delete" })
  }

  /** @param {Memory[]} rows @param {() => Promise<unknown>} send @param {number} [n] how many went, when not all are known here */
  async function removed(rows, send, n = rows.length) {
    await send()
    rows.forEach(({ id }) => memories.drop(id, { own: true }))
    memories.unchoose()
    memories.tallySoon()
    const text = n === 1 ? "The memory is deleted." : `${count(n, "memory", "memories")} deleted.`
    toasts.say(text, rows.length ? { undo: () => restore(rows) } : {})
  }

  /** @param {() => Promise<unknown>} act */
  async function tell(act) {
    try {
      await act()
      return true
    } catch (problem) {
      toasts.say(`Nothing was changed. ${/** @type {Error} */ (problem).message}`, { bad: true })
      return false
    }
  }

  /** @param {Memory[]} rows */
  async function restore(rows) {
    for (const { category, observation, service, confidence, title, tags } of rows) {
      memories.put(await api.post("/memories", { category, observation, service, confidence, title, tags }), {
        own: true,
      })
    }
    toasts.say(rows.length === 1 ? "The memory is back." : `${count(rows.length, "memory", "memories")} are back.`)
  }
}

/** @param {Memory[]} rows */
function idsOf(rows) {
  return rows.map(({ id }) => id)
}

/** Which ones a question is about. @param {Record<string, string>} wanted */
function filterWords({ q, service, category, state }) {
  const words = [service, category, state, q ? `“${q}”` : ""].filter(Boolean)
  return words.length ? `All that match: ${words.join(", ")}` : "All there are"
}
