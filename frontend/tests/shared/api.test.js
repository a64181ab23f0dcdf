import assert from "node:assert/strict"
import test from "node:test"
import { Problem, createApi, query } from "../../src/shared/api.js"

function server(status, body) {
  const sent = []
  const fetch = async (url, init) => {
    sent.push({ url, ...init })
    return new Response(status === 204 ? null : JSON.stringify(body), { status })
  }
  return { sent, api: createApi({ fetch }) }
}

test("a patch sends the version it is based on", async () => {
  const { sent, api } = server(200, { id: 7 })

  await api.patch("/memories/7", { confidence: 0.5 }, "7-3")

  assert.equal(sent[0].headers["If-Match"], '"7-3"')
  assert.equal(sent[0].body, '{"confidence":0.5}')
})

test("writes send a JSON content type, reads do not", async () => {
  const { sent, api } = server(200, {})

  await api.post("/sessions", { tier: 1 })
  await api.get("/sessions")

  assert.deepEqual(
    sent.map(({ headers }) => headers["content-type"]),
    ["application/json", undefined],
  )
})

test("an error response names each invalid field and includes the current row", async () => {
  const body = {
    title: "Stale",
    detail: "It changed.",
    errors: [{ field: "observation", message: "is empty" }],
    current: { id: 7 },
  }
  const { api } = server(412, body)

  const problem = await api.patch("/memories/7", {}).catch((each) => each)

  assert.ok(problem instanceof Problem)
  assert.equal(problem.status, 412)
  assert.equal(problem.message, "It changed.")
  assert.equal(problem.about("observation"), "is empty")
  assert.deepEqual(problem.current, { id: 7 })
})

test("an error that is not JSON still has a message", async () => {
  const api = createApi({
    fetch: async () => new Response("<h1>Bad gateway</h1>", { status: 502, statusText: "Bad Gateway" }),
  })

  const problem = await api.get("/memories").catch((each) => each)

  assert.equal(problem.status, 502)
  assert.equal(problem.message, "Bad Gateway")
})

test("an unreachable server has a readable message", async () => {
  const api = createApi({ fetch: async () => Promise.reject(new TypeError("Failed to fetch")) })

  await assert.rejects(api.get("/memories"), { status: 0, message: "The server cannot be reached." })
})

test("a deletion returns null", async () => {
  const { api } = server(204)

  assert.equal(await api.remove("/memories/7"), null)
})

/** A server that answers each request when the test says so. */
function slowServer() {
  const answers = new Map()
  const sent = []
  const fetch = (url, { method }) => {
    sent.push(`${method} ${url.replace("/api/v1", "")}`)
    return new Promise((resolve) =>
      answers.set(sent.at(-1), (status) => resolve(new Response(status === 204 ? null : "{}", { status }))),
    )
  }
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  return { sent, turn, api: createApi({ fetch }), answer: (request, status = 200) => answers.get(request)(status) }
}

test("a deletion waits for the reads of its resource", async () => {
  const { sent, turn, api, answer } = slowServer()

  const history = api.get("/memories/7/history")
  api.get("/memories/71")
  await turn()
  const deletion = api.remove("/memories/7")
  await turn()
  assert.deepEqual(sent, ["GET /memories/7/history", "GET /memories/71"])
  answer("GET /memories/7/history")
  await history
  await turn()
  answer("DELETE /memories/7", 204)

  assert.equal(await deletion, null)
})

test("a read is not sent if its resource is deleted meanwhile", async () => {
  const { sent, turn, api, answer } = slowServer()

  const deletion = api.remove("/memories/7")
  const verification = assert.rejects(api.get("/memories/7/verification"), { status: 404 })
  api.get("/memories/71")
  await turn()
  answer("DELETE /memories/7", 204)

  await Promise.all([deletion, verification])
  assert.deepEqual(sent.toSorted(), ["DELETE /memories/7", "GET /memories/71"])
})

test("a read is sent after a rejected deletion of its resource", async () => {
  const { sent, turn, api, answer } = slowServer()

  const deletion = assert.rejects(api.remove("/memories/7"), { status: 412 })
  api.get("/memories/7/verification")
  await turn()
  answer("DELETE /memories/7", 412)
  await deletion
  await turn()

  assert.deepEqual(sent, ["DELETE /memories/7", "GET /memories/7/verification"])
})

test("empty values are omitted from a query, and lists repeat their name", () => {
  assert.equal(
    query({ q: "", service: null, level: ["warning", "critical"], limit: 50 }),
    "?level=warning&level=critical&limit=50",
  )
  assert.equal(query({}), "")
  assert.equal(query({ q: "a&b=c" }), "?q=a%26b%3Dc")
})

test("every 401 calls the refused handler", async () => {
  let refused = 0
  const fetch = async () => new Response("{}", { status: 401 })
  const api = createApi({ fetch, refused: () => refused++ })

  const problem = await api.get("/sessions").catch((each) => each)
  await api.post("/sessions").catch((each) => each)

  assert.equal(problem.status, 401)
  assert.equal(refused, 2)
})

test("a 403 does not call the refused handler", async () => {
  let refused = 0
  const fetch = async () => new Response("{}", { status: 403 })

  await createApi({ fetch, refused: () => refused++ })
    .get("/sessions")
    .catch((each) => each)

  assert.equal(refused, 0)
})

test("all pages of a list are loaded, with the sequence number of the first", async () => {
  const pages = {
    "": { items: [1], next: "a", seq: 7 },
    a: { items: [2], next: "b", seq: 8 },
    b: { items: [3], next: null },
  }
  const asked = []
  const fetch = async (url) => {
    const { searchParams } = new URL(url, "http://x")
    asked.push([searchParams.get("tier"), searchParams.get("limit")])
    return new Response(JSON.stringify(pages[searchParams.get("cursor") ?? ""]))
  }

  const all = await createApi({ fetch }).all("/sessions", { tier: 2 })

  assert.deepEqual(all.items, [1, 2, 3])
  assert.equal(all.seq, 7)
  assert.deepEqual(asked, Array(3).fill(["2", "200"]))
})
