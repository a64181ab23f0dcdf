"""Approvals: the requested action and the decision of a person."""

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from lamplighter.api.common_shapes import (
    PageQuery,
    Seq,
    SlotOut,
    UseOut,
    page_of,
    public_shape,
)
from lamplighter.api.memory.shapes import MemoryOut
from lamplighter.domain.actions.approval import (
    MAX_ARGUMENT_CHARS,
    MAX_ARGUMENTS,
    MAX_NOTE_CHARS,
    Approval,
)

Argument = Annotated[str, Meta(max_length=MAX_ARGUMENT_CHARS)]
Argv = Annotated[list[Argument], Meta(min_length=1, max_length=MAX_ARGUMENTS)]


@public_shape(Approval)
class ApprovalOut(Struct):
    """One approval; secrets in `argv` are masked."""


class ApprovalCaseOut(ApprovalOut):
    """One approval with the information for the decision, and its outcome.

    `included` lists the memories about the service in the prompt of the session, in their present
    state; `replaced_by` is the approval that replaced this one.
    """

    included: list[MemoryOut] = field(name="told")
    cooldown: SlotOut
    seconds_left: float
    replaced_by: int | None
    use: UseOut | None


ApprovalPage = page_of(ApprovalOut, "A page of approvals.")


class ApprovalQuery(PageQuery):
    """Filters for approvals; open ones are sorted oldest first, all others newest first."""

    state: Literal[
        "open", "approved", "denied", "expired", "used", "replaced", "withdrawn", "all"
    ] = "open"
    session: Seq | None = None


class DecisionIn(Struct):
    """A decision; an edit replaces `argv`. The session receives the note."""

    decision: Literal["approve", "deny", "edit"]
    argv: Argv | None = None
    note: Annotated[str, Meta(max_length=MAX_NOTE_CHARS)] = ""


class HaltIn(Struct):
    """The reason for the halt."""

    reason: Annotated[str, Meta(max_length=4000)] = ""


class ActiveHaltOut(Struct):
    """One active halt: who set it, why, since when, and what releases it."""

    way: Literal["row", "file"]
    reason: str
    by: str
    at: str
    words: str
    release: str


class HaltOut(Struct):
    """Whether Lamplighter is halted; each halt in `pulled` has to be released."""

    halted: bool
    pulled: list[ActiveHaltOut]
    seq: int
