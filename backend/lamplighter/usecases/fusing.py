"""What words find and what meaning finds of the memories, as one order."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from typing import Final

from lamplighter.domain.errors import Unavailable
from lamplighter.domain.fusion import MEANING, WEIGHT, fused, scale_of
from lamplighter.domain.query import Asked
from lamplighter.domain.ranking import total
from lamplighter.domain.search import Layer, Near, Reason
from lamplighter.repository.found import layer_of, memory_of

COMPARED: Final = 50
"""So many of the best by words are compared in meaning, if they are not among the nearest."""


@dataclass(frozen=True, slots=True)
class Scored:
    """One thing that matches: its number in the index, what counts for it, and the sum of that.

    `named` is how well its topic key is the one that is asked for: it is read before others.
    """

    number: int
    reasons: tuple[Reason, ...]
    score: float
    named: int = 0


def scored(number: int, reasons: Iterable[Reason], *, named: int = 0) -> Scored:
    """Return something that matches, with the sum of what counts for it."""
    every = tuple(reasons)
    return Scored(number, every, total(every), named)


async def with_meaning(
    found_so_far: Sequence[Scored], question: Asked, near: Near, *, full: float
) -> list[Scored] | None:
    """Return what matches with what meaning counts, and what only it finds; None when it is late.

    `full` is what a text with all the words of the query would score. A phrase and a word
    that must not stand there are about words: then meaning only weighs what words find.
    """
    text = question.wanted.query
    by_words = {memory_of(each.number): each for each in found_so_far if _is_memory(each)}
    strict = question.phrases or question.without
    try:
        found = {} if strict else dict(await near(text, None, wanted=question.wanted))
        best = nlargest(COMPARED, by_words, key=lambda each: by_words[each].score)
        rest = [each for each in best if each not in found]
        found |= dict(await near(text, rest)) if rest else {}
    except (TimeoutError, Unavailable):
        return None
    return _weighed(found_so_far, by_words, found, full)


def _weighed(
    every: Sequence[Scored],
    by_words: Mapping[int, Scored],
    meaning: Mapping[int, float],
    full: float,
) -> list[Scored]:
    """Return both as one: in the scale of the words, so that other layers still compare."""
    words = {number: each.score for number, each in by_words.items()}
    scale = scale_of(words, full)
    weight = WEIGHT if words and meaning else 0.0
    parts = {each.id: dict(_parts(each.reasons)) for each in fused(words, meaning, full=full)}
    found = [_lowered(each, weight) for each in every if not _is_memory(each)]
    for number, part in parts.items():
        if number not in by_words and not part:
            continue
        own = by_words.get(number) or scored(number, ())
        reasons = list(_lowered(own, weight).reasons)
        if part.get(MEANING):
            reasons.append(Reason(MEANING, part[MEANING] * scale))
        found.append(scored(own.number, reasons, named=own.named))
    return found


def _parts(reasons: Sequence[Reason]) -> list[tuple[str, float]]:
    return [(each.what, each.score) for each in reasons]


def _lowered(each: Scored, weight: float) -> Scored:
    reasons = (Reason(reason.what, reason.score * (1.0 - weight)) for reason in each.reasons)
    return scored(each.number, reasons, named=each.named)


def _is_memory(each: Scored) -> bool:
    return layer_of(each.number) is Layer.MEMORY
