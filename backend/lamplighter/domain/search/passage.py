"""The best passage of a text, and the positions of the query's words in it."""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Final

from lamplighter.domain.search.terms import TermSpan, is_name, is_single, term_spans

PASSAGE_CHARS: Final = 400
LEAD_CHARS: Final = 60
READ_CHARS: Final = 60_000
CUT: Final = "…"

Span = tuple[int, int]


def best_passage(text: str, looked_for: Collection[str]) -> tuple[str, tuple[Span, ...]]:
    """Return the part of a text with most words of a query, and their positions."""
    spans = find_spans(text[:READ_CHARS], looked_for)
    if len(text) <= PASSAGE_CHARS:
        return text, tuple(spans)
    start = _passage_start(spans, text)
    end = min(len(text), start + PASSAGE_CHARS)
    before, after = CUT if start else "", CUT if end < len(text) else ""
    moved = len(before) - start
    inside = [(a + moved, b + moved) for a, b in spans if start <= a and b <= end]
    return f"{before}{text[start:end]}{after}", tuple(inside)


def find_excerpt(text: str, looked_for: Collection[str], chars: int) -> tuple[int, int]:
    """Return which part of a text, of `chars` at most, holds most different words of a query.

    That is its beginning, unless another part holds more of them.
    """
    end = len(text)
    if end <= chars:
        return 0, end
    matches = _matches(text[:READ_CHARS], looked_for)
    best, most = 0, len({term for _, last, term in matches if last <= chars})
    counts: Counter[str] = Counter()
    last = 0
    for first, (start, _, term) in enumerate(matches):
        begin = _lead_start(text, start)
        while last < len(matches) and (matches[last][1] <= begin + chars or last <= first):
            counts[matches[last][2]] += 1
            last += 1
        if len(counts) > most:
            best, most = begin, len(counts)
        counts[term] -= 1
        counts += Counter()  # what stands there no more counts no more
    best = max(0, min(best, end - chars))
    return best, min(end, best + chars)


def render_excerpt(text: str, looked_for: Collection[str], chars: int) -> str:
    """Return that part of a text, with an ellipsis where it was cut."""
    start, end = find_excerpt(text, looked_for, chars)
    before, after = CUT if start else "", CUT if end < len(text) else ""
    return f"{before}{text[start + len(before) : end - len(after)]}{after}"


def find_spans(text: str, looked_for: Collection[str]) -> list[Span]:
    """Return the positions of a query's words in a text; adjacent ones are one span."""
    merged: list[Span] = []
    for start, end in sorted({(start, end) for start, end, _ in _matches(text, looked_for)}):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _matches(text: str, looked_for: Collection[str]) -> list[tuple[int, int, str]]:
    wanted = frozenset(looked_for)
    starts = tuple(each for each in wanted if is_single(each))
    return [
        (each.start, each.end, each.term)
        for each in term_spans(text)
        if _is_match(each, wanted, starts)
    ]


def _lead_start(text: str, start: int) -> int:
    """Return a beginning that leaves some words before `start`."""
    ahead = max(0, start - LEAD_CHARS)
    gap = text.find(" ", ahead, start) if ahead else -1
    return ahead if gap < 0 else gap + 1


def _is_match(word: TermSpan, terms: frozenset[str], starts: tuple[str, ...]) -> bool:
    if word.term in terms:
        return True
    return bool(starts) and not is_name(word.term) and word.term.startswith(starts)


def _passage_start(spans: Sequence[Span], text: str) -> int:
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
    return _lead_start(text, spans[best][0])
