"""Two observations, and how they stand to each other."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from lamplighter.api.shapes.kinds import Name
from lamplighter.api.shapes.memories import Memory
from lamplighter.domain.memory import Category

Said = Annotated[str, Meta(min_length=1)]


class RelateIn(Struct):
    """What is held and what is said now, both of one service and category.

    `id` is the caller's own mark; nothing is done with it.
    """

    old: Said
    new: Said
    service: Name | None = None
    category: Category | None = None
    id: int | str | None = None


class Related(Struct):
    """How the new observation relates to the old one, and why; unsure is reported as new.

    `p` is the share of labelled pairs with such a verdict that were judged rightly.
    """

    label: Literal["reinforce", "contradict", "new"]
    sure: bool
    p: Annotated[float, Meta(ge=0, le=1)]
    reason: str


class SimilarIn(Struct):
    """What somebody is typing; `without` is the memory whose text it is."""

    category: Category
    observation: str
    service: str | None = None
    without: Annotated[int, Meta(ge=1, le=2**63 - 1)] | None = None


class Like(Related):
    """How what is typed stands to a memory that we hold."""

    memory: Memory


class Similar(Struct):
    """At most five memories: those that say the same, then those that do not agree."""

    items: list[Like]
