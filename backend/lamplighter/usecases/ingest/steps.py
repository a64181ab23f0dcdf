"""Steps: the lines of a session as small pieces, of which each is ingested exactly once."""

import itertools
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from lamplighter.domain.memory.memory import Candidate
from lamplighter.domain.sessions import markers
from lamplighter.domain.sessions.markers import Marker
from lamplighter.domain.sessions.transcript import Item, Line, Odd, Text
from lamplighter.engines import stream
from lamplighter.usecases.clients import tool_hooks
from lamplighter.usecases.ingest.context import Ingest

AHEAD: Final = 500
NOT_WHOLE: Final = "A marker that was cut off was left out: "


@dataclass(frozen=True, slots=True)
class Step:
    """One piece of a line: a marker, another entry, or what a rule saves of a tool's answer.

    `number` counts from 0 in its line, `item` says which of the line's entries it
    stands in. The last step of each line has no content: the line is finished.
    """

    line: Line
    number: int
    item: int
    content: Item | Marker | Candidate | None

    @property
    def reached(self) -> tuple[int, int]:
        """Where the next one is: the offset of its line, and its number there."""
        if self.content is None:
            return self.line.end, 0
        return self.line.start, self.number + 1


class Feed:
    """The steps of some lines in their order; those ingested before are left out.

    `reached` is the place of the first step that counts, as a step's own `reached`.
    """

    def __init__(
        self, ingest: Ingest, lines: Sequence[Line], *, reached: tuple[int, int] | None = None
    ) -> None:
        self.ingest = ingest
        self._reached = reached or (ingest.session.log_offset, ingest.session.log_step)
        self._lines = deque(lines)
        self._open: Iterator[Step] = iter(())
        self._ahead: list[Step] = []

    @property
    def empty(self) -> bool:
        """Whether every step was ingested."""
        return not self._ahead and not self._lines

    async def ahead(self) -> Sequence[Step]:
        """Return the next steps, of a long line not all: it may hold a hundred thousand."""
        while len(self._ahead) < AHEAD and self._lines:
            self._open = await self._steps(self._lines.popleft())
            self._fill()
        return self._ahead

    def drop(self, count: int) -> None:
        """Forget the first steps: they were committed."""
        del self._ahead[:count]
        self._fill()

    def _fill(self) -> None:
        self._ahead += itertools.islice(self._open, AHEAD - len(self._ahead))

    async def _steps(self, line: Line) -> Iterator[Step]:
        ingest = self.ingest
        items = _items(line)
        saved = await tool_hooks.caught(
            ingest.hooked, [(line, items)], ingest.session, ingest.redact
        )
        offset, step = self._reached
        first = step if line.start == offset else 0
        return itertools.chain(
            itertools.islice(_contents(line, items, saved), first, None),
            (Step(line, -1, 0, None),),
        )


def _items(line: Line) -> list[Item]:
    if line.problem:
        return [Odd(line.problem)]
    items = stream.parse(line.content)
    last = items[-1] if line.cut and items else None
    return [*items[:-1], replace(last, cut=True)] if isinstance(last, Text) else items


def _contents(line: Line, items: Sequence[Item], saved: Sequence[Candidate]) -> Iterator[Step]:
    number = itertools.count()
    for item, content in enumerate(items):
        if isinstance(content, Text):
            for marker in markers.read(content.believed):
                yield Step(line, next(number), item, marker)
            if content.cut and content.own and markers.ends_within(content.text):
                problem = Odd(NOT_WHOLE + content.text.splitlines()[-1])
                yield Step(line, next(number), item, problem)
        else:
            yield Step(line, next(number), item, content)
    for candidate in saved:
        yield Step(line, next(number), 0, candidate)
