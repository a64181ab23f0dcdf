r"""Markers: what an agent writes in its own text for us to keep.

The forms are SPEC-0015's and CONFORMANCE's, read line by line: the spec's `\s*`
would otherwise cross a line end and take the next line for an observation.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from lamplighter.domain.memory import OPERATIONAL

MEMORY: Final = re.compile(
    r"\[MEMORY:(timing|dependency|behavior|remediation|maintenance)(?::([a-zA-Z0-9_-]+))?\]\s*(.+)"
)
EVENT: Final = re.compile(r"\[EVENT:([a-zA-Z0-9_-]+)(?::([a-zA-Z0-9_-]+))?\]\s*(.+)")
COOLDOWN: Final = re.compile(
    r"\[COOLDOWN:(restart|redeployment):([a-zA-Z0-9_-]+)\]\s*(success|failure)\s*[—–-]\s*(.+)"
)
ESCALATE: Final = re.compile(r"\[ESCALATE:([a-zA-Z0-9_-]+)\]\s*(.+)")

_START: Final = re.compile(r"\[(MEMORY|EVENT|COOLDOWN|ESCALATE):")
_FENCE: Final = re.compile(r"^\s*(?:[-*+]\s+|\d+[.)]\s+|>\s*)*(`{3,}|~{3,})")
_CODE_SPAN: Final = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_EMPHASIS: Final = re.compile(r"(\*{1,3}|_{1,3})$")


class What(StrEnum):
    """Which kind of marker it is."""

    MEMORY = "memory"
    EVENT = "event"
    COOLDOWN = "cooldown"
    ESCALATE = "escalate"


class Reading(StrEnum):
    """What became of the words: taken, left alone on purpose, or not understood."""

    TAKEN = "taken"
    IGNORED = "ignored"
    REFUSED = "refused"


IN_CODE: Final = "in code"


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """One marker as it was written.

    `line` counts from 0 in its text block, `text` is the marker's own part of
    that line. `category` is a memory's category, an event's level word, or a
    cooldown's action; `body` is what it says; `outcome` a cooldown's success or
    failure. `reason` tells why it was ignored or refused.
    """

    what: What
    reading: Reading
    line: int
    text: str
    category: str | None = None
    service: str | None = None
    body: str = ""
    outcome: str | None = None
    reason: str = ""


def read(text: str) -> Iterator[Marker]:
    """Yield the markers of one assistant text block, in reading order."""
    fence = ""
    for number, line in enumerate(re.split(r"\r\n|\r|\n", text)):
        opening = _FENCE.match(line)
        if opening and _toggles(fence, opening[1]):
            fence = "" if fence else opening[1]
        elif "[" in line:
            yield from _in_line(number, line, fenced=bool(fence))


def again(text: str) -> Marker | None:
    """Read one marker's own text as if it had not stood in code."""
    found = next(_in_line(0, text.strip().strip("`"), fenced=False), None)
    return found if found and found.reading is Reading.TAKEN else None


def _toggles(fence: str, mark: str) -> bool:
    return not fence or (mark[0] == fence[0] and len(mark) >= len(fence))


def _in_line(number: int, line: str, *, fenced: bool) -> Iterator[Marker]:
    code = [found.span() for found in _CODE_SPAN.finditer(line)]
    starts = [found.start() for found in _START.finditer(line)]
    inside = {at for at in starts if fenced or any(a <= at < b for a, b in code)}
    plain = [at for at in starts if at not in inside]
    for at in starts:
        if at in inside:
            end = next((b for a, b in code if a <= at < b), len(line))
            yield _ignored(number, line[at:end])
        else:
            end = next((later for later in plain if later > at), len(line))
            yield _marker(number, _trimmed(line[at:end], before=line[:at]))


def _trimmed(segment: str, *, before: str) -> str:
    """Drop the closing half of emphasis that was opened before the marker."""
    segment = segment.strip()
    closing = _EMPHASIS.search(segment)
    if closing and before.rstrip().endswith(closing[1]):
        segment = segment[: closing.start()].rstrip()
    return segment


def _ignored(number: int, segment: str) -> Marker:
    text = segment.strip().strip("`")
    marker = _marker(number, text)
    return Marker(
        what=marker.what,
        reading=Reading.IGNORED,
        line=number,
        text=text,
        category=marker.category,
        service=marker.service,
        body=marker.body,
        outcome=marker.outcome,
        reason=IN_CODE,
    )


def _marker(number: int, text: str) -> Marker:
    start = _START.match(text)
    what = What(start[1].lower()) if start else What.MEMORY
    category, service, outcome, body = _parts(what, text)
    if not body:
        return Marker(
            what=what, reading=Reading.REFUSED, line=number, text=text, reason=_why_not(what, text)
        )
    return Marker(
        what=what,
        reading=Reading.TAKEN,
        line=number,
        text=text,
        category=category,
        service=service,
        outcome=outcome,
        body=body,
    )


def _parts(what: What, text: str) -> tuple[str | None, str | None, str | None, str]:
    match what:
        case What.MEMORY if found := MEMORY.match(text):
            return found[1], found[2], None, found[3].strip()
        case What.EVENT if found := EVENT.match(text):
            return found[1], found[2], None, found[3].strip()
        case What.COOLDOWN if found := COOLDOWN.match(text):
            return found[1], found[2], found[3], found[4].strip()
        case What.ESCALATE if found := ESCALATE.match(text):
            return None, found[1], None, found[2].strip()
    return None, None, None, ""


def _why_not(what: What, text: str) -> str:
    inside = text[1:].partition("]")[0]
    if "]" not in text:
        return "no closing bracket"
    parts = inside.split(":")[1:]
    if what is What.MEMORY and parts[0] not in OPERATIONAL:
        return f"unknown category {parts[0]!r}; it is one of {', '.join(OPERATIONAL)}"
    name = parts[-1] if what is What.ESCALATE or len(parts) > 1 else ""
    if name and not re.fullmatch(r"[a-zA-Z0-9_-]+", name):
        return f"{name!r} is not a service name: letters, digits, - and _ only"
    if not text.partition("]")[2].strip():
        return "nothing is said after it"
    return f"not in the form of [{what.upper()}:…]"
