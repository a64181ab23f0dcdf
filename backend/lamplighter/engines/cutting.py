"""Lines of a session's file that may end in half a marker: held until the next line tells.

The Claude CLI prints what a model wrote before it says that the answer was cut off.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from lamplighter.domain.sessions import markers
from lamplighter.domain.sessions.transcript import (
    Cut,
    Finished,
    Item,
    Line,
    Text,
    ToolResult,
    ToolUse,
)
from lamplighter.engines import stream

_DECIDES: Final = (Text, ToolUse, ToolResult, Cut, Finished)


@dataclass(slots=True)
class Undecided:
    """The newest lines, from the one that ends within a marker on."""

    _lines: list[Line] = field(default_factory=list)

    def ready(self, lines: Sequence[Line]) -> list[Line]:
        """Return the lines that can be read now; a marker that was cut off is noted on its line."""
        found: list[Line] = []
        for line in lines:
            items = [] if line.problem else stream.parse(line.content)
            if self._lines and not any(isinstance(each, _DECIDES) for each in items):
                self._lines.append(line)
                continue
            found += self._decided(items)
            if _open(items):
                self._lines = [line]
            else:
                found.append(line)
        return found

    def rest(self) -> list[Line]:
        """Return what is still held: the session printed nothing more."""
        found, self._lines = self._lines, []
        return found

    def _decided(self, items: Sequence[Item]) -> list[Line]:
        held = self.rest()
        if held and any(_tells_of_cut(each) for each in items):
            held[0] = replace(held[0], cut=True)
        return held


def _open(items: Sequence[Item]) -> bool:
    """Whether a line ends with own words whose last line holds the beginning of a marker."""
    last = items[-1] if items else None
    return isinstance(last, Text) and markers.ends_within(last.believed)


def _tells_of_cut(item: Item) -> bool:
    return isinstance(item, Cut) or (isinstance(item, Finished) and item.cut)
