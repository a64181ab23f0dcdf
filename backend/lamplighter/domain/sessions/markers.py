r"""Markers: structured lines in an agent's text that Lamplighter stores.

The forms are SPEC-0015's and CONFORMANCE's, read line by line: the spec's `\s*` would otherwise
cross a line end and read the next line as an observation.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from operator import itemgetter
from typing import Final

from lamplighter.domain.memory.memory import OPERATIONAL
from lamplighter.domain.text import MARKER_START, shorten

MEMORY: Final = re.compile(
    r"\[MEMORY:(timing|dependency|behavior|remediation|maintenance)(?::([a-zA-Z0-9_-]+))?\]\s*(.+)"
)
EVENT: Final = re.compile(r"\[EVENT:([a-zA-Z0-9_-]+)(?::([a-zA-Z0-9_-]+))?\]\s*(.+)")
COOLDOWN: Final = re.compile(
    r"\[COOLDOWN:(restart|redeployment):([a-zA-Z0-9_-]+)\]\s*(success|failure)\s*[—–-]\s*(.+)"
)
ESCALATE: Final = re.compile(r"\[ESCALATE:([a-zA-Z0-9_-]+)\]\s*(.+)")

_FENCE: Final = re.compile(
    r"^\s*(?:[-*+]\s+|\d{1,9}[.)]\s+|>\s*)*(`{3,}(?=[^`]*$)|~{3,})\s*(.*)$", re.DOTALL
)
_TICKS: Final = re.compile(r"`+")
_OPENED: Final = re.compile(r"(\*{1,3}|_{1,3})\s*$")
_OPENED_CHARS: Final = 8  # maximum distance of emphasis before a marker
_NAMED_CHARS: Final = 60
_QUOTED_LINE: Final = re.compile(r"\s*(?:(?:[-*+]|\d{1,9}[.)])\s+)*>")
_OPENING: Final = re.compile(r"""[“„«‘]|(?<!\w)["'](?=\S)""")
_CLOSING: Final = re.compile(r"""[”“»’](?!\w)|(?<=\S)["'](?!\w)""")
_QUOTES: Final = re.compile("[\"'“”„«»‘’]")
_OPENED_BY: Final = {'"': '"', "'": "'", "”": "“„", "“": "„", "»": "«", "’": "‘"}


class MarkerKind(StrEnum):
    """The kind of a marker."""

    MEMORY = "memory"
    EVENT = "event"
    COOLDOWN = "cooldown"
    ESCALATE = "escalate"


class MarkerReading(StrEnum):
    """The handling of a marker: accepted, ignored on purpose, or invalid."""

    TAKEN = "taken"
    IGNORED = "ignored"
    REFUSED = "refused"


IN_CODE: Final = "in code"
QUOTED: Final = "quoted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """One marker as it was written.

    `line` counts from 0 in its text block, `text` is the marker's part of that line. `category` is
    a memory's category, an event's level word, or a cooldown's action; `body` is its text;
    `outcome` a cooldown's success or failure. `reason` is why the marker was ignored or refused.
    """

    what: MarkerKind
    reading: MarkerReading
    line: int
    text: str
    category: str | None = None
    service: str | None = None
    body: str = ""
    outcome: str | None = None
    reason: str = ""


def ends_in_marker(text: str) -> bool:
    """Whether a text ends in a line with a marker, which is incomplete in a truncated text."""
    return MARKER_START.search(text.rpartition("\n")[2]) is not None


def read_markers(text: str) -> Iterator[Marker]:
    """Yield the markers of one assistant text block, in reading order."""
    fence = ""
    for number, line in enumerate(re.split(r"\r\n|\r|\n", text)):
        mark = _FENCE.match(line)
        toggles = mark is not None and _toggles(fence, mark[1], mark[2])
        if "[" in line:
            yield from _read_line(number, line, fenced=bool(fence) or toggles)
        if mark is not None and toggles:
            fence = "" if fence else mark[1]


def reread_marker(text: str) -> Marker | None:
    """Read the text of a single marker, ignoring that it was in code or quoted."""
    found = next(_read_line(0, text.strip().strip("`"), fenced=False), None)
    return found if found and found.reading is MarkerReading.TAKEN else None


def _toggles(fence: str, mark: str, behind: str) -> bool:
    return not fence or (mark[0] == fence[0] and len(mark) >= len(fence) and not behind)


def _read_line(number: int, line: str, *, fenced: bool) -> Iterator[Marker]:
    starts = [found.start() for found in MARKER_START.finditer(line)]
    if not starts:
        return
    code = [(0, len(line))] if fenced else list(_code_spans(line))
    quotations, rest = _quotations(line), len(line) if _QUOTED_LINE.match(line) else None
    in_code = {at: _end_within(code, at) for at in starts}
    quoted = {at: _end_within(quotations, at) or rest for at in starts}
    boundaries = [*(at for at in starts if in_code[at] is quoted[at] is None), len(line)]
    for at, following in pairwise([*starts, len(line)]):
        before = line[max(0, at - _OPENED_CHARS) : at]
        if (end := in_code[at]) is not None:
            yield _ignored_marker(
                number, line[at : min(end, following)].strip().strip("`"), IN_CODE
            )
        elif (end := quoted[at]) is not None:
            segment = _trim_emphasis(line[at : min(end, following)], before=before)
            yield _ignored_marker(number, segment, QUOTED)
        else:
            segment = line[at : boundaries[bisect_right(boundaries, at)]]
            yield _build_marker(number, _trim_emphasis(segment, before=before))


def _code_spans(line: str) -> Iterator[tuple[int, int]]:
    """Yield the positions of code: a run of backticks ends with the next run of its length."""
    runs = [found.span() for found in _TICKS.finditer(line)]
    following: dict[int, int] = {}
    closing: list[int | None] = [None] * len(runs)
    for at in range(len(runs) - 1, -1, -1):
        size = runs[at][1] - runs[at][0]
        closing[at], following[size] = following.get(size), at
    at = 0
    while at < len(runs):
        close = closing[at]
        if close is not None:
            yield runs[at][0], runs[close][1]
        at = at + 1 if close is None else close + 1


def _quotations(line: str) -> list[tuple[int, int]]:
    """Return the positions of quotations, in order; one quotation may contain others."""
    spans: list[tuple[int, int]] = []
    for begin, end in sorted(_between_quotes(line)):
        if spans and begin < spans[-1][1]:
            spans[-1] = spans[-1][0], max(end, spans[-1][1])
        else:
            spans.append((begin, end))
    return spans


def _between_quotes(line: str) -> Iterator[tuple[int, int]]:
    """Yield the positions between two quotation marks; an apostrophe is not one."""
    opened: dict[str, int] = {}
    for found in _QUOTES.finditer(line):
        mark, at = found[0], found.start()
        opener = next((each for each in _OPENED_BY.get(mark, "") if each in opened), "")
        if opener and _CLOSING.match(line, at):
            yield opened.pop(opener), at
        elif _OPENING.match(line, at):
            opened.setdefault(mark, at)


def _end_within(spans: list[tuple[int, int]], at: int) -> int | None:
    """Return the end of the span that contains a position; None if there is none."""
    place = bisect_right(spans, at, key=itemgetter(0)) - 1
    return spans[place][1] if place >= 0 and at < spans[place][1] else None


def _trim_emphasis(segment: str, *, before: str) -> str:
    """Remove the closing half of emphasis that was opened before the marker."""
    segment = segment.strip()
    opened = _OPENED.search(before)
    if opened is None:
        return segment
    tag, bracket, text = segment.partition("]")
    text = (
        text.removeprefix(opened[1])
        if text.startswith(opened[1])
        else _close_emphasis(text, opened[1])
    )
    return tag + bracket + text


def _close_emphasis(text: str, emphasis: str) -> str:
    bare = text.removesuffix(emphasis)
    return text if bare.endswith(emphasis[0]) else bare.rstrip()


def _ignored_marker(number: int, text: str, reason: str) -> Marker:
    return replace(_build_marker(number, text), reading=MarkerReading.IGNORED, reason=reason)


def _build_marker(number: int, text: str) -> Marker:
    start = MARKER_START.match(text)
    what = MarkerKind(start[1].lower()) if start else MarkerKind.MEMORY
    category, service, outcome, body = _marker_parts(what, text)
    if not body:
        return Marker(
            what=what,
            reading=MarkerReading.REFUSED,
            line=number,
            text=text,
            reason=_invalid_reason(what, text),
        )
    return Marker(
        what=what,
        reading=MarkerReading.TAKEN,
        line=number,
        text=text,
        category=category,
        service=service,
        outcome=outcome,
        body=body,
    )


def _marker_parts(what: MarkerKind, text: str) -> tuple[str | None, str | None, str | None, str]:
    match what:
        case MarkerKind.MEMORY if match := MEMORY.match(text):
            return match[1], match[2], None, match[3].strip()
        case MarkerKind.EVENT if match := EVENT.match(text):
            return match[1], match[2], None, match[3].strip()
        case MarkerKind.COOLDOWN if match := COOLDOWN.match(text):
            return match[1], match[2], match[3], match[4].strip()
        case MarkerKind.ESCALATE if match := ESCALATE.match(text):
            return None, match[1], None, match[2].strip()
    return None, None, None, ""


def _invalid_reason(what: MarkerKind, text: str) -> str:
    inside = text[1:].partition("]")[0]
    if "]" not in text:
        return "no closing bracket"
    parts = inside.split(":")[1:]
    if what is MarkerKind.MEMORY and parts[0] not in OPERATIONAL:
        word = shorten(parts[0], _NAMED_CHARS)
        return f"unknown category {word!r}; it is one of {', '.join(OPERATIONAL)}"
    name = parts[-1] if what is MarkerKind.ESCALATE or len(parts) > 1 else ""
    if name and not re.fullmatch(r"[a-zA-Z0-9_-]+", name):
        word = shorten(name, _NAMED_CHARS)
        return f"{word!r} is not a service name: letters, digits, - and _ only"
    if not text.partition("]")[2].strip():
        return "no text after the marker"
    return f"not in the form of [{what.upper()}:…]"
