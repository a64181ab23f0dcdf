"""Verification: outcomes, attached checks and counts."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from lamplighter.api.common_shapes import Name, PageQuery, RowId, public_shape
from lamplighter.domain.verify.attached import COMMAND_CHARS, MemoryCheck

State = Literal["passed", "failed", "partial", "untested"]
Command = Annotated[str, Meta(max_length=COMMAND_CHARS, pattern=r"^[^\x00\n\r]*$")]
Cadence = Annotated[float, Meta(ge=300, le=366 * 86_400)]
Ids = Annotated[list[RowId], Meta(max_length=200)]


class EvidenceItemOut(Struct):
    """A claim of a text, the statement of the source about it, and the evidence."""

    claim: str
    state: Literal["confirmed", "refuted", "unknown"]
    source: str
    detail: str


@public_shape(MemoryCheck)
class MemoryCheckOut(Struct):
    """A check attached to a memory; `cadence` in seconds."""


class OutcomeOut(Struct):
    """The last outcome for a memory; `mark` is the reason to verify it."""

    memory_id: int
    state: State
    version: int
    evidence: list[EvidenceItemOut]
    untested: list[str]
    checked_at: str | None
    marked_at: str | None
    mark: str


class MemoryVerificationOut(Struct):
    """When a memory was verified, its last outcome (null: not tested yet), and its checks.

    `reviews` are the open ones of its failed verifications.
    """

    verified_at: str | None
    outcome: OutcomeOut | None
    checks: list[MemoryCheckOut]
    reviews: list[int]


class VerificationResultOut(Struct):
    """The current outcome of a test; `skipped` is the reason if nothing was tested."""

    memory_id: int
    observation: str
    state: State
    changed: bool
    skipped: str
    evidence: list[EvidenceItemOut]
    untested: list[str]
    reviews: list[int]
    verified_at: str | None
    confidence: float


class VerificationRunOut(Struct):
    """The outcomes of one run."""

    results: list[VerificationResultOut]


class VerificationOverviewOut(Struct):
    """Counts of active memories, and stored outcomes by number; `next` is null at the end."""

    counts: dict[str, int]
    items: list[OutcomeOut]
    next: str | None
    seq: int


class OutcomeQuery(PageQuery):
    """Filters for outcomes."""

    state: State | None = None


class VerifyIn(Struct):
    """Which memories to verify; none: the next 20 that are due. `dry_run` stores nothing."""

    ids: Ids = []
    dry_run: bool = False


class MemoryCheckIn(Struct):
    """A check of services.yaml (service and check), or a command that only reads."""

    service: Name = ""
    check: Name = ""
    command: Command = ""
    cadence: Cadence = 86_400.0
