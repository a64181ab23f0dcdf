"""Lines of a session's file that may end in half a marker: held back until the next line.

The Claude CLI prints the model's text before it reports that the answer was cut off.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from lamplighter.domain.sessions import markers
from lamplighter.domain.sessions.transcript import (
    AnswerCut,
    Finished,
    Line,
    Text,
    ToolResult,
    ToolUse,
    TranscriptItem,
)
from lamplighter.engines import stream

_DECIDES: Final = (Text, ToolUse, ToolResult, AnswerCut, Finished)


@dataclass(slots=True)
class PendingLines:
    """The newest lines, from the one that ends within a marker on."""

    _lines: list[Line] = field(default_factory=list)

    def ready(self, lines: Sequence[Line]) -> list[Line]:
        """Return the lines that can be read now; a marker that was cut off is noted on its line."""
        ready_lines: list[Line] = []
        for line in lines:
            items = [] if line.problem else stream.parse(line.content)
            if self._lines and not any(isinstance(each, _DECIDES) for each in items):
                self._lines.append(line)
                continue
            ready_lines += self._decided(items)
            if _ends_in_marker(items):
                self._lines = [line]
            else:
                ready_lines.append(line)
        return ready_lines

    def rest(self) -> list[Line]:
        """Return the lines that are still held back, at the end of the session's output."""
        found, self._lines = self._lines, []
        return found

    def _decided(self, items: Sequence[TranscriptItem]) -> list[Line]:
        held = self.rest()
        if held and any(_shows_cut(each) for each in items):
            held[0] = replace(held[0], cut=True)
        return held


def _ends_in_marker(items: Sequence[TranscriptItem]) -> bool:
    """Whether a line ends with the model's text, and its last line contains a marker's start."""
    last = items[-1] if items else None
    return isinstance(last, Text) and markers.ends_in_marker(last.believed)


def _shows_cut(item: TranscriptItem) -> bool:
    return isinstance(item, AnswerCut) or (isinstance(item, Finished) and item.cut)
