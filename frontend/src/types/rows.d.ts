/** A time as the API writes it: YYYY-MM-DDTHH:MM:SS.ffffffZ. */
type Time = string

interface Row {
  id: number
  version: number
}

interface OpsEvent extends Row {
  level: "info" | "warning" | "critical"
  service: string | null
  text: string
  session_id: number | null
  tier: number
  source: string
  created_at: Time
}

interface Session extends Row {
  external_id: string | null
  agent: string | null
  project: string
  response: string
  tier: number
  engine: string
  model: string | null
  trigger: string
  status: string
  outcome: string
  outcome_state: string
  reason: string
  prompt: string
  parent_id: number | null
  services: string[] | null
  dry_run: boolean
  started_at: Time
  ended_at: Time | null
  exit_code: number | null
  summary: string
  duration_ms: number | null
  cost_usd: number | null
  input_tokens: number | null
  output_tokens: number | null
  cache_read_tokens: number | null
  cache_write_tokens: number | null
  budget_usd: number | null
  resumed: number
  directory: string | null
  host: string | null
  output_pending: boolean
  turns: number | null
  log_offset: number
  learned: number
  reinforced: number
  events: number
  ignored: number
  markers_left: number
  stopping: boolean
}

interface RunRequest extends Row {
  state: "queued" | "running" | "done" | "cancelled"
  position: number | null
  session_id: number | null
  tier: number
  services: string[] | null
  prompt: string
  dry_run: boolean
  trigger: string
  created_at: Time
}

interface Marker extends Row {
  session_id: number
  offset: number
  index: number
  line: number
  what: string
  state: "taken" | "ignored" | "refused"
  outcome: string
  reason: string
  text: string
  service: string | null
  category: string | null
  memory_id: number | null
  event_id: number | null
  created_at: Time
}

/** An agent that keeps its knowledge here. */
interface AgentState {
  name: string
  project: string
  declared: boolean
  context_limit: number
  auto_save: boolean
  auto_search: boolean
  auto_summarize: boolean
  save_rules: number
  inject_rules: number
  memory_url: string
  last_seen_at: Time | null
  sessions: number
  running: number
  saved: number
}

/** What a session asks a person for: one command, run at most once. */
interface Approval extends Row {
  state: "open" | "approved" | "denied" | "expired" | "used" | "replaced" | "withdrawn"
  service: string
  action: string
  name: string
  argv: string[]
  directory: string | null
  edited: boolean
  reason: string
  memories: number[]
  session_id: number
  tier: number
  replaces: number | null
  use_id: number | null
  decided_by: string | null
  decided_at: Time | null
  note: string
  created_at: Time
  expires_at: Time
}

/** Whether everything stands still, and each way in which that was brought about. */
interface HaltState {
  halted: boolean
  pulled: { way: "row" | "file"; reason: string; by: string; at: Time; words: string; release: string }[]
  seq: number
}

/** What a session asked of the memories, and what it was shown. */
interface Search {
  id: number
  tool: string
  query: string
  hits: { memory_id: number; rank: number; observation: string | null }[]
  at: Time
}

interface LogItem {
  offset: number
  index: number
  kind: string
  text: string
}

interface SupervisorState {
  state: "running" | "idle" | "away"
  pid: number | null
  heartbeat_at: Time | null
  next_round_at: Time | null
  session_id: number | null
  interval_seconds: number
  engine: string
  dry_run: boolean
  version: string
  database?: string
}

type ServiceState = "ok" | "warning" | "failing" | "unknown"

interface Check {
  name: string
  kind: string
  target: string
  ok: boolean | null
  warned: boolean
  status: number | null
  latency_ms: number | null
  detail: string
  at: Time | null
}

interface Cooldown {
  service: string
  action: string
  used: number
  limit: number
  window_seconds: number
  frees_at: Time | null
  last_at: Time | null
  declared: boolean
}

/** One day of a service: how often it was looked at, and how often that was bad. */
interface StripDay {
  day: string
  looks: number
  failed: number
  warned: number
}

interface Service {
  name: string
  description: string
  depends_on: string[]
  state: ServiceState
  since: Time | null
  checked_at: Time | null
  detail: string
  memories: number
  checks: Check[]
  actions: {
    name: string
    kind: string
    argv: string[]
    directory: string | null
    timeout: number
    for: string[]
    approve: string
  }[]
  cooldowns: Cooldown[]
  strip: StripDay[]
}

/** A service that only a person can help. */
interface Waiting {
  id: number
  service: string
  reason: string
  asked_at: Time
  session_id: number | null
}

interface Learned {
  cause: string
  at: Time
  reason: string
  before: number | null
  after: number | null
  memory: Memory
}

interface OverviewState {
  state: ServiceState
  counts: Record<ServiceState, number>
  checked_at: Time | null
  path: string
  problems: { path: string; line: number; message: string }[]
  supervisor: SupervisorState
  running: Session | null
  outcomes?: Session[]
  queued: number
  people: Waiting[]
  services: Service[]
  learned: { since: Time; learned: number; reinforced: number; weakened: number; faded: number; items: Learned[] }
  events: { since: Time; critical: number; warning: number }
  sessions: { since: Time; total: number; by_tier: Record<string, number>; cost_usd: number | null }
  reviews: { open: number; oldest_at: Time | null }
  approvals: { open: number; oldest_at: Time | null }
  run: {
    days: { day: string; by_tier: Record<string, number> }[]
    ended: Record<string, Record<string, number>>
    today: { turns: number | null; cost_usd: number | null }
    month: { turns: number | null; cost_usd: number | null }
  }
  spending?: Spending
  seq: number
}

/** How many dollars may be spent, `null` without a limit, and what 24 hours have cost. */
interface Spending {
  session: number | null
  chain: number | null
  day: number | null
  day_spent: number
}

/** What a monitor reported. */
interface Alert extends Row {
  source: string
  state: "firing" | "resolved"
  service: string | null
  severity: string
  title: string
  request_id: number | null
  session_id?: number | null
  deliveries: number
  created_at: Time
  last_at: Time
  resolved_at: Time | null
}

/** What people are told outside of the app. */
interface Notice extends Row {
  kind: string
  level: "info" | "warning" | "critical"
  title: string
  body: string
  service: string | null
  state: "waiting" | "sending" | "sent" | "failed"
  attempts: number
  problem: string
  created_at: Time
  sent_at: Time | null
}

/** One thing that was looked at, of Lamplighter itself. */
interface VitalSign {
  name: string
  state: ServiceState
  words: string
  what_to_do: string
  figure: number | null
  at: Time
}

interface Setting {
  name: string
  variable: string
  value: string
  default: string
  source: string
  line: number | null
  about: string
  range: string
  next: string | null
}

interface SettingsState {
  settings: Setting[]
  warnings: string[]
  refused: string[]
  files: { name: string; path: string; exists: boolean; says: string; problems: any[] }[]
  about: {
    version: string
    license: string
    python: string
    database: string
    database_at: string
    started_at: Time
  }
}

interface AccessToken extends Row {
  name: string
  agent: string | null
  scopes: string[]
  created_at: Time
  expires_at: Time | null
  used_at: Time | null
  revoked_at: Time | null
}

/** One use of a cooldown, or a refusal. */
interface Use extends Row {
  service: string
  action: string
  name: string
  outcome: "reserved" | "success" | "unconfirmed" | "failure" | "abandoned" | "refused" | "would" | "unneeded"
  text: string
  attempts: number
  session_id: number | null
  tier: number
  healthy_after: number | null
  counts: boolean
  created_at: Time
  settled_at: Time | null
  cleared_at: Time | null
  cleared_by: "healthy" | "operator" | null
}

interface Handoff {
  id: number
  session_id: number
  child_id: number | null
  tier: number
  service: string
  reason: string
  state: "open" | "accepted" | "taken" | "dropped" | "person" | "closed" | "dry"
  why: string
  created_at: Time
}

/** A memory in or out of a prompt: its turn in the order of choice, its cost and why. */
interface Placed {
  id: number
  version: number
  service: string | null
  category: string
  confidence: number
  line: string
  tokens: number
  why: string
  circle: "focus" | "neighbour" | "general" | "other"
  rank: number
  left: number
  position?: number
}

/** What a session would be told. */
interface Told {
  text: string
  system: string
  prompt: string
  tokens: number
  budget: number
  in_force: number
  total: number
  included: Placed[]
  excluded: Placed[]
  seq: number
  as_of?: Time
  diff?: { against: string; added: string[]; removed: string[]; text: string }
}
