"""The log of a session: a part of its file, forward or backward from a byte."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal

from lamplighter.domain.secrets.redact import Redactor
from lamplighter.domain.sessions.cost import request_cost
from lamplighter.domain.sessions.transcript import (
    PARTIAL,
    TURN,
    WHOLE,
    Line,
    TranscriptEntry,
    TranscriptItem,
    TurnUsage,
    UnreadableLine,
    UsageReport,
    full_transcript_entry,
    transcript_entry,
)
from lamplighter.engines import stream
from lamplighter.engines.line_times import ReadTimes
from lamplighter.engines.tail import CHUNK_BYTES, Tail
from lamplighter.formats import serialize

ENTRY_CHARS: Final = 20_000
SECRET_CHARS: Final = 500
BACK_BYTES: Final = 2**20

Form = Literal["shown", "whole", "raw"]
ReadLine = Callable[[Line], list[dict[str, Any]]]


def forward(
    path: Path, after: int, *, limit: int, until: int | None, read: ReadLine
) -> dict[str, Any]:
    """Return about `limit` entries from a byte on; `until` is the end of a running session."""
    items: list[dict[str, Any]] = []
    at, more = after, False
    try:
        tail = Tail(path, after)
    except FileNotFoundError:
        return {"items": items, "start": after, "next": at, "more": False}
    try:
        while lines := _next(tail, until):
            for line in lines:
                more = len(items) >= limit
                if more or (until is not None and line.end > until):
                    return {"items": items, "start": after, "next": at, "more": more}
                found = read(line)
                if any(each["kind"] in WHOLE for each in found):
                    _drop_partial(items)
                items += found
                at = line.end
    finally:
        tail.close()
    return {"items": items, "start": after, "next": at, "more": False}


def _drop_partial(items: list[dict[str, Any]]) -> None:
    """Remove the text that was shown while it arrived; the figures of its turn follow it."""
    start = len(items)
    while start and items[start - 1]["kind"] in (PARTIAL, TURN):
        start -= 1
    items[start:] = [each for each in items[start:] if each["kind"] != PARTIAL]


def backward(
    path: Path, before: int, *, limit: int, until: int | None, read: ReadLine
) -> dict[str, Any]:
    """Return the entries of the last `limit` lines before a byte, or of fewer that are long."""
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return {"items": [], "start": 0, "next": 0, "more": False}
    end = min(before, size if until is None else until)
    start = _find_start(path, end, limit)
    whole_file = until is None and end == size
    found = forward(path, start, limit=2**31, until=None if whole_file else end, read=read)
    return {**found, "next": end, "more": start > 0}


def entries(line: Line, *, form: Form, redact: Redactor, times: ReadTimes) -> list[dict[str, Any]]:
    """Return the content of one line of the file, readable or (`raw`) unchanged."""
    line = replace(line, content=redact.marked(line.content))
    at = serialize.format_moment(times.of(line.start))
    return [
        {
            "offset": line.start,
            "index": index,
            "kind": entry.kind,
            "text": _cut(redact(entry.text[: ENTRY_CHARS + SECRET_CHARS]), len(entry.text), form),
            "at": at,
            "usage": entry.usage and _usage(entry.usage),
        }
        for index, entry in enumerate(_entries(line, form))
        if entry is not None
    ]


def _usage(report: UsageReport | TurnUsage) -> dict[str, Any]:
    used, turns, turn = report.usage, 0, None
    cost, input_cost = None, None
    if isinstance(report, UsageReport):
        turns, cost = report.turns, report.cost_usd
    else:
        turn, cost = report.turn, request_cost(report.model, used)
        input_cost = request_cost(report.model, replace(used, output=0))
    return {
        "turns": turns,
        "turn": turn,
        "input_tokens": used.uncached + used.cache_read + used.cache_write,
        "output_tokens": used.output,
        "cost_usd": cost,
        "input_usd": input_cost,
    }


def _next(tail: Tail, until: int | None) -> list[Line]:
    while not tail.at_end:
        lines = tail.read()
        if lines:
            return lines
    last = tail.last() if until is None else None
    return [last] if last else []


def _entries(line: Line, form: Form) -> list[TranscriptEntry | None]:
    if form == "raw":
        text = line.problem or line.content.decode("utf-8", "replace")
        return [TranscriptEntry("raw", text) if text.strip() else None]
    items: list[TranscriptItem] = (
        [UnreadableLine(line.problem)]
        if line.problem
        else stream.parse(line.content, usage=form == "whole")
    )
    return [
        (full_transcript_entry if form == "whole" else transcript_entry)(item) for item in items
    ]


def _cut(text: str, length: int, form: Form) -> str:
    if length <= ENTRY_CHARS:
        return text
    more = f"\n… {length - ENTRY_CHARS:,} more characters are in the file."
    return text[:ENTRY_CHARS] + ("" if form == "shown" else more)


def _find_start(path: Path, end: int, limit: int) -> int:
    """Return the start of the last `limit` lines before `end`; earlier lines are not read."""
    count, at = 0, end
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        while at > 0:
            size = min(CHUNK_BYTES, at)
            chunk = os.pread(file, size, at - size)
            place = len(chunk)
            while (place := chunk.rfind(b"\n", 0, place)) >= 0:
                start = at - size + place + 1
                count += start < end
                if count >= limit or (count and end - start >= BACK_BYTES):
                    return start
            at -= size
    finally:
        os.close(file)
    return 0
