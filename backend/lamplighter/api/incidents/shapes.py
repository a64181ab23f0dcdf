"""Shapes of incidents in requests and responses."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from lamplighter.api.common_shapes import Limit, Name, RowId, Seq, ShortText, public_shape
from lamplighter.api.sessions.shapes import SessionOut
from lamplighter.domain.services.incident import (
    NOTE_CHARS,
    EntryKind,
    Incident,
)


@public_shape(Incident)
class IncidentOut(Struct):
    """An incident. `service` is its root cause as far as known; `outcome` is empty while open.

    `started_at` is its first failing result, `detected_at` the time when it was opened.
    """


class IncidentListOut(Struct):
    """Some incidents, newest first, and the cursor behind them."""

    items: list[IncidentOut]
    next: str | None


class IncidentPage(IncidentListOut):
    """A page of incidents, newest first."""

    seq: Seq


class IncidentQuery(Struct):
    """Filters for incidents."""

    state: Literal["open", "resolved"] | None = None
    service: Name | None = None
    since: ShortText | None = None
    cursor: str | None = None
    limit: Limit = 50


class IncidentMemberOut(Struct):
    """A service of an incident; `failures` counts how often it failed, `detail` quotes evidence."""

    service: str
    joined_at: str
    recovered_at: str | None
    failures: int
    detail: str


class TimelineItemOut(Struct):
    """Something that happened; `ref` is the number of the event, the use or the approval."""

    at: str
    kind: Literal[  # type: ignore[valid-type]
        *(each.value for each in EntryKind),
        "session_started",
        "session_ended",
        "action",
        "approval",
        "event",
    ]
    level: Literal["info", "warning", "critical"]
    service: str | None
    text: str
    session_id: int | None
    ref: int | None


class IncidentMemoryOut(Struct):
    """A memory as a prompt or a session stated it; `confidence` is null after its deletion."""

    id: int
    text: str
    confidence: float | None
    active: bool


class ChangedMemoryOut(IncidentMemoryOut):
    """A memory that the sessions of an incident confirmed or weakened, in its current form."""

    change: Literal["confirmed", "weakened"]


class SameRootOut(Struct):
    """How many incidents had the same root."""

    week: int
    month: int


class IncidentDetailOut(IncidentOut):
    """An incident with all that happened, oldest first."""

    members: list[IncidentMemberOut]
    sessions: list[SessionOut]
    timeline: list[TimelineItemOut]
    memories_used: list[IncidentMemoryOut]
    memories_learned: list[IncidentMemoryOut]
    memories_changed: list[ChangedMemoryOut]
    same_root: SameRootOut
    seq: Seq


class ReplayQuery(Struct):
    """Which memories count: those from before the incident, or with `today` all current ones.

    `without` leaves out a memory, and may be repeated.
    """

    without: Annotated[list[RowId], Meta(max_length=100)] = []
    today: bool = False


class ReplayEvidenceOut(Struct):
    """The memory that states the outcome of an action."""

    action: str
    memory_id: int
    sentence: str


class ReplayDecisionOut(Struct):
    """The first step; `fix` is a known fix, `refused` are actions that are known to fail."""

    begins: Literal["known_fix", "person", "investigation"]
    fix: ReplayEvidenceOut | None
    refused: list[ReplayEvidenceOut]


class ReplayOut(Struct):
    """The decisions on an incident with all memories, and without the omitted ones."""

    incident: IncidentOut
    decision: ReplayDecisionOut
    without: ReplayDecisionOut | None


class IncidentIn(Struct):
    """The changes; `outcome` resolves the incident, `merge_into` makes it part of another.

    `separate` undoes a merge while the other incident is open.
    """

    acknowledged: bool | None = None
    note: Annotated[str, Meta(max_length=NOTE_CHARS)] | None = None
    outcome: Literal["repaired_by_person", "recovered", "unresolved"] | None = None
    merge_into: RowId | None = None
    separate: bool | None = None
