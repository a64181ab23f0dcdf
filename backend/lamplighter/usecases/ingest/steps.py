"""Steps: the lines of a session in small pieces, each of which is ingested exactly once."""

import itertools
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from lamplighter.domain.memory.memory import Candidate
from lamplighter.domain.sessions import markers
from lamplighter.domain.sessions.markers import Marker
from lamplighter.domain.sessions.transcript import (
    Finished,
    Line,
    Text,
    TranscriptItem,
    UnreadableLine,
)
from lamplighter.engines import stream
from lamplighter.usecases.clients import tool_hooks
from lamplighter.usecases.ingest.context import IngestContext, IngestResult

AHEAD: Final = 500
NOT_WHOLE: Final = "An incomplete marker was ignored: "


@dataclass(frozen=True, slots=True)
class IngestStep:
    """A piece of a line: a marker, another item, or a capture of a tool result by a rule.

    `number` counts from 0 in its line, `item` is the index of its item in the line. The last step
    of each line has no content: the line is finished.
    """

    line: Line
    number: int
    item: int
    content: TranscriptItem | Marker | Candidate | None

    @property
    def reached(self) -> tuple[int, int]:
        """The position of the next step: the offset of its line, and its number in that line."""
        if self.content is None:
            return self.line.end, 0
        return self.line.start, self.number + 1


class StepQueue:
    """The steps of some lines in order, without those that were already ingested.

    `reached` is the position of the first step to ingest, like the `reached` of a step.
    `unconfirmed` is the number of steps in a transaction whose commit was not reported, and its
    result.
    """

    def __init__(
        self,
        ingest: IngestContext,
        lines: Sequence[Line],
        *,
        reached: tuple[int, int] | None = None,
    ) -> None:
        self.ingest = ingest
        self.unconfirmed = 0, IngestResult()
        self._reached = reached or (ingest.session.log_offset, ingest.session.log_step)
        self._lines = deque(lines)
        self._open: Iterator[IngestStep] = iter(())
        self._ahead: list[IngestStep] = []

    @property
    def empty(self) -> bool:
        """Whether every step was ingested."""
        return not self._ahead and not self._lines

    async def ahead(self) -> Sequence[IngestStep]:
        """Return the next steps; not all of a long line, which may contain 100,000."""
        while len(self._ahead) < AHEAD and self._lines:
            self._open = await self._steps(self._lines.popleft())
            self._fill()
        return self._ahead

    def drop(self, count: int) -> None:
        """Remove the first steps, which are committed."""
        del self._ahead[:count]
        self._fill()
        self.unconfirmed = 0, IngestResult()

    def _fill(self) -> None:
        self._ahead += itertools.islice(self._open, AHEAD - len(self._ahead))

    async def _steps(self, line: Line) -> Iterator[IngestStep]:
        ingest = self.ingest
        items = _items(line)
        saved = await tool_hooks.find_captures(
            ingest.hooked, [(line, items)], ingest.session, ingest.redact
        )
        offset, step = self._reached
        first = step if line.start == offset else 0
        return itertools.chain(
            itertools.islice(_contents(line, items, saved), first, None),
            (IngestStep(line, -1, 0, None),),
        )


def _items(line: Line) -> list[TranscriptItem]:
    if line.problem:
        return [UnreadableLine(line.problem)]
    items = stream.parse(line.content)
    last = items[-1] if line.cut and items else None
    return [*items[:-1], replace(last, cut=True)] if isinstance(last, Text) else items


def _contents(
    line: Line, items: Sequence[TranscriptItem], saved: Sequence[Candidate]
) -> Iterator[IngestStep]:
    number = itertools.count()
    for item, content in enumerate(items):
        if isinstance(content, Text):
            for marker in markers.read_markers(content.believed):
                yield IngestStep(line, next(number), item, marker)
            if content.cut and content.own and markers.ends_in_marker(content.text):
                problem = UnreadableLine(NOT_WHOLE + content.text.splitlines()[-1])
                yield IngestStep(line, next(number), item, problem)
        else:
            if isinstance(content, Finished) and content.report and not content.is_error:
                for marker in markers.read_report(content.report):
                    yield IngestStep(line, next(number), item, marker)
            yield IngestStep(line, next(number), item, content)
    for candidate in saved:
        yield IngestStep(line, next(number), 0, candidate)
