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
    """One approval; secrets in `argv` are masked."""

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
    """One approval with the information for the decision, and its outcome.

    `told` lists the memories about the service in the prompt of the session, in their present
    state; `replaced_by` is the approval that replaced this one.
    """

    told: list[Memory]
    cooldown: Slot
    seconds_left: float
    replaced_by: int | None
    use: Use | None


class ApprovalPage(Struct):
    """A page of approvals."""

    items: list[Approval]
    next: str | None
    seq: int


class ApprovalQuery(Struct):
    """Filters for approvals; open ones are sorted oldest first, all others newest first."""

    state: Literal[
        "open", "approved", "denied", "expired", "used", "replaced", "withdrawn", "all"
    ] = "open"
    session: Seq | None = None
    cursor: str | None = None
    limit: Limit = 50


class DecisionIn(Struct):
    """A decision; an edit replaces `argv`. The session receives the note."""

    decision: Literal["approve", "deny", "edit"]
    argv: Argv | None = None
    note: Annotated[str, Meta(max_length=MAX_NOTE_CHARS)] = ""


class HaltIn(Struct):
    """The reason for the halt."""

    reason: Annotated[str, Meta(max_length=4000)] = ""


class Pulled(Struct):
    """One active halt: who set it, why, since when, and what releases it."""

    way: Literal["row", "file"]
    reason: str
    by: str
    at: str
    words: str
    release: str


class Halt(Struct):
    """Whether Lamplighter is halted; each halt in `pulled` has to be released."""

    halted: bool
    pulled: list[Pulled]
    seq: int
