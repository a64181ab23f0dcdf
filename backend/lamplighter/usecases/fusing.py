"""What words find and what meaning finds of the memories, as one order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lamplighter.domain.errors import Unavailable
from lamplighter.domain.fusion import MEANING, WEIGHT, fused, scale_of
from lamplighter.domain.query import Asked
from lamplighter.domain.ranking import total
from lamplighter.domain.search import Layer, Near, Reason
from lamplighter.repository.found import layer_of, memory_of


@dataclass(frozen=True, slots=True)
class Scored:
    """One thing that matches: its number in the index, and what counts for it."""

    number: int
    reasons: tuple[Reason, ...]

    @property
    def score(self) -> float:
        """What the reasons add up to."""
        return total(self.reasons)


async def with_meaning(
    scored: Sequence[Scored], question: Asked, near: Near, *, full: float
) -> list[Scored] | None:
    """Return what matches with what meaning counts, and what only it finds; None when it is late.

    `full` is what a text with all the words of the query would score. A phrase and a word
    that must not stand there are about words: then it adds nothing.
    """
    text = question.wanted.query
    by_words = {memory_of(each.number): each for each in scored if _is_memory(each)}
    strict = question.phrases or question.without
    try:
        found = {} if strict else dict(await near(text, None, wanted=question.wanted))
        rest = [each for each in by_words if each not in found]
        found |= dict(await near(text, rest)) if rest else {}
    except (TimeoutError, Unavailable):
        return None
    return _weighed(scored, by_words, found, full)


def _weighed(
    scored: Sequence[Scored],
    by_words: Mapping[int, Scored],
    meaning: Mapping[int, float],
    full: float,
) -> list[Scored]:
    """Return both as one: in the scale of the words, so that other layers still compare."""
    words = {number: each.score for number, each in by_words.items()}
    scale = scale_of(words, full)
    weight = WEIGHT if words and meaning else 0.0
    parts = {each.id: dict(_parts(each.reasons)) for each in fused(words, meaning, full=full)}
    found = [_lowered(each, weight) for each in scored if not _is_memory(each)]
    for number, part in parts.items():
        own = by_words.get(number, Scored(number, ()))
        reasons = list(_lowered(own, weight).reasons)
        if part.get(MEANING):
            reasons.append(Reason(MEANING, part[MEANING] * scale))
        found.append(replace(own, reasons=tuple(reasons)))
    return found


def _parts(reasons: Sequence[Reason]) -> list[tuple[str, float]]:
    return [(each.what, each.score) for each in reasons]


def _lowered(each: Scored, weight: float) -> Scored:
    reasons = (Reason(reason.what, reason.score * (1.0 - weight)) for reason in each.reasons)
    return replace(each, reasons=tuple(reasons))


def _is_memory(each: Scored) -> bool:
    return layer_of(each.number) is Layer.MEMORY
