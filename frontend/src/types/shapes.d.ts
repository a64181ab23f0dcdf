/** Short names of the shapes in `generated/api.d.ts`. */
type Shapes = import("../../generated/api").components["schemas"]

/** A time as the API writes it: YYYY-MM-DDTHH:MM:SS.ffffffZ. */
type Time = string

interface Row {
  id: number
  version: number
}

type Memory = Shapes["MemoryOut"]
type MemoryState = Shapes["MemoryStateOut"]
type HistoryEntry = Shapes["HistoryEntry"]
type Evidence = Shapes["EvidenceOut"]
type MemoryReport = Shapes["ReportOut"]
type Belief = Shapes["BeliefOut"]
type Partner = Shapes["PartnerOut"]
type DeletedMemory = Shapes["DiscardedOut"]
type SimilarMemory = Shapes["SimilarMemoryOut"]
type BulkPreview = Shapes["BulkPreviewOut"]
type UndoResult = Shapes["UndoneOut"]

/** A review of a list, or the whole case. */
type Review = Shapes["ReviewOut"] & Partial<Shapes["ReviewCaseOut"]>
type ReportSource = Shapes["SourceOut"]

type Hit = Shapes["SearchHitOut"]
type SearchResults = Shapes["SearchResultPage"]

type Incident = Shapes["IncidentOut"]
type IncidentDetail = Shapes["IncidentDetailOut"]
type TimelineItem = Shapes["TimelineItemOut"]

type Session = Shapes["SessionOut"]
type RunRequest = Shapes["SessionRequestOut"]
type Marker = Shapes["MarkerOut"]
type Search = Shapes["SessionSearchOut"]
type Handoff = Shapes["EscalationOut"]
type LogItem = Shapes["LogEntry"]
type PromptUpdate = Shapes["PromptUpdateOut"]
type Approval = Shapes["ApprovalOut"]
type HaltState = Shapes["HaltOut"]
type Engine = Shapes["EngineOut"]
type Spending = Shapes["SpendingOut"]

type OpsEvent = Shapes["EventOut"]
type EventInterval = Shapes["EventIntervalOut"]
type Density = Shapes["EventDensityOut"]
type Service = Shapes["ServiceOut"]
type ServiceDetail = Shapes["ServiceDetailOut"]
type Check = Shapes["CheckOut"]
type Cooldown = Shapes["CooldownOut"]
type Heartbeats = Shapes["HeartbeatOut"]
type Latency = Shapes["LatencyChartOut"]
type CheckLatency = Shapes["CheckLatencyOut"]
type Use = Shapes["UseOut"]
type Alert = Shapes["AlertOut"]
type Notice = Shapes["NoticeOut"]

type OverviewState = Shapes["OverviewOut"]
type SupervisorState = Shapes["LeaderOut"] & Partial<Shapes["SupervisorOut"]>
type Attention = Shapes["AttentionOut"]
type Learned = Shapes["LearnedOut"]
type CalibrationGroup = Shapes["CalibrationGroupOut"]
type MemoryMeasurement = Shapes["MemoryMeasurementOut"]
type HealthPoint = Shapes["HealthPointOut"]
type VitalSign = Shapes["HealthCheckOut"]
type Setting = Shapes["SettingOut"]
type SettingsState = Shapes["SettingsOut"]
type DeclaredService = Shapes["DeclaredServiceOut"] & { fields: Record<string, any> }
type ServicesFile = Omit<Shapes["ServicesFileOut"], "services"> & { services: DeclaredService[] }
type EditPreview = Shapes["EditPreviewOut"]
type TrialResult = Shapes["TrialOut"]
type ConfigurationChange = Shapes["ConfigurationChangeOut"]
type AccessToken = Shapes["TokenOut"]
type Device = Shapes["DeviceOut"]
type Login = Shapes["LoginOut"]
type AgentState = Shapes["AgentOut"]

type PromptContext = Shapes["ContextOut"]
type PlacedMemory = Shapes["PlacedMemoryOut"]

type Outcome = Shapes["OutcomeOut"]
type EvidenceItem = Shapes["EvidenceItemOut"]
type AttachedCheck = Shapes["MemoryCheckOut"]

type NotebookPage = Shapes["PageSummaryOut"]
type NotebookText = Shapes["PageOut"]

type OrganizerRun = Shapes["OrganizerRunOut"]
type OrganizerDiff = Shapes["OrganizerDiffOut"]
type OrganizerReport = Shapes["OrganizerReportOut"]
type Substitute = Shapes["SubstituteOut"]

type Entity = Shapes["EntityOut"]
type Relationship = Shapes["RelationshipOut"]
type EntityRow = Shapes["EntityRowOut"]
type EntityCase = Shapes["EntityCaseOut"]
type Neighbor = Shapes["NeighborOut"]
