"""Services, their cooldowns, and everything at one glance."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from lamplighter.api.common_shapes import Limit, Name, Slot, Use, Words
from lamplighter.api.memory.shapes import Memory
from lamplighter.api.sessions.approval_shapes import Pulled
from lamplighter.api.sessions.shapes import Spending
from lamplighter.domain.services.service import ActionKind, Approve

State = Literal["ok", "warning", "failing", "unknown"]


class ActionOut(Struct, rename={"repairs": "for"}):
    """What may be done to a service, for which failures, and when a person is asked."""

    name: str
    kind: ActionKind
    argv: list[str]
    directory: str | None
    timeout: float
    repairs: list[str]
    approve: Approve


class CheckOut(Struct):
    """A check and what it came to when last made; `ok` is null before the first time."""

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
    """How a service was on one day (UTC)."""

    day: str
    looks: int
    failed: int
    warned: int


class Service(Struct):
    """A service we operate and how it is; `strip` are its last 30 days, oldest first."""

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
    cooldowns: list[Slot]
    strip: list[DayOut]


class ServicePage(Struct):
    """The services we operate, and how each was when last looked at."""

    items: list[Service]
    next: str | None
    path: str
    problems: list[dict[str, Any]]
    seq: int


class LookOut(Struct):
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


class LookPage(Struct):
    """Some results of a service's checks, newest first."""

    items: list[LookOut]
    next: str | None
    seq: int


class Overview(Struct):
    """How everything stands; `people` are the services that wait for a person.

    `outcomes` are the last sessions that acted, or wanted to.
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
    services: list[Service]
    learned: dict[str, Any]
    events: dict[str, Any]
    sessions: dict[str, Any]
    reviews: dict[str, Any]
    approvals: dict[str, Any]
    run: dict[str, Any]
    spending: Spending
    halt: Pulled | None
    seq: int


class LearnedQuery(Struct):
    """Which changes of memories, and since when; left out: all, for 24 hours."""

    cause: Literal["learned", "reinforced", "contradicted", "faded"] | None = None
    since: Words | None = None
    cursor: str | None = None
    limit: Limit = 50


class LearnedOut(Struct):
    """A change of a memory that a session or time brought about, and the memory as it is now."""

    cause: str
    at: str
    reason: str
    before: float | None
    after: float | None
    memory: Memory


class LearnedPage(Struct):
    """Some of what was learned, newest first."""

    items: list[LearnedOut]
    next: str | None
    seq: int


class OverviewQuery(Struct):
    """Since when it is told what was learned; left out: for 24 hours."""

    since: Words | None = None


class Standing(Struct):
    """How much of a cooldown is used now."""

    service: str
    action: ActionKind
    used: int
    limit: int
    window_seconds: int
    frees_at: str | None
    last_at: str | None
    declared: bool


class StandingPage(Struct):
    """Every cooldown of what is declared or was used."""

    items: list[Standing]
    next: str | None
    seq: int


class UsePage(Struct):
    """Some uses and refusals, newest first."""

    items: list[Use]
    next: str | None
    seq: int


class UseQuery(Struct):
    """Which uses."""

    service: Name | None = None
    action: ActionKind | None = None
    cursor: str | None = None
    limit: Limit = 50


class ResetIn(Struct):
    """Which cooldown is given back; left out: all of the service's."""

    action: ActionKind | None = None


class Cleared(Struct):
    """How many uses count no more."""

    service: str
    cleared: Annotated[int, Meta(ge=0)]
