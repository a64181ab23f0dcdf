"""A line that ends within a marker is read with the next line, which shows if it was cut off."""

import json
from typing import Any

from lamplighter.domain.sessions.transcript import Line
from lamplighter.engines.cutting import PendingLines

HALF = "[EVENT:info] seen\n[MEMORY:behavior:web] cut in the mid"
RESUME = "Output token limit hit. Resume directly."


def line(at: int, **found: Any) -> Line:
    return Line(at, at + 1, json.dumps(found).encode())


def said(at: int, text: str) -> Line:
    return line(at, type="assistant", message={"content": [{"type": "text", "text": text}]})


def told(at: int) -> Line:
    content = [{"type": "text", "text": RESUME}]
    return line(at, type="user", isSynthetic=True, message={"content": content})


def cuts(lines: list[Line]) -> list[tuple[int, bool]]:
    return [(each.start, each.cut) for each in lines]


def test_a_cut_is_recorded_on_the_line_before_it() -> None:
    undecided = PendingLines()
    assert cuts(undecided.ready([said(0, "Looked."), said(1, HALF)])) == [(0, False)]
    status = line(2, type="system", subtype="status")
    assert undecided.ready([status]) == []
    assert cuts(undecided.ready([told(3)])) == [(1, True), (2, False), (3, False)]


def test_continued_text_is_not_marked_as_cut() -> None:
    undecided = PendingLines()
    assert undecided.ready([said(0, HALF)]) == []
    assert cuts(undecided.ready([said(1, "All is well.")])) == [(0, False), (1, False)]


def test_the_result_shows_whether_the_last_answer_was_cut() -> None:
    undecided = PendingLines()
    end = line(1, type="result", is_error=True, api_error="max_output_tokens")
    assert cuts(undecided.ready([said(0, HALF), end])) == [(0, True), (1, False)]
    well = line(1, type="result", is_error=False, stop_reason="end_turn")
    assert cuts(undecided.ready([said(0, HALF), well])) == [(0, False), (1, False)]


def test_pending_lines_are_read_at_the_end() -> None:
    undecided = PendingLines()
    undecided.ready([said(0, HALF)])
    assert cuts(undecided.rest()) == [(0, False)]
    assert undecided.rest() == []
