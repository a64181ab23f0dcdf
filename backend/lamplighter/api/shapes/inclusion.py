"""Inclusion: whether the next prompt includes a memory, and what would include it."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from lamplighter.api.shapes.kinds import Words
from lamplighter.domain.inclusion import MOST_BUDGET


class InclusionQuery(Struct):
    """Which prompt is asked about: the next one, unless something is to be otherwise."""

    services: Words | None = None
    budget: Annotated[int, Meta(ge=0, le=MOST_BUDGET)] | None = None
    without: Annotated[str, Meta(max_length=4000)] | None = None
    as_of: Words | None = None


class Way(Struct):
    """One way to include a memory: all that is in it is done together.

    Of the `categories` any serves, `topic_key` is taken away, `service` is what a session would
    be about.
    """

    words: str
    categories: list[str] | UnsetType = UNSET
    project: str | UnsetType = UNSET
    scope: str | UnsetType = UNSET
    topic_key: UnsetType | None = UNSET
    active: bool | UnsetType = UNSET
    confidence: float | UnsetType = UNSET
    budget: int | UnsetType = UNSET
    service: str | UnsetType = UNSET


class Inclusion(Struct):
    """Whether a prompt includes a memory, why, and what would include it.

    `rank` counts from 0 in the order of choice among `total` (null: prompts do not choose it),
    `position` from 0 among the `lines` of the prompt.
    """

    id: int
    version: int
    included: bool
    reason: Literal[
        "included", "knowledge", "confidence", "inactive", "without", "off", "length", "budget"
    ]
    words: str
    rank: int | None
    position: int | None
    line: str
    tokens: int
    lines: int
    total: int
    budget: int
    ways: list[Way]
    seq: int
    as_of: str | UnsetType = UNSET
