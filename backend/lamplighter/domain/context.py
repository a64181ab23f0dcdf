"""What a session is told: its surroundings, then what we remember, within a token budget."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Final

from lamplighter.domain.markers import defused
from lamplighter.domain.memory import GENERAL, Memory, Trust
from lamplighter.domain.text import one_line

CHARS_PER_TOKEN: Final = 4
DEFAULT_BUDGET: Final = 2_000
_LEAST_AROUND: Final = len("- [timing]  (confidence: 0.3)\n")

HEADER: Final = "## Operational Memory ("
BULLET: Final = "- ["

FITS: Final = "within the budget"
TOO_LONG: Final = "does not fit what is left of the budget"
TURNED_OFF: Final = "memories are turned off: the budget is 0"
NO_ROOM: Final = "the budget was used up"


@dataclass(frozen=True, slots=True)
class Placement:
    """Why a memory is in the block or out of it; `position` counts from 0 in reading order.

    `rank` counts from 0 in the order of choice, `left` is what was left of the budget then.
    """

    memory: Memory
    line: str
    why: str
    position: int | None = None
    rank: int = field(default=0, compare=False)
    left: int = field(default=0, compare=False)

    @property
    def included(self) -> bool:
        """Whether the session is told of it."""
        return self.position is not None


@dataclass(frozen=True, slots=True)
class Block:
    """The memory block, byte for byte, with the reason for each memory in or out.

    `total` is how many memories there are to choose among.
    """

    text: str = ""
    tokens: int = 0
    placements: tuple[Placement, ...] = ()
    total: int = field(default=0, compare=False)


def tokens(text: str) -> int:
    """Estimate a text's tokens: a quarter of its characters, rounded up (SPEC-0015)."""
    return ceil(len(text) / CHARS_PER_TOKEN)


@dataclass(slots=True)
class Packing:
    """Fills a block with memories as they are offered, best first (SPEC-0015, Token Budget).

    `total` is how many there are in all. The whole block is at most `budget`
    tokens; what does not fit is skipped. No memory, or a budget of 0: an empty block.
    """

    budget: int
    total: int
    _chosen: list[Placement] = field(default_factory=list)
    _left_out: list[Placement] = field(default_factory=list)
    _services: set[str | None] = field(default_factory=set)
    _body: int = 0

    @property
    def room(self) -> int:
        """How many characters an observation that still fits has at most; below 1 none does."""
        header = len(_header(len(self._chosen) + 1, self.total, self._body))
        return self.budget * CHARS_PER_TOKEN - header - self._body - _LEAST_AROUND

    def offer(self, memory: Memory) -> None:
        """Take a memory if the block with it stays within the budget."""
        line = bullet(memory)
        rank, left = len(self._chosen) + len(self._left_out), self._left
        body = self._body + len(line) + 1
        if memory.service not in self._services:
            body += len(_heading(memory.service))
        if self._fits(len(self._chosen) + 1, body):
            self._body = body
            self._services.add(memory.service)
            self._chosen.append(Placement(memory, line, FITS, rank=rank, left=left))
        else:
            why = self._why_out()
            self._left_out.append(Placement(memory, line, why, rank=rank, left=left))

    def _why_out(self) -> str:
        if self.budget == 0:
            return TURNED_OFF
        return TOO_LONG if self.room > 0 else NO_ROOM

    def block(self) -> Block:
        """Render what was taken."""
        if not self._chosen:
            return Block(placements=tuple(self._left_out), total=self.total)
        ordered = _grouped(self._chosen)
        text = _header(len(ordered), self.total, self._body) + _body(ordered)
        placed = [replace(each, position=position) for position, each in enumerate(ordered)]
        return Block(text, tokens(text), (*placed, *self._left_out), self.total)

    @property
    def _left(self) -> int:
        if not self._chosen:
            return self.budget
        size = len(_header(len(self._chosen), self.total, self._body)) + self._body
        return self.budget - ceil(size / CHARS_PER_TOKEN)

    def _fits(self, count: int, body: int) -> bool:
        size = len(_header(count, self.total, body)) + body
        return ceil(size / CHARS_PER_TOKEN) <= self.budget


def bullet(memory: Memory) -> str:
    """Render one memory as the session reads it: always on one line, never a marker."""
    doubt = ", unverified" if memory.trust is Trust.UNVERIFIED else ""
    said = defused(one_line(memory.observation))
    return f"{BULLET}{memory.category}] {said} (confidence: {round(memory.confidence, 2)}{doubt})"


def _grouped(chosen: Sequence[Placement]) -> list[Placement]:
    best: dict[str | None, float] = {}
    for each in chosen:
        held = best.get(each.memory.service, 0.0)
        best[each.memory.service] = max(held, each.memory.confidence)

    def group(each: Placement) -> tuple[bool, float, str]:
        service = each.memory.service
        return service is None, -best[service], service or ""

    return sorted(chosen, key=group)  # a stable sort: within a group the order of choice stays


def _body(ordered: Sequence[Placement]) -> str:
    lines: list[str] = []
    service: str | None = ""
    for each in ordered:
        if each.memory.service != service:
            service = each.memory.service
            lines.append(_heading(service))
        lines.append(f"{each.line}\n")
    return "".join(lines)


def _heading(service: str | None) -> str:
    return f"\n### {service or GENERAL}\n"


def _header(count: int, total: int, body: int) -> str:
    """Return the header whose token number is that of the whole block, itself included."""
    many = f"{count:,} memories" if count == total else f"{count:,} of {total:,} memories"
    number = ceil(body / CHARS_PER_TOKEN)
    while True:
        header = f"{HEADER}{many}, ~{number:,} tokens)\n"
        needed = ceil((len(header) + body) / CHARS_PER_TOKEN)
        if needed <= number:
            return header
        number = needed  # any number below it would need as much
