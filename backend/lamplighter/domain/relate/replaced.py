"""Whether two claims are one sentence in which a word was replaced, or a condition added."""

from collections.abc import Mapping, Sequence
from typing import Final

from lamplighter.domain.relate.analysis import POLAR, Clause, ClauseWord
from lamplighter.domain.relate.match import HEAVY, Match

_STARTS: Final = frozenset(["restart", "running±"])
"""A start is the usual condition of what follows it, and makes it no other claim."""

Gap = tuple[list[ClauseWord], list[ClauseWord]]
"""The words in one position of the sentence, in the old and in the new text."""


def find_replacements(m: Match, least: float = HEAVY) -> list[Gap]:
    """Return what one sentence says where the other says something else.

    Empty unless the words they share stand in the same order, and each word of weight that
    only one of them says has its counterpart in the same place.
    """
    old_ids = {id(pair.old): at for at, pair in enumerate(m.pairs)}
    new_ids = {id(pair.new): at for at, pair in enumerate(m.pairs)}
    old_order, old_gaps = _gaps(m.old, old_ids, least)
    new_order, new_gaps = _gaps(m.new, new_ids, least)
    if old_order != new_order or len(old_order) < len(m.pairs):
        return []
    gaps = list(zip(old_gaps, new_gaps, strict=True))
    if any(bool(left) != bool(right) for left, right in gaps):
        return []
    return [gap for gap in gaps if gap[0]]


def _gaps(
    clauses: Sequence[Clause], shared: Mapping[int, int], least: float
) -> tuple[list[int], list[list[ClauseWord]]]:
    """Return the shared words in order, and the weighty words between them."""
    order: list[int] = []
    gaps: list[list[ClauseWord]] = [[]]
    for word in (word for clause in clauses for word in clause.tokens):
        at = shared.get(id(word))
        if at is not None:
            order.append(at)
            gaps.append([])
        elif word.weight >= least:
            gaps[-1].append(word)
    return order, gaps


def is_subject(word: ClauseWord, clauses: Sequence[Clause]) -> bool:
    """Whether a word names the subject of a claim: it comes before the verb.

    Where the verb is not known, it is the word that a claim begins with: a verb that a claim
    begins with ("Keeps …") has no article before it and ends in an s.
    """
    for clause in clauses:
        if any(word is each for each in clause.tokens):
            if clause.predicate >= 0:
                return word.place < clause.predicate
            verb = word.place == 1 and word.surface.endswith("s")
            return word is clause.tokens[0] and not verb
    return False


def is_value(word: ClauseWord, clauses: Sequence[Clause]) -> bool:
    """Whether a word is the one value that its claim's subject can have."""
    return any(
        clause.single
        and word.place > clause.predicate
        and not word.condition
        and any(word is each for each in clause.tokens)
        for clause in clauses
    )


def find_added_condition(m: Match) -> list[ClauseWord]:
    """Return the words of a condition that one text adds to what the other says without any."""
    return _added(m.old, m.new, m.right) or _added(m.new, m.old, m.left)


def _added(
    plain: Sequence[Clause], other: Sequence[Clause], rest: Sequence[ClauseWord]
) -> list[ClauseWord]:
    if any(word.condition for clause in plain for word in clause.tokens):
        return []
    unmatched = {id(word) for word in rest}
    for clause in other:
        words = [word for word in clause.tokens if word.condition]
        claimed = any(not word.condition and id(word) not in unmatched for word in clause.tokens)
        own = unmatched.issuperset(map(id, words)) and not clause.measures
        if claimed and own and any(map(_narrows, words)):
            return words
    return []


def _narrows(word: ClauseWord) -> bool:
    return word.weight >= POLAR and word.senses[0].key not in _STARTS
