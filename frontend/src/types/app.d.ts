declare module "@alpinejs/csp" {
  import Alpine from "alpinejs"
  export default Alpine
}

/** A change of the feed; the stream sends it without its time. */
type Change = Omit<Shapes["ChangeOut"], "row" | "at"> & { row: any }

/** A check result as the stream sends it. */
interface NewResult {
  service: string
  check: string
  state: string
  silent: boolean
  at: Time
  latency_ms: number | null
}

interface Page<T> {
  items: T[]
  next: string | null
  seq: number
  total?: number
}

/** A message of the feed to the page, from the worker or from the page's own stream. */
type FeedMessage =
  | { kind: "joined"; seq: number | null; live: boolean }
  | { kind: "hello"; seq: number; version: string }
  | { kind: "live" }
  | { kind: "lost"; at?: number }
  | { kind: "refused" }
  | { kind: "changes"; items: Change[] }
  | { kind: "results"; items: NewResult[] }
  | { kind: "reset"; seq: number }

interface Api {
  /** Resolves when every change in flight has been answered. */
  settled?: () => Promise<unknown>
  get(path: string, params?: Record<string, any>): Promise<any>
  all(path: string, params?: Record<string, any>): Promise<any>
  post(path: string, body?: unknown, version?: string): Promise<any>
  put(path: string, body?: unknown, version?: string): Promise<any>
  patch(path: string, body: unknown, version?: string): Promise<any>
  remove(path: string, version?: string): Promise<any>
}

interface Feed {
  begin(): void
  on(entity: string, apply: (change: Change) => void): void
  onReset(load: () => void): void
  read(seq: number): void
  replay(seq: number, entity: string, apply: (change: Change) => void): void
  receive(message: FeedMessage): void
  goOffline(): void
  goOnline(): void
  pause(): void
  resume(): void
  state: {
    loaded: boolean
    live: boolean
    stale: boolean
    offline: boolean
    at: Date | null
    paused: boolean
    behind: number
  }
}
