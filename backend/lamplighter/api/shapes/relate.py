"""Two observations, and how they stand to each other."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from lamplighter.api.shapes.kinds import Name
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
    """How the new one stands to the old one, and why; what is not sure is told as new."""

    label: Literal["reinforce", "contradict", "new"]
    sure: bool
    reason: str
