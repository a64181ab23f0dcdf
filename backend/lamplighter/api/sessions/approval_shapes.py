"""Approvals: what a session wants to do, and what a person says to it."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from lamplighter.api.common_shapes import Limit, Seq, Slot, Use
from lamplighter.api.memory.shapes import Memory
from lamplighter.domain.actions.approval import (
    MAX_ARGUMENT_CHARS,
    MAX_ARGUMENTS,
    MAX_NOTE_CHARS,
    ApprovalState,
)
from lamplighter.domain.services.service import ActionKind

Word = Annotated[str, Meta(max_length=MAX_ARGUMENT_CHARS)]
Argv = Annotated[list[Word], Meta(min_length=1, max_length=MAX_ARGUMENTS)]


class Approval(Struct):
    """One case for a person; `argv` is shown without what is secret in it."""

    id: int
    state: ApprovalState
    service: str
    action: ActionKind
    name: str
    argv: list[str]
    directory: str | None
    edited: bool
    reason: str
    memories: list[int]
    session_id: int
    tier: int
    replaces: int | None
    use_id: int | None
    decided_by: str | None
    decided_at: str | None
    note: str
    created_at: str
    expires_at: str
    version: int


class ApprovalCase(Approval):
    """One case with all that helps to decide it, and what came of it.

    `told` are the memories about the service that the session was told, as they are
    now; `replaced_by` is what a person put in its place.
    """

    told: list[Memory]
    cooldown: Slot
    seconds_left: float
    replaced_by: int | None
    use: Use | None


class ApprovalPage(Struct):
    """Some approvals."""

    items: list[Approval]
    next: str | None
    seq: int


class ApprovalQuery(Struct):
    """Which approvals: those that wait the longest come first, else the newest."""

    state: Literal[
        "open", "approved", "denied", "expired", "used", "replaced", "withdrawn", "all"
    ] = "open"
    session: Seq | None = None
    cursor: str | None = None
    limit: Limit = 50


class DecisionIn(Struct):
    """What a person says; `argv` is what an edit writes instead. The session is told the note."""

    decision: Literal["approve", "deny", "edit"]
    argv: Argv | None = None
    note: Annotated[str, Meta(max_length=MAX_NOTE_CHARS)] = ""


class HaltIn(Struct):
    """Why everything is to stand still."""

    reason: Annotated[str, Meta(max_length=4000)] = ""


class Pulled(Struct):
    """One halt that stands: by whom, why, since when, and what releases it."""

    way: Literal["row", "file"]
    reason: str
    by: str
    at: str
    words: str
    release: str


class Halt(Struct):
    """Whether everything stands still; each halt in `pulled` has to be released."""

    halted: bool
    pulled: list[Pulled]
    seq: int
