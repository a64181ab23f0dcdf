"""Shapes of runs of the organizer."""

from typing import Literal

from msgspec import Struct

from lamplighter.api.common_shapes import Seq, page_of, public_shape
from lamplighter.api.memory.review_shapes import ReviewOut
from lamplighter.api.memory.shapes import MemoryOut
from lamplighter.domain.organize.run import OrganizerRun


@public_shape(OrganizerRun, counts=("undone_by", int | None))
class OrganizerRunOut(Struct):
    """A run. `act_id` is its act in the journal, null if nothing changed; `counts` by name.

    During a run, `stage` names its stage; a `stage_total` of 0 is unknown.
    """


OrganizerRunPage = page_of(OrganizerRunOut, "A page of runs, newest first.", seq=Seq)


class SampleOut(Struct):
    """A memory that was replaced, with the start of its text."""

    id: int
    observation: str


class SubstituteOut(Struct):
    """A memory, and those that it replaced; `memory` is null if it was deleted.

    `samples` are the first 3 of them with their texts.
    """

    id: int
    what: Literal["compresses", "repeats", "extracted_from"]
    memory: MemoryOut | None
    replaced: list[int]
    samples: list[SampleOut]


class OrganizerDiffOut(OrganizerRunOut):
    """A run with its changes, and the reviews of facts that contradict a memory."""

    replacements: list[SubstituteOut]
    reviews: list[ReviewOut]
    seq: Seq


class OrganizerReportOut(Struct):
    """The expected effect of a run: the counts, and some texts of each kind."""

    counts: dict[str, int]
    examples: dict[str, list[str]]
    seq: Seq


class RunUndoneOut(Struct):
    """The effect of undoing a run: its act, and the number of restored rows."""

    act: int
    changed: int
    seq: Seq
