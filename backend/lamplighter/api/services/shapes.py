"""Services, their cooldowns, and everything at one glance."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from lamplighter.api.common_shapes import Limit, Name, ShortText, SlotOut, UseOut
from lamplighter.api.memory.shapes import MemoryOut
from lamplighter.api.sessions.approval_shapes import ActiveHaltOut
from lamplighter.api.sessions.shapes import SpendingOut
from lamplighter.domain.services.service import ActionKind, ApprovalPolicy

State = Literal["ok", "warning", "failing", "unknown"]


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


class DayOut(Struct):
    """The status of a service on one day (UTC)."""

    day: str
    looks: int
    failed: int
    warned: int


class ServiceOut(Struct):
    """A service with its status; `strip` has the last 30 days, oldest first."""

    name: str
    description: str
    depends_on: list[str]
    state: State
    since: str | None
    checked_at: str | None
    detail: str
    memories: int
    checks: list[CheckOut]
    actions: list[ActionOut]
    cooldowns: list[SlotOut]
    strip: list[DayOut]


class ServicePage(Struct):
    """All services with their last status."""

    items: list[ServiceOut]
    next: str | None
    path: str
    problems: list[dict[str, Any]]
    seq: int


class CheckResultOut(Struct):
    """The result of one check."""

    service: str
    check: str
    kind: str
    ok: bool
    warned: bool
    status: int | None
    latency_ms: float | None
    attempts: int
    flapped: bool
    detail: str
    at: str | None


class CheckResultPage(Struct):
    """A page of check results of a service, newest first."""

    items: list[CheckResultOut]
    next: str | None
    seq: int


class OverviewOut(Struct):
    """The overall status; `people` lists the services that wait for a person.

    `outcomes` are the last sessions that acted or requested an action.
    """

    state: State
    counts: dict[str, int]
    checked_at: str | None
    path: str
    problems: list[dict[str, Any]]
    supervisor: dict[str, Any]
    running: dict[str, Any] | None
    outcomes: list[dict[str, Any]]
    queued: int
    people: list[dict[str, Any]]
    services: list[ServiceOut]
    learned: dict[str, Any]
    events: dict[str, Any]
    sessions: dict[str, Any]
    reviews: dict[str, Any]
    approvals: dict[str, Any]
    run: dict[str, Any]
    spending: SpendingOut
    halt: ActiveHaltOut | None
    seq: int


class LearnedQuery(Struct):
    """Filters for memory changes and their start time; default: all of the last 24 hours."""

    cause: Literal["learned", "reinforced", "contradicted", "faded"] | None = None
    since: ShortText | None = None
    cursor: str | None = None
    limit: Limit = 50


class LearnedOut(Struct):
    """A memory change by a session or decay, and the memory in its present state."""

    cause: str
    at: str
    reason: str
    before: float | None
    after: float | None
    memory: MemoryOut


class LearnedPage(Struct):
    """A page of memory changes, newest first."""

    items: list[LearnedOut]
    next: str | None
    seq: int


class OverviewQuery(Struct):
    """The start time for memory changes; default: the last 24 hours."""

    since: ShortText | None = None


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


class CooldownPage(Struct):
    """Every cooldown that is declared or was used."""

    items: list[CooldownOut]
    next: str | None
    seq: int


class UsePage(Struct):
    """A page of uses and refusals, newest first."""

    items: list[UseOut]
    next: str | None
    seq: int


class UseQuery(Struct):
    """Filters for uses."""

    service: Name | None = None
    action: ActionKind | None = None
    cursor: str | None = None
    limit: Limit = 50


class ResetIn(Struct):
    """The cooldown to reset; default: all cooldowns of the service."""

    action: ActionKind | None = None


class ResetOut(Struct):
    """The number of uses that no longer count."""

    service: str
    cleared: Annotated[int, Meta(ge=0)]
