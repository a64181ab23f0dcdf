"""Attributes that hold one value: the primary, a place, a source, a user, a format, a policy.

A clause that is exactly one of these sentences fills a slot of its subject: "Chunks live in S3"
and "S3 holds the chunks" fill one with the same value, "Chunks live on the local disk" does not.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from lamplighter.domain.stemming import stem

_S: Final = r"(?P<subject>[\w'-]+(?: [\w'-]+){0,2})"
_V: Final = r"(?P<value>[\w./'-]+(?: [\w./'-]+){0,3})"
_STORED: Final = "stored|kept|saved|held|written|persisted|located|sent|shipped|uploaded|delivered"
_LIES: Final = "lives?|lies?|sits?|resides?|goes|go|ends? up"
_ROLE: Final = "primary|leader|master|standby|default"
_FORM: Final = "codec|protocol|format|compression|payload|encoding"
_BE: Final = "(?:is|are) "
_SENTENCES: Final = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("role", rf"(?P<subject>{_ROLE})(?: role)? (?:is|is with) {_V}"),
        ("role", rf"{_V} (?:is|acts as|serves as|holds) (?P<subject>{_ROLE})(?: role)?"),
        ("role", rf"{_V} is one that (?P<subject>lead)s"),
        ("place", rf"{_S} (?:{_BE}(?:{_STORED})|{_LIES}) (?:in|on|to|at|under|into) {_V}"),
        ("place", rf"{_V} (?:holds?|stores?|receives?) {_S}"),
        ("source", rf"{_S} (?:comes? from|{_BE}(?:issued|supplied|provided|signed) by) {_V}"),
        ("source", rf"{_S} {_BE}(?:read|taken|looked up) (?:from|in) {_V}"),
        ("source", rf"{_V} (?:issues?|supplies|supply|provides?|signs?) (?:its |their )?{_S}"),
        ("source", rf"{_V} is (?:issuer|source) of {_S}"),
        ("user", rf"(?:runs?|started) as (?P<subject>)(?:user )?{_V}"),
        ("user", rf"process (?:is owned by|belongs to) (?P<subject>)(?:user )?{_V}"),
        ("user", rf"user of process is (?P<subject>){_V}"),
        ("runner", rf"{_S} (?:runs? on|{_BE}done (?:by|on|with)) {_V}"),
        ("runner", rf"{_V} does {_S}"),
        ("form", rf"{_S} (?:{_BE})?(?:encoded|compressed|serialized|exported) (?:as|with) {_V}"),
        ("form", rf"{_S} (?:{_BE}(?:stored|written|sent)|publish|come) as (?:plain )?{_V}"),
        ("form", rf"{_S} uses? {_V} (?:{_FORM})"),
        ("form", rf"(?:{_FORM}) (?:of|for) {_S} is {_V}"),
        ("form", rf"{_V} is (?:{_FORM}) (?:of|for) {_S}"),
        ("form", rf"{_V} compresses {_S}"),
        ("policy", rf"(?P<subject>balances|evicts|caches|sorts|routes|persistence is) by {_V}"),
    )
)
_OPEN: Final = re.compile(
    r"\b(?:not?|never|nothing|when|if|while|during|after|before|until|unless|without|once|only|also"
    r"|too|both|all|any|every|some|and|or|as well)\b|n't\b"
)
_ARTICLES: Final = re.compile(r"\b(?:the|an?|its|their|our|each) ")
_BREAK: Final = re.compile(r"[;,()]|[.:](?:\s|$)| - ")
_JOINTS: Final = frozenset(["in", "on", "of", "for", "at", "to", "from", "under", "with"])
_LONGEST: Final = 80


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
    return frozenset(stem(word) for word in words.split() if word not in _JOINTS)


def differing_slots(
    old: tuple[AttributeSlot, ...], new: tuple[AttributeSlot, ...]
) -> tuple[AttributeSlot, AttributeSlot] | None:
    """Return two slots of one kind and subject that hold other values."""
    pairs = ((one, two) for one in old for two in new if one.kind == two.kind)
    for one, two in pairs:
        same_subject = one.subject == two.subject or len(one.subject & two.subject) > 1
        if same_subject and not one.value & two.value:
            return one, two
    return None


def agreeing_slot(
    old: tuple[AttributeSlot, ...], new: tuple[AttributeSlot, ...]
) -> AttributeSlot | None:
    """Return the slot that both fill with the same value."""
    pairs = ((one, two) for one in old for two in new if one.kind == two.kind)
    return next(
        (two for one, two in pairs if one.subject == two.subject and one.value == two.value), None
    )
