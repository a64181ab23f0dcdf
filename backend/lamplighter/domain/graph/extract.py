"""Extraction without a model: rules over one sentence find entities and relationships.

A rule is a pattern over the masked sentence. Its subject must begin a clause and its object must
end one: negations, guesses and reported speech do not match.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import re2

from lamplighter.domain.graph.entity import (
    RATIONALE,
    Claim,
    EntityKind,
    Extraction,
    NamedEntity,
    RelationshipKind,
)
from lamplighter.domain.graph.mentions import (
    NAME_SIGN,
    PLATFORMS,
    KnownKinds,
    MaskedSentence,
    Mention,
    mask,
    nothing_known,
)
from lamplighter.domain.graph.names import abbreviates, fold_name
from lamplighter.domain.memory.memory import OPERATIONS, Category
from lamplighter.domain.sentences import split_at
from lamplighter.domain.tables import read_table
from lamplighter.domain.text import one_line, shorten

MAX_CHARS: Final = 4_000
"""The number of characters that are read."""

MAX_DECISION_CHARS: Final = 150
STATED: Final = 0.7

_SENTENCE: Final = re.compile(r"(?<=[.!?;])\s+(?=[A-Z@`\"'(\w])|\n+")
_LIST: Final = rf"{NAME_SIGN}(?:(?:, and |, | and | & ){NAME_SIGN})*"
_READY: Final = "running|up|healthy|available|ready|started|reachable|online"
_END: Final = (
    rf"(?=$|[.,;:!)]| \(| (?:for|to be (?:{_READY})|to (?:start|run|work)|when|before|at|during"
    r"|because|since|so|and|but|as|in|on|first|last|instead|with|via|this|until|here)\b)"
)
_START: Final = r"(?:^|(?<=[,;:] )|(?<=\band )|(?<=\bbut )|(?<=\bbecause )|(?<=\bsince ))"
_ADVERB: Final = r"(?: (?:also|now|currently|still|always|directly|mainly|already))?"
_HEDGES: Final = re.compile(
    r"\b(?:if|whether|unless|suppose|assum\w+|imagine|myth|rumou?r|belie[fv]\w*|thinks?|thought"
    r"|maybe|perhaps|probably|might|never|nobody|wrong|false|claims?|hopes?|wants?|hypothetical\w*)\b",
    re.IGNORECASE,
)
_UNSURE_END: Final = re.compile(r"\b(?:maybe|perhaps|any ?more|next year|in theory)\b")
_WHY: Final = re.compile(r",? (?:because(?: of)?|since|so that|due to|in order to|as it|as they) ")
_CLAUSE_END: Final = re.compile(r"[.!]+$")


class Rule(NamedTuple):
    """A pattern over a masked sentence, with the kind of relationship that a match states.

    The groups `x` and `y` are lists of names: the source and the target. Without `x` the source is
    the service or the project that the text is about.
    """

    kind: RelationshipKind
    pattern: re.Pattern[str]


_K = RelationshipKind
_BY_ACTORS: Final = (_K.WORKS_ON, _K.CREATED)
"""Relationships whose source is a person or an organization."""

_PARTS: Final = {
    "X": rf"{_START}(?P<x>{_LIST}){_ADVERB}",
    "x": rf"(?P<x>{_LIST})",
    "x_end": rf"(?P<x>{_LIST}){_END}",
    "one_x": rf"(?P<x>{NAME_SIGN})",
    "Y": rf"(?P<y>{_LIST}){_END}",
    "y": rf"{_START}(?P<y>{_LIST}){_ADVERB}",
    "ys": rf"(?P<y>{_LIST})",
    "one_y": rf"(?P<y>{NAME_SIGN})",
    "end": _END,
    "ready": _READY,
}
RULES: Final = tuple(
    Rule(RelationshipKind(kind), re.compile(pattern))
    for kind, pattern in read_table(__package__, "rules.txt", **_PARTS)
)


def _build_prefilter() -> re2.Set:
    """Build what finds the rules that may match: it asks less of a text, of all rules at once."""
    signs = {**dict.fromkeys(_PARTS, NAME_SIGN), "X": "", "y": "", "end": "", "ready": _READY}
    found = re2.Set.SearchSet()
    for _, pattern in read_table(__package__, "rules.txt", **signs):
        found.Add(pattern.replace(r"\w", r"\S"))  # RE2's \w matches ASCII letters only
    found.Compile()
    return found


PREFILTER: Final = _build_prefilter()

_DECISIONS: Final = tuple(
    re.compile(pattern.replace("{x}", rf"(?P<x>{_LIST})"))
    for pattern in (
        r"^(?:Decision|Decided): (?P<d>.+)$",
        r"^Decided by {x}: (?P<d>.+)$",
        r"^{x} (?:decided|agreed) to (?P<d>.+)$",
        r"^It was decided by {x} to (?P<d>.+)$",
        r"^The decision to (?P<d>.+) was (?:made|taken) by {x}[.!]?$",
        r"^We (?:have )?(?:decided|agreed) to (?P<d>.+)$",
        r"^We (?P<d>(?:chose|picked) " + NAME_SIGN + r" over .+)$",
    )
)

_DECIDER: Final = re.compile(rf"^(?:(?:It|This) was d|D)ecided by (?P<x>{_LIST})[.!]?$")
"""A sentence that only names who decided; the decision is the memory that contains it."""

_SOURCE_KINDS: Final = {
    _K.DEPENDS_ON: EntityKind.SERVICE,
    _K.USES: EntityKind.PROJECT,
    _K.WORKS_ON: EntityKind.PERSON,
    _K.CREATED: EntityKind.PERSON,
    _K.REPLACES: EntityKind.TOOL,
}
_TARGET_KINDS: Final = {
    _K.DEPENDS_ON: EntityKind.SERVICE,
    _K.USES: EntityKind.TOOL,
    _K.WORKS_ON: EntityKind.PROJECT,
    _K.CREATED: EntityKind.PROJECT,
    _K.REPLACES: EntityKind.TOOL,
    _K.DECIDED_BY: EntityKind.PERSON,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TextContext:
    """The context of a text: its project, its service, and the existing entities.

    `decision` is the title of a text that is a decision as a whole.
    """

    project: str = OPERATIONS
    service: str | None = None
    kind_of: KnownKinds = nothing_known
    decision: str | None = None

    @property
    def subject(self) -> NamedEntity | None:
        """The entity that a sentence without a subject is about."""
        if self.service is not None:
            return NamedEntity(self.service, EntityKind.SERVICE)
        return None if self.project == OPERATIONS else self.home

    @property
    def home(self) -> NamedEntity:
        """The project as an entity."""
        return NamedEntity(self.project, EntityKind.PROJECT)


def extract(text: str, about: TextContext) -> Extraction:
    """Return the entities and relationships that a text states; at most MAX_CHARS are read."""
    entities: dict[str, NamedEntity] = {}
    claims: dict[tuple[str, str, str], Claim] = {}
    aliases: list[tuple[str, str]] = []
    whole = None
    if about.decision is not None:
        whole = _decision(about.decision, text)
        entities[fold_name(whole.name)] = whole
    for sentence in split_sentences(text):
        masked = mask(sentence, about.kind_of)
        aliases += _abbreviations(masked)
        decided = _decided(masked) if whole is None else ()
        concerned = _whole_claims(whole, masked) if whole is not None else ()
        for claim in (*decided, *concerned, *_stated(masked, about)):
            key = (claim.kind, fold_name(claim.source.name), fold_name(claim.target.name))
            claims.setdefault(key, claim)
        if whole is None and (match := _decision_match(masked)):
            decision = _decision_in(masked, match)
            entities.setdefault(fold_name(decision.name), decision)
    kept = tuple(each for each in claims.values() if fold_name(each.source.name))
    return Extraction(tuple(entities.values()), kept, tuple(aliases))


def default_kinds(kind: RelationshipKind) -> tuple[EntityKind | None, EntityKind | None]:
    """Return the default kinds of a relationship's ends, for names that do not determine a kind."""
    source = EntityKind.DECISION if kind in (_K.DECIDED_BY, _K.CONCERNS) else None
    return _SOURCE_KINDS.get(kind, source), _TARGET_KINDS.get(kind)


def split_sentences(text: str) -> list[str]:
    """Return the sentences and lines of a text, without list marks; questions are left out."""
    parts = (
        one_line(part).lstrip("-*#> ").strip() for part in split_at(_SENTENCE, text[:MAX_CHARS])
    )
    return [part for part in parts if part and not part.endswith("?")]


def decision_title(category: Category, title: str, text: str) -> str | None:
    """Return the title of a memory that is a decision as a whole, else None."""
    if category is not Category.DECISION:
        return None
    first = next(iter(split_sentences(text)), "")
    return title or _clean_decision(_WHY.split(first, maxsplit=1)[0]) or None


def _stated(masked: MaskedSentence, about: TextContext) -> Iterator[Claim]:
    for number in sorted(PREFILTER.Match(masked.text) or ()):
        rule = RULES[number]
        for match in rule.pattern.finditer(masked.text):
            if _is_sure(masked.text, match):
                yield from _claims(rule, masked, match, about)


def _is_sure(text: str, match: re.Match[str]) -> bool:
    return not (_HEDGES.search(text[: match.start()]) or _UNSURE_END.search(text[match.end() :]))


def _claims(
    rule: Rule, masked: MaskedSentence, match: re.Match[str], about: TextContext
) -> Iterator[Claim]:
    groups = match.groupdict()
    targets = masked.at(groups["y"])
    if groups.get("x") is None:
        said_we = match[0][0] in "WOT" and not match[0].startswith("Wait")
        subject = about.home if said_we else about.subject
        sources = [] if subject is None else [subject]
    else:
        named = masked.at(groups["x"])
        if rule.kind in _BY_ACTORS and not all(each.may_act for each in named):
            return
        sources = [_named(each, _SOURCE_KINDS.get(rule.kind)) for each in named]
    if rule.kind is _K.WORKS_ON and any(fold_name(each.name) in PLATFORMS for each in targets):
        return
    for source in sources:
        for target in targets:
            named_target = _named(target, _TARGET_KINDS.get(rule.kind))
            if fold_name(source.name) != fold_name(target.name):
                yield Claim(source, rule.kind, named_target, STATED)


def _named(mention: Mention, kind: EntityKind | None) -> NamedEntity:
    return NamedEntity(mention.name, mention.kind or kind or EntityKind.CONCEPT)


def _decided(masked: MaskedSentence) -> Iterator[Claim]:
    """Yield the deciders and the subjects of the decision that a sentence states."""
    if not (match := _decision_match(masked)):
        return
    decision = _decision_in(masked, match)
    deciders = _deciders(masked, match)
    if all(each.may_act for each in deciders):
        for each in deciders:
            yield Claim(decision, _K.DECIDED_BY, _named(each, EntityKind.PERSON), STATED)
        for each in masked.at(_WHY.split(match["d"], maxsplit=1)[0]):
            yield Claim(decision, _K.CONCERNS, _named(each, None), STATED)


def _decision_match(masked: MaskedSentence) -> re.Match[str] | None:
    return next(filter(None, (pattern.match(masked.text) for pattern in _DECISIONS)), None)


def _deciders(masked: MaskedSentence, match: re.Match[str] | None) -> list[Mention]:
    return masked.at(match.groupdict().get("x") or "") if match else []


def _decision_in(masked: MaskedSentence, match: re.Match[str]) -> NamedEntity:
    clause = masked.unmask(match["d"])
    return _decision(_WHY.split(clause, maxsplit=1)[0], clause)


def _decision(title: str, text: str) -> NamedEntity:
    """Return a decision with the reason from its text."""
    reasons = (_WHY.split(each, maxsplit=1) for each in split_sentences(text))
    reason = next((parts[1] for parts in reasons if len(parts) > 1), "")
    given = ((RATIONALE, _CLAUSE_END.sub("", reason)),) if reason else ()
    return NamedEntity(_clean_decision(title), EntityKind.DECISION, given)


def _whole_claims(decision: NamedEntity, masked: MaskedSentence) -> Iterator[Claim]:
    """Yield the subjects of a decision, which are the names in its text, and its deciders."""
    deciders = _deciders(masked, _decision_match(masked) or _DECIDER.match(masked.text))
    for each in deciders:
        if each.may_act:
            yield Claim(decision, _K.DECIDED_BY, _named(each, EntityKind.PERSON), STATED)
    names = {each.name for each in deciders}
    for each in masked.mentions:
        if each.name not in names and each.kind is not None:
            yield Claim(decision, _K.CONCERNS, _named(each, None), STATED)


def _clean_decision(title: str) -> str:
    title = _CLAUSE_END.sub("", one_line(title))
    title = re.sub(r"^(?:Decision|Decided): ", "", title)
    title = re.sub(r"^We (?:have )?(?:decided|agreed) to ", "", title)
    return shorten(title, MAX_DECISION_CHARS)


def _abbreviations(masked: MaskedSentence) -> list[tuple[str, str]]:
    """Return the abbreviations in parentheses after the names that they abbreviate."""
    found = []
    for match in re.finditer(rf"({NAME_SIGN}) \(({NAME_SIGN})\)", masked.text):
        [name], [short] = masked.at(match[1]), masked.at(match[2])
        if abbreviates(short.name, name.name):
            found.append((name.name, short.name))
    return found
