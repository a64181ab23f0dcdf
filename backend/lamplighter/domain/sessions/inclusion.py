"""Inclusion: whether a prompt includes a memory, the reason, and the ways to include it.

This module decides nothing: a probe follows the packing of the prompt and tests, at each possible
position of the memory, whether the memory fits.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from lamplighter.domain.memory.memory import (
    ACTIVE_THRESHOLD,
    NO_KEY,
    OPERATIONAL,
    OPERATIONS,
    PROJECT,
    Category,
    Edit,
    InactiveReason,
    Memory,
    apply_edit,
)
from lamplighter.domain.sessions.context import TOO_LONG, TURNED_OFF, BlockPacker

MOST_BUDGET: Final = 1_000_000
NO_EDIT: Final = Edit()
_CENTS: Final = 100
_CHANGED: Final = ("project", "scope", "active", "confidence")
_LONGEST: Final = max(OPERATIONAL, key=len)


class InclusionReason(StrEnum):
    """The reason why a memory is in a prompt or not."""

    INCLUDED = "included"
    KNOWLEDGE = "knowledge"
    CONFIDENCE = "confidence"
    INACTIVE = "inactive"
    WITHOUT = "without"
    OFF = "off"
    LENGTH = "length"
    BUDGET = "budget"


INACTIVE: Final = {
    InactiveReason.SUPERSEDED: "Superseded by another memory.",
    InactiveReason.ARCHIVED: "Inactive: it was archived.",
    InactiveReason.EXPIRED: "Inactive: it expired.",
    InactiveReason.DELETED: "Inactive: it was deleted.",
    InactiveReason.OPERATOR: "Inactive: a person deactivated it.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class InclusionOption:
    """One way to include a memory: all of its changes are made together.

    If the edit has a category, any operational one works; `service` is the service that a session
    must be about.
    """

    edit: Edit = NO_EDIT
    budget: int | None = None
    service: str | None = None

    @property
    def description(self) -> str:
        """Describe the option to a person."""
        edit, sure = self.edit, self.edit.confidence or 0.0
        parts = {
            f"an operational category ({', '.join(OPERATIONAL)})": edit.category,
            f"the project {edit.project}": edit.project,
            f"the scope {edit.scope}": edit.scope,
            "no topic key": edit.topic_key,
            "activating it": edit.active,
            f"a confidence of {sure:.2f}{' or more' if sure < 1.0 else ''}": edit.confidence,
            f"a budget of {self.budget or 0:,} tokens or more": self.budget,
            f"a session about {self.service}": self.service,
        }
        return " and ".join(words for words, given in parts.items() if given is not None)

    def as_json(self) -> dict[str, Any]:
        """Return the changes of the option as JSON, with their description."""
        done = {
            "words": self.description,
            "categories": list(OPERATIONAL) if self.edit.category else None,
            **{name: getattr(self.edit, name) for name in _CHANGED},
            "budget": self.budget,
            "service": self.service,
        }
        found = {name: each for name, each in done.items() if each is not None}
        return {**found, "topic_key": None} if self.edit.topic_key is not None else found


@dataclass(slots=True)
class InclusionProbe:
    """Follows the packing of a prompt for one memory.

    `memory` is the memory with the changes that make it a candidate, `required` those changes to
    `current`, the stored memory. `confidence` is the lowest sufficient one: any higher one is
    sufficient too.
    """

    current: Memory
    now: datetime
    memory: Memory = field(init=False)
    required: Edit = field(init=False)
    why: str = ""
    fits: bool | None = None
    confidence: float | None = None
    _levels: list[Memory] = field(init=False)

    def __post_init__(self) -> None:
        self.required = _requirement(self.current, self.now)
        self.memory = apply_edit(self.current, self.required, now=self.now)
        least = round(self.memory.confidence * _CENTS) + (self.required.confidence is None)
        self._levels = [
            apply_edit(self.memory, Edit(confidence=cents / _CENTS), now=self.now)
            for cents in range(least, _CENTS + 1)
        ]

    @property
    def eligible(self) -> bool:
        """Whether the stored memory is a candidate for prompts without changes."""
        return self.required == NO_EDIT

    def test(self, packing: BlockPacker, other: Memory | None = None) -> None:
        """Test the positions that the memory could have before `other` is offered; None: the rest.

        The next memory is offered after the test.
        """
        while self._levels and (other is None or _precedes(self._levels[-1], other)):
            level = self._levels.pop()
            if packing.fits(level):
                self.confidence = level.confidence
            else:
                self._levels.clear()
        here = other is None or other.id == self.memory.id or _precedes(self.memory, other)
        if self.fits is None and here:
            self.fits = packing.fits(self.memory)
            self.why = "" if self.fits else packing.why_out


@dataclass(frozen=True, slots=True, kw_only=True)
class Inclusion:
    """Whether a prompt includes a memory.

    `rank` counts from 0 by priority, of `total`; None for a memory that is no candidate for
    prompts. `position` and `line` are those in the prompt.
    """

    memory: Memory
    reason: InclusionReason
    explanation: str
    budget: int
    total: int
    rank: int | None = None
    position: int | None = None
    line: str = ""
    tokens: int = 0
    included: int = 0
    ways: tuple[InclusionOption, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the inclusion as JSON."""
        return {
            "id": self.memory.id,
            "version": self.memory.version,
            "included": self.reason is InclusionReason.INCLUDED,
            "reason": self.reason.value,
            "words": self.explanation,
            "rank": self.rank,
            "position": self.position,
            "line": self.line,
            "tokens": self.tokens,
            "lines": self.included,
            "total": self.total,
            "budget": self.budget,
            "ways": [way.as_json() for way in self.ways],
        }


def find_reason(prospect: InclusionProbe) -> tuple[InclusionReason, str]:
    """Return why a memory is in the prompt or not, with an explanation that omits its position."""
    memory = prospect.current
    if prospect.required.category is not None:
        return InclusionReason.KNOWLEDGE, (
            f"Knowledge ({memory.category}) is included in the context of clients, not in the "
            "prompts of Lamplighter's own sessions."
        )
    if prospect.required.confidence is not None:
        least = f"{ACTIVE_THRESHOLD:.2f}"
        return (
            InclusionReason.CONFIDENCE,
            f"Its confidence of {memory.confidence:.2f} is below {least}.",
        )
    if prospect.required.active:
        return InclusionReason.INACTIVE, INACTIVE.get(memory.inactive_reason, "Inactive.")  # type: ignore[arg-type]
    if prospect.fits:
        return InclusionReason.INCLUDED, "Within the budget."
    whys: Mapping[str, tuple[InclusionReason, str]] = {
        TURNED_OFF: (InclusionReason.OFF, "Memories are off: the budget is 0."),
        TOO_LONG: (InclusionReason.LENGTH, "Its line is longer than the rest of the budget."),
    }
    return whys.get(prospect.why, (InclusionReason.BUDGET, "Below the budget line."))


def _requirement(memory: Memory, now: datetime) -> Edit:
    """Return the smallest edit that makes a memory a candidate for prompts."""
    edit = Edit(confidence=None if memory.confidence >= ACTIVE_THRESHOLD else ACTIVE_THRESHOLD)
    if memory.category not in OPERATIONAL:
        edit = replace(
            edit,
            category=Category(_LONGEST),
            project=None if memory.project == OPERATIONS else OPERATIONS,
            scope=None if memory.scope == PROJECT else PROJECT,
            topic_key=None if memory.topic_key is None else NO_KEY,
        )
    return edit if apply_edit(memory, edit, now=now).active else replace(edit, active=True)


def _precedes(one: Memory, other: Memory) -> bool:
    """Whether a memory has priority over another: higher confidence first, then the newer one."""
    first, second = (
        (-each.confidence, -each.updated_at.timestamp(), each.id) for each in (one, other)
    )
    return first < second
