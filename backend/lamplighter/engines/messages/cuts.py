"""An answer cut off at its limit: the part that is used, and how it continues. Pure."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

CUT_OFF: Final = frozenset({"max_tokens", "model_context_window_exceeded"})
MAX_CUTS: Final = 4
CONTINUE_PROMPT: Final = (
    "Your answer was cut off at the token limit. Continue where it ends; do not repeat any line."
    " A marker that was cut off is not recorded: write its line again in full."
)
SHORTER_PROMPT: Final = (
    "Your answer was cut off before any part was complete. Give a shorter answer."
)
_MARKER: Final = re.compile(r"\[(?:MEMORY|EVENT|COOLDOWN|ESCALATE):")
_PARTIAL_MARKER: Final = re.compile(r"\[[A-Z]*$|" + _MARKER.pattern)


def complete_part(blocks: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the complete part of an answer that was cut off: no half marker, no half tool use."""
    if not blocks:
        return []
    *before, last = blocks
    if last["type"] == "text":
        last = {**last, "text": _complete_text(last["text"])}
        return [*before, last] if last["text"].strip() else before
    return before


def dropped_marker(blocks: Sequence[dict[str, Any]]) -> str:
    """Return the beginning of a marker that `whole` leaves out; empty for none."""
    last = blocks[-1] if blocks else {}
    line = last.get("text", "").rpartition("\n")[2] if last.get("type") == "text" else ""
    return line if _MARKER.search(line) else ""


def new_part(blocks: Sequence[dict[str, Any]], texts: Iterable[str]) -> list[dict[str, Any]]:
    """Return a continued answer without the markers of its earlier part."""
    before = frozenset(texts)
    return [
        {**block, "text": _new_text(block["text"], before)} if block["type"] == "text" else block
        for block in blocks
    ]


def marker_lines(blocks: Iterable[dict[str, Any]]) -> list[str]:
    """Return the lines of an answer that hold markers."""
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    lines = [line.strip() for text in texts for line in text.splitlines()]
    return [line for line in lines if _MARKER.search(line)]


def _complete_text(text: str) -> str:
    before, _, last = text.rpartition("\n")
    return before if _PARTIAL_MARKER.search(last) else text


def _new_text(text: str, before: frozenset[str]) -> str:
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if line.strip() not in before)
