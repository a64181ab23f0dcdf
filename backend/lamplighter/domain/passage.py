"""The passage of a text that answers best, and where the words of a query stand in it."""

from collections.abc import Collection, Sequence
from typing import Final

from lamplighter.domain.terms import Word, is_name, is_single, words

PASSAGE_CHARS: Final = 400
LEAD_CHARS: Final = 60
READ_CHARS: Final = 60_000
CUT: Final = "…"

Span = tuple[int, int]


def passage(text: str, looked_for: Collection[str]) -> tuple[str, tuple[Span, ...]]:
    """Return the part of a text that holds most words of a query, and where these stand."""
    spans = spans_of(text[:READ_CHARS], looked_for)
    if len(text) <= PASSAGE_CHARS:
        return text, tuple(spans)
    start = _start(spans, text)
    end = min(len(text), start + PASSAGE_CHARS)
    before, after = CUT if start else "", CUT if end < len(text) else ""
    moved = len(before) - start
    inside = [(a + moved, b + moved) for a, b in spans if start <= a and b <= end]
    return f"{before}{text[start:end]}{after}", tuple(inside)


def spans_of(text: str, looked_for: Collection[str]) -> list[Span]:
    """Return where the words of a query stand in a text; what touches is one span."""
    wanted = frozenset(looked_for)
    starts = tuple(each for each in wanted if is_single(each))
    found = sorted(
        {(each.start, each.end) for each in words(text) if _is_wanted(each, wanted, starts)}
    )
    merged: list[Span] = []
    for start, end in found:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _is_wanted(word: Word, wanted: frozenset[str], starts: tuple[str, ...]) -> bool:
    if word.term in wanted:
        return True
    return bool(starts) and not is_name(word.term) and word.term.startswith(starts)


def _start(spans: Sequence[Span], text: str) -> int:
    """Return where the passage begins: where most spans fit in, the first of those, at a word."""
    if not spans:
        return 0
    best, most, last = 0, 0, 0
    for first, (start, _) in enumerate(spans):
        last = max(last, first)
        while last < len(spans) and spans[last][1] <= start + PASSAGE_CHARS - LEAD_CHARS:
            last += 1
        if last - first > most:
            best, most = first, last - first
    start = max(0, spans[best][0] - LEAD_CHARS)
    if not start:
        return 0
    gap = text.find(" ", start, spans[best][0])
    return start if gap < 0 else gap + 1
