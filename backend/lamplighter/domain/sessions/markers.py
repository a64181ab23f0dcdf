r"""Markers: structured lines in an agent's text that Lamplighter stores.

The forms are SPEC-0015's and CONFORMANCE's, read line by line: the spec's `\s*` would otherwise
cross a line end and read the next line as an observation.
"""

import itertools
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from itertools import pairwise
from operator import itemgetter
from typing import Annotated, Any, Final

from lamplighter.domain.fields import Field
from lamplighter.domain.memory.memory import OPERATIONAL
from lamplighter.domain.text import MARKER_START, one_line, shorten

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

_NAME: Final = "[a-zA-Z0-9_-]+"
MEMORY: Final = re.compile(
    r"\[MEMORY:(timing|dependency|behavior|remediation|maintenance)(?::([a-zA-Z0-9_-]+))?\]\s*(.+)"
)
_EVENT: Final = re.compile(rf"\[EVENT:({_NAME})(?::({_NAME}))?\]\s*(.+)")
_COOLDOWN: Final = re.compile(
    rf"\[COOLDOWN:(restart|redeployment):({_NAME})\]\s*(success|failure)\s*[—–-]\s*(.+)"
)
_ESCALATE: Final = re.compile(rf"\[ESCALATE:({_NAME})\]\s*(.+)")
_FORMS: Final = {
    MarkerKind.MEMORY: (MEMORY, ("category", "service", "body")),
    MarkerKind.EVENT: (_EVENT, ("category", "service", "body")),
    MarkerKind.COOLDOWN: (_COOLDOWN, ("category", "service", "outcome", "body")),
    MarkerKind.ESCALATE: (_ESCALATE, ("service", "body")),
}
"""The form of each kind of marker (SPEC-0015 gives that of memories), and what its groups are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """One marker as it was written.

    `line` counts from 0 in its text block, `text` is the marker's part of that line. `category` is
    a memory's category, an event's level word, or a cooldown's action; `body` is its text;
    `outcome` a cooldown's success or failure. `reason` is why the marker was ignored or refused.
    `closing` is whether it is an entry of the closing report, which only adds what is new.
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
    closing: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkerResult:
    """One processed marker.

    `offset` is the byte at which its line begins in the session's file, `item` the index of the
    entry in that line, `line` the line within the entry.
    """

    id: int
    session_id: int
    offset: int
    item: Annotated[int, Field(json="index")]
    line: int
    what: MarkerKind
    state: MarkerReading
    outcome: str
    reason: str
    text: str
    service: str | None
    category: str | None
    memory_id: int | None
    event_id: int | None
    created_at: datetime
    version: int = 1


def ends_in_marker(text: str) -> bool:
    """Whether a text ends in a line with a marker, which is incomplete in a truncated text."""
    return MARKER_START.search(text.rpartition("\n")[2]) is not None


def read_markers(text: str) -> Iterator[Marker]:
    """Yield the markers of one assistant text block, in reading order."""
    fence = ""
    for number, line in enumerate(re.split(r"\r\n|\r|\n", text)):
        mark = _FENCE.match(line)
        closes = mark is not None and mark[1].startswith(fence) and not mark[2]
        toggles = mark is not None and (not fence or closes)
        if "[" in line:
            yield from _read_line(number, line, fenced=bool(fence) or toggles)
        if mark is not None and toggles:
            fence = "" if fence else mark[1]


_REPORTED: Final = {
    "memories": (MarkerKind.MEMORY, ("category", "service"), "observation"),
    "escalations": (MarkerKind.ESCALATE, ("service",), "reason"),
}
"""The fields of a closing report: what their entries are, and the fields of an entry."""


def read_report(report: Mapping[str, Any]) -> Iterator[Marker]:
    """Yield the entries of a session's closing report as markers; other fields are ignored."""
    number = itertools.count()
    for field, (what, names, body) in _REPORTED.items():
        entries = report.get(field) or ()
        for entry in entries if isinstance(entries, list) else [entries]:
            yield _read_entry(next(number), what, entry, (*names, body))


def _read_entry(number: int, what: MarkerKind, entry: object, names: Sequence[str]) -> Marker:
    given = [entry.get(name) or "" for name in names] if isinstance(entry, dict) else []
    texts = [one_line(each) for each in given if isinstance(each, str)]
    if len(texts) < len(names):
        said, reason = shorten(str(entry), _NAMED_CHARS), f"not an object of {', '.join(names)}"
        refused = MarkerReading.REFUSED
        return Marker(
            what=what, reading=refused, line=number, text=said, reason=reason, closing=True
        )
    *parts, body = texts
    head = ":".join(filter(None, (what.upper(), *parts)))
    return replace(_build_marker(number, f"[{head}] {body}"), closing=True)


def reread_marker(text: str) -> Marker | None:
    """Read the text of a single marker, ignoring that it was in code or quoted."""
    found = next(_read_line(0, text.strip().strip("`"), fenced=False), None)
    return found if found and found.reading is MarkerReading.TAKEN else None


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
            segment = line[at : min(end, following)].strip().strip("`")
            yield _build_marker(number, segment, IN_CODE)
        elif (end := quoted[at]) is not None:
            segment = _trim_emphasis(line[at : min(end, following)], before=before)
            yield _build_marker(number, segment, QUOTED)
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
    emphasis = opened[1]
    tag, bracket, text = segment.partition("]")
    if text.startswith(emphasis):
        return tag + bracket + text.removeprefix(emphasis)
    bare = text.removesuffix(emphasis)
    return tag + bracket + (text if bare.endswith(emphasis[0]) else bare.rstrip())


def _build_marker(number: int, text: str, ignored: str = "") -> Marker:
    start = MARKER_START.match(text)
    what = MarkerKind(start[1].lower()) if start else MarkerKind.MEMORY
    form, names = _FORMS[what]
    match = form.match(text)
    parts: dict[str, Any] = dict(zip(names, match.groups(), strict=True)) if match else {}
    body = parts.get("body", "").strip()
    reading, reason = MarkerReading.TAKEN, ""
    if ignored:
        reading, reason = MarkerReading.IGNORED, ignored
    elif not body:
        reading, reason = MarkerReading.REFUSED, _invalid_reason(what, text)
    parts = {**parts, "body": body} if body else {}
    return Marker(what=what, reading=reading, line=number, text=text, reason=reason, **parts)


def _invalid_reason(what: MarkerKind, text: str) -> str:
    inside = text[1:].partition("]")[0]
    if "]" not in text:
        return "no closing bracket"
    parts = inside.split(":")[1:]
    if what is MarkerKind.MEMORY and parts[0] not in OPERATIONAL:
        word = shorten(parts[0], _NAMED_CHARS)
        return f"unknown category {word!r}; it is one of {', '.join(OPERATIONAL)}"
    name = parts[-1] if what is MarkerKind.ESCALATE or len(parts) > 1 else ""
    if name and not re.fullmatch(_NAME, name):
        word = shorten(name, _NAMED_CHARS)
        return f"{word!r} is not a service name: letters, digits, - and _ only"
    if not text.partition("]")[2].strip():
        return "no text after the marker"
    return f"not in the form of [{what.upper()}:…]"
