"""The outcomes of a session's markers, and the results of its checks."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from lamplighter.domain.fields import Field
from lamplighter.domain.sessions.markers import MarkerKind, MarkerReading


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkerResult:
    """One processed marker.

    `offset` is the byte at which its line begins in the session's file, `item` the index of the
    entry in that line, `line` the line within the entry.
    """

    id: int
    session_id: int
    offset: int
    item: Annotated[int, Field(json="index")]
    line: int
    what: MarkerKind
    state: MarkerReading
    outcome: str
    reason: str
    text: str
    service: str | None
    category: str | None
    memory_id: int | None
    event_id: int | None
    created_at: datetime
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """The result of one check in one round; `latency_ms` is of the last attempt.

    `warned` if the check passed with a warning: slow, after a retry, near a threshold. `answered`
    is whether the service answered at all; None if the check cannot tell.
    """

    service: str
    name: Annotated[str, Field(json="check")]
    kind: str
    ok: bool
    warned: bool = False
    status: int | None = None
    latency_ms: float | None = None
    attempts: int = 1
    flapped: bool = False
    detail: str = ""
    at: datetime | None = None
    session_id: Annotated[int | None, Field(public=False)] = None
    answered: Annotated[bool | None, Field(public=False, stored=False)] = None
