"""Attributes that hold one value, such as the primary, a place or a format; and those of several.

A clause that is exactly one of these sentences fills a slot of its subject: "Chunks live in S3"
and "S3 holds the chunks" fill one with the same value, "Chunks live on the local disk" does not.
"""

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Final

from lamplighter.domain.relate.lexicon import Lexicon
from lamplighter.domain.relate.text import TextItem
from lamplighter.domain.stemming import stem, stems
from lamplighter.domain.tables import read_table

_SENTENCES: Final = tuple(
    (kind, re.compile(pattern)) for kind, pattern in read_table(__package__, "slots.txt")
)
_OPEN: Final = re.compile(
    r"\b(?:it|this|there|they|then|first|not?|never|nothing|when|if|while|during|after|before|until"
    r"|unless|without|once|only|also|too|both|all|any|every|some|and|or|as well)\b|n't\b"
)
_ARTICLES: Final = re.compile(r"\b(?:the|an?|its|their|our|each) ")
_BREAK: Final = re.compile(r"[;,()]|[.:](?:\s|$)| - ")
_JOINTS: Final = frozenset(
    ["in", "on", "of", "for", "at", "to", "from", "under", "with", "is", "are"]
)
_GENERIC: Final = stems("file folder directory drive disk bucket value topic")
_LONGEST: Final = 80
# words that name a place or a limit, not a condition
_NO_CONDITIONS: Final = stems("under behind")
_FINITE: Final = ("is", "are", "was", "were")
_PASSIVE: Final = (*_FINITE, "be", "been", "being", "get", "gets", "got")
_PRONOUNS: Final = ("it", "they", "everything", "nothing")
_DETERMINERS: Final = ("a", "an", "the", "its", "each", "every", "no")
_ENDS_SUBJECT: Final = {*_FINITE, "in", "on", "at", "to", "from", "by", "via", "over", "as"}
_TROUBLE: Final = ("trouble", "ill", "lost")
_LEVELS: Final = frozenset(["level", "speed", "raised"])
# what works, works by several means: over Wi-Fi, through the VPN
_ABLE: Final = stems("work function fail reachable accessible available usable")
_MEANS: Final = frozenset(["over", "via", "through", "with", "using", "from"])
_SYMPTOM: Final = ("with", stem("fail"))
_ONLY: Final = stem("only")
_SOURCES: Final = {"from": stems("come"), "to": stems("due")}


@dataclass(frozen=True, slots=True)
class AttributeSlot:
    """One value of one attribute of a subject; subject and value as stems."""

    kind: str
    subject: frozenset[str]
    value: frozenset[str]
    label: str


def find_slots(text: str) -> Iterator[AttributeSlot]:
    """Return the slots that the clauses of a folded, lower-case text fill."""
    for part in _BREAK.split(text):
        clause = _ARTICLES.sub("", part.strip())
        if 0 < len(clause) <= _LONGEST and not _OPEN.search(clause):
            yield from _match_slots(clause)


def _match_slots(clause: str) -> Iterator[AttributeSlot]:
    for kind, sentence in _SENTENCES:
        found = sentence.fullmatch(clause)
        if found is not None:
            yield AttributeSlot(
                kind, _stems(found["subject"]), _stems(found["value"]), found["value"]
            )
            return


def _stems(words: str) -> frozenset[str]:
    found = [stem(word) for word in words.split() if word not in _JOINTS]
    return frozenset(word for word in found if word not in _GENERIC) or frozenset(found)


def differing_slots(
    old: tuple[AttributeSlot, ...], new: tuple[AttributeSlot, ...]
) -> tuple[AttributeSlot, AttributeSlot] | None:
    """Return two slots of one kind and subject with different values; None for none."""
    pairs = ((one, two) for one in old for two in new if one.kind == two.kind)
    for one, two in pairs:
        same_subject = one.subject == two.subject or len(one.subject & two.subject) > 1
        if same_subject and _values_differ(one.value, two.value):
            return one, two
    return None


def _values_differ(one: frozenset[str], two: frozenset[str]) -> bool:
    """Whether two values share no word, or have different numbers: channel 25, channel 11."""
    numbers = [{word for word in each if any(map(str.isdecimal, word))} for each in (one, two)]
    return not (one & two) or (all(numbers) and not numbers[0] & numbers[1])


def agreeing_slot(
    old: tuple[AttributeSlot, ...], new: tuple[AttributeSlot, ...]
) -> AttributeSlot | None:
    """Return the slot that both fill with the same value; None for none."""
    pairs = ((one, two) for one in old for two in new if one.kind == two.kind)
    return next(
        (two for one, two in pairs if one.subject == two.subject and one.value == two.value), None
    )


def find_several(row: Sequence[TextItem], lexicon: Lexicon, *, cause: bool) -> frozenset[int]:
    """Return the places of a clause that hold one of several values at a time.

    These are a cause, a condition, and what is needed, remedied, exposed or supported. Of two
    things that are opposites in the lexicon, the subject is such a value too: memory and disk.
    """
    roots = [lexicon.root(each.text) if each.kind == "word" else "" for each in row]
    if cause:
        return frozenset(range(1, len(row) + 1))
    conditions = {
        place
        for at, root in enumerate(roots, 1)
        if root in lexicon.conditions and root not in _NO_CONDITIONS
        for place in range(at, _condition_end(row, at) + 1)
    }
    things = _subject_things(row, roots, lexicon)
    return frozenset(conditions | things | _find_objects(row, roots, lexicon, conditions))


def _find_objects(
    row: Sequence[TextItem], roots: Sequence[str], lexicon: Lexicon, conditions: Set[int]
) -> set[int]:
    """Return the places of the objects of verbs that take several, of causes and of subjects."""
    places, verb = set[int](), 0
    for at, (item, root) in enumerate(zip(row, roots, strict=True), 1):
        before = row[at - 2].text if at > 1 else ""
        if at in conditions:
            continue
        if root in lexicon.frames and before in _PASSIVE:
            places.update(range(1, at))
        elif root in lexicon.frames and before not in _DETERMINERS:
            verb = at if not verb or (item.raw or item.text).endswith("s") else verb
        elif item.text in _FINITE or (root in lexicon.single and before != "to" and verb < at - 1):
            verb = 0
        elif _names_cause((item.raw or item.text).partition(" ")[0], roots[: at - 1], lexicon):
            verb = at - (" " in item.raw)  # "due to disk"
    return places | set(range(verb + 1, len(row) + 1) if verb else ())


def _subject_things(row: Sequence[TextItem], roots: Sequence[str], lexicon: Lexicon) -> set[int]:
    places = set[int]()
    for at, (item, root) in enumerate(zip(row, roots, strict=True), 1):
        if not _ENDS_SUBJECT.isdisjoint((item.raw or item.text).split()):
            break
        poles = lexicon.poles.get(root)
        if poles and any(pole.axis in lexicon.things for pole in poles):
            places.add(at)
        elif root in lexicon.frames or root in lexicon.single:
            break
    return places


def _condition_end(row: Sequence[TextItem], at: int) -> int:
    """Return the last place of a condition; of one that a clause begins with, 0 where unknown."""
    ends = (n for n, each in enumerate(row[at:], at) if each.kind == "stop")
    claims = (n for n, each in enumerate(row) if each.text in _PRONOUNS)
    return next(ends, len(row) if at > 1 else next(claims, 0))


def _names_cause(text: str, roots: Sequence[str], lexicon: Lexicon) -> bool:
    """Whether a cause or a means follows: "caused by", "works over", what trouble comes from."""
    last = roots[-1] if roots else ""
    if text in _MEANS and not _ABLE.isdisjoint(roots[-2:]):
        return _ONLY not in roots and (text, last) != _SYMPTOM
    if text == "by":
        return last in lexicon.frames
    return last in _SOURCES.get(text, ()) and (
        text == "to" or any(_is_trouble(root, lexicon) for root in roots)
    )


def _is_trouble(root: str, lexicon: Lexicon) -> bool:
    keys = (root, lexicon.meanings(root)[0])
    if any(pole.axis in _LEVELS for key in keys for pole in lexicon.poles.get(key, ())):
        return True
    return any(lexicon.endings.get(key) in _TROUBLE or key in lexicon.bad for key in keys)
