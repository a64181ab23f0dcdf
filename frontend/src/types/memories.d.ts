interface Memory extends Row {
  service: string | null
  category: string
  observation: string
  confidence: number
  active: boolean
  created_at: Time
  updated_at: Time
  session_id: number | null
  tier: number
  kind: string
  trust: string
  source: string
  title: string
  tags: string[]
  project: string
  scope: "project" | "global"
  topic_key: string | null
  inactive_reason: string | null
  pinned: boolean
  duplicate_count: number
  revision_count: number
  last_seen_at: Time | null
  access_count: number
  accessed_at: Time | null
}

/** One thing that a search found; its row stands under the name of its layer. */
interface Hit {
  layer: "memory" | "session" | "event"
  rank: number
  score: number
  method: string
  reasons: { what: string; score: number }[]
  text: string
  /** Where the words that were looked for stand, in characters. */
  spans: [number, number][]
  memory?: Memory
  session?: Session
  event?: OpsEvent
}

interface Found {
  items: Hit[]
  seq: number
  terms: string[]
  partial: boolean
  missing: string[]
  layers: string[]
  filters: string[]
}

/** A time that a memory was said, by a session or (tier 0) by a person. */
interface Saying {
  session_id: number | null
  tier: number
  at: Time
  cause: string
  before: number | null
  after: number | null
}

/** What a memory rests on: the newest of each, and how many there are. */
interface Evidence {
  said: { total: number; sessions: number; items: Saying[] }
  told: { total: number; items: { session_id: number; tier: number; at: Time; position: number }[] }
  partners: Partner[]
}

/** A memory that contradicts another one, and the last review of the two. */
interface Partner {
  memory_id: number
  memory: Memory | null
  review: { id: number; kind: string; state: string; resolution: string | null } | null
}

/** What a history keeps of a memory; entries of long ago hold the first three only. */
interface MemoryState {
  observation: string
  confidence: number
  active: boolean
  category?: string
  service?: string | null
  inactive_reason?: string | null
  pinned?: boolean
  trust?: string
  title?: string
  tags?: string[]
  project?: string
  scope?: string
  topic_key?: string | null
}

interface HistoryEntry {
  id: number
  version: number
  at: Time
  actor: string
  session_id: number | null
  cause: string
  reason: string
  before: MemoryState | null
  after: MemoryState | null
  review_id: number | null
  undoable?: boolean
}

/** Two claims of which at most one may be true. */
interface Review extends Row {
  kind: "conflict" | "possible"
  state: "open" | "resolved"
  reason: string
  said: string
  service: string | null
  category: string
  session_id: number | null
  old: Memory | null
  new: Memory | null
  resolution: string | null
  resolved_by: string | null
  resolved_at: Time | null
  created_at: Time
  sources?: { old: Said[]; new: Said[] }
  exposed?: { old: number[]; new: number[] }
  exposed_counts?: { old: number; new: number }
  changes?: (HistoryEntry & { memory_id: number })[]
}

/** Who said a claim, when, and what that did. */
interface Said {
  session_id: number | null
  at: Time
  cause: string
}
