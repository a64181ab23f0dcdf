"""Services, their cooldowns, and everything at one glance."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from lamplighter.api.common_shapes import (
    FileProblemOut,
    Limit,
    Name,
    PageQuery,
    ShortText,
    SlotOut,
    UseOut,
    page_of,
    public_shape,
)
from lamplighter.api.incidents.shapes import IncidentListOut, IncidentOut
from lamplighter.api.memory.shapes import MemoryOut
from lamplighter.api.services.trends.shapes import LatencyChartOut
from lamplighter.api.sessions.approval_shapes import ActiveHaltOut
from lamplighter.api.sessions.shapes import SessionOut, SpendingOut
from lamplighter.domain.services.checks.silence import SilenceKind
from lamplighter.domain.services.series import Aggregate, PointState, SeriesPoint, SeriesResolution
from lamplighter.domain.services.service import ActionKind, ApprovalPolicy
from lamplighter.domain.sessions.session import CheckResult, Status
from lamplighter.usecases.sessions.statistics import DAYS

State = Literal["ok", "warning", "failing", "unknown"]
Severity = Literal["info", "warning", "critical"]
ConfidenceCause = Literal["learned", "reinforced", "contradicted", "faded"]
TierName = Literal["1", "2", "3"]
StripDays = Annotated[int, Meta(ge=0, le=DAYS)]


class ActionOut(Struct, rename={"repairs": "for"}):
    """A declared action, the failures it repairs, and when it needs approval."""

    name: str
    kind: ActionKind
    argv: list[str]
    directory: str | None
    timeout: float
    repairs: list[str]
    approve: ApprovalPolicy


class CheckOut(Struct):
    """A check and its last result; `ok` is null before the first result."""

    name: str
    kind: str
    target: str
    ok: bool | None
    warned: bool
    status: int | None
    latency_ms: float | None
    detail: str
    at: str | None


class SilenceOut(Struct):
    """Why failures of a service are only recorded, and until when; null: until it is resumed."""

    kind: SilenceKind
    until: str | None
    reason: str


class DayOut(Struct):
    """The status of a service on one day (UTC)."""

    day: str
    looks: int
    failed: int
    warned: int


class ServiceOut(Struct):
    """A service with its status; `strip` has the last 30 days, oldest first.

    It is declared at `line` of services.yaml.
    """

    name: str
    description: str
    depends_on: list[str]
    state: State
    since: str | None
    checked_at: str | None
    detail: str
    line: int
    memories: int
    checks: list[CheckOut]
    actions: list[ActionOut]
    cooldowns: list[SlotOut]
    strip: list[DayOut]
    group: str
    tags: list[str]
    notify: list[str]
    silence: SilenceOut | None


class ServicesQuery(PageQuery):
    """Filters for services: of a group, and with a tag; and the number of days in `strip`."""

    group: Name | None = None
    tag: Name | None = None
    strip: StripDays = DAYS


class PauseIn(Struct):
    """The reason of a pause, and when it ends by itself (RFC 3339); default: when resumed."""

    reason: ShortText = ""
    until: ShortText | None = None


class PauseOut(Struct):
    """Whether a service is silent now, and why."""

    service: str
    silence: SilenceOut | None


class ServicePage(Struct):
    """All services with their last status."""

    items: list[ServiceOut]
    next: str | None
    path: str
    problems: list[FileProblemOut]
    seq: int


@public_shape(CheckResult)
class CheckResultOut(Struct):
    """The result of one check."""


CheckResultPage = page_of(CheckResultOut, "A page of check results of a service, newest first.")


class SeriesQuery(Struct):
    """The check, the span of time (RFC 3339), how finely, and the maximum entries of a check."""

    check: Name | None = None
    since: str | None = None
    until: str | None = None
    resolution: SeriesResolution | None = None
    limit: Annotated[int, Meta(ge=1, le=5_000)] = 1_000


@public_shape(SeriesPoint)
class PointOut(Struct):
    """One result of a scheduled check; `late_ms` is how late the check began.

    `silent` is whether the service was paused or in a maintenance window: no uptime counts it.
    """


@public_shape(Aggregate)
class AggregateOut(Struct):
    """The results of a span of time that begins `at`; latencies in milliseconds.

    Of `count` and `failures`, `silent` and `silent_failures` are from a pause or a maintenance
    window.
    """


class SeriesOut(Struct):
    """A check with its last result, and its entries: `points` if `raw`, else `aggregates`."""

    check: str
    kind: str
    state: PointState
    changed_at: str | None
    checked_at: str | None
    detail: str
    points: list[PointOut]
    aggregates: list[AggregateOut]


class ServiceSeriesOut(Struct):
    """The results of a service's checks over time, oldest first."""

    service: str
    resolution: SeriesResolution
    since: str
    until: str
    checks: list[SeriesOut]
    seq: int


class UptimeWindowsOut(Struct):
    """The share of passed results of the worst check, in percent, over 1, 7, 30 and 90 days.

    Results of pauses and maintenance windows do not count.
    """

    day: float | None
    week: float | None
    month: float | None
    quarter: float | None


class UptimeOut(UptimeWindowsOut):
    """The uptime of a service."""

    service: str
    seq: int


class StrongMemoryOut(Struct):
    """One of the active memories of a service with the highest confidence."""

    id: int
    observation: str
    confidence: float


class ServiceDetailOut(ServiceOut):
    """A service with its uptime, its latency over 24 hours, and its five newest incidents.

    `next` of `incidents` continues the list in `/incidents?service=NAME`. `strongest_memories` is
    null for a token that may not read memories.
    """

    uptime: UptimeWindowsOut
    latency: LatencyChartOut
    incidents: IncidentListOut
    strongest_memories: list[StrongMemoryOut] | None
    seq: int


class LearnedOut(Struct):
    """A memory change by a session or decay, and the memory in its present state."""

    cause: ConfidenceCause
    at: str
    reason: str
    before: float | None
    after: float | None
    memory: MemoryOut


class LeaderOut(Struct):
    """The status of the supervisor; `waiting` counts sessions that wait for approval."""

    state: Literal["running", "idle", "away"]
    pid: int | None
    heartbeat_at: str | None
    next_round_at: str | None
    session_id: int | None
    interval_seconds: float | None
    engine: str | None
    dry_run: bool
    revision: int
    waiting: int


class AttentionOut(Struct):
    """A service that waits for a person."""

    id: int
    service: str
    reason: str
    asked_at: str
    session_id: int | None


class MemoryActivityOut(Struct):
    """The number of memory changes by cause, and the newest of them."""

    since: str
    learned: int
    reinforced: int
    weakened: int
    faded: int
    items: list[LearnedOut]


class EventCountsOut(Struct):
    """The number of critical events and warnings."""

    since: str
    critical: int
    warning: int


class SessionCountsOut(Struct):
    """The number of sessions, and their cost."""

    since: str
    total: int
    by_tier: dict[TierName, int]
    cost_usd: float | None


class OpenCountOut(Struct):
    """The number of open items, and the age of the oldest."""

    open: int
    oldest_at: str | None


class RunDayOut(Struct):
    """The number of sessions of one day (UTC)."""

    day: str
    by_tier: dict[TierName, int]


class RunTotalOut(Struct):
    """The turns and the cost of several sessions."""

    turns: int | None
    cost_usd: float | None


class RunsOut(Struct):
    """The sessions by day, by tier and status, of today and of this month."""

    days: list[RunDayOut]
    ended: dict[TierName, dict[Status, int]]
    today: RunTotalOut
    month: RunTotalOut


class OverviewOut(Struct):
    """The overall status; `people` lists the services that wait for a person.

    `outcomes` are the last sessions that acted or requested an action. `incidents` are the five
    most urgent open incidents, by severity, then age; `open_incidents` counts all by severity.
    """

    state: State
    counts: dict[State, int]
    checked_at: str | None
    path: str
    problems: list[FileProblemOut]
    supervisor: LeaderOut
    running: SessionOut | None
    outcomes: list[SessionOut]
    queued: int
    people: list[AttentionOut]
    services: list[ServiceOut]
    learned: MemoryActivityOut
    events: EventCountsOut
    sessions: SessionCountsOut
    reviews: OpenCountOut
    pages: OpenCountOut
    approvals: OpenCountOut
    incidents: list[IncidentOut]
    open_incidents: dict[Severity, int]
    repaired: list[IncidentOut]
    run: RunsOut
    spending: SpendingOut
    halt: ActiveHaltOut | None
    seq: int


class LearnedQuery(Struct):
    """Filters for memory changes and their start time; default: all of the last 24 hours."""

    cause: ConfidenceCause | None = None
    since: ShortText | None = None
    cursor: str | None = None
    limit: Limit = 50


LearnedPage = page_of(LearnedOut, "A page of memory changes, newest first.")


class OverviewQuery(Struct):
    """The start time for memory changes (default: the last 24 hours), and the days in `strip`."""

    since: ShortText | None = None
    strip: StripDays = DAYS


class CooldownOut(Struct):
    """The present usage of a cooldown."""

    service: str
    action: ActionKind
    used: int
    limit: int
    window_seconds: int
    frees_at: str | None
    last_at: str | None
    declared: bool


CooldownPage = page_of(CooldownOut, "Every cooldown that is declared or was used.")


UsePage = page_of(UseOut, "A page of uses and refusals, newest first.")


class UseQuery(PageQuery):
    """Filters for uses."""

    service: Name | None = None
    action: ActionKind | None = None


class ResetIn(Struct):
    """The cooldown to reset; default: all cooldowns of the service."""

    action: ActionKind | None = None


class ResetOut(Struct):
    """The number of uses that no longer count."""

    service: str
    cleared: Annotated[int, Meta(ge=0)]
