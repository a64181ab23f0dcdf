"""Relationships that a model proposes: their sentence names both ends, and a person decides."""

import re
from dataclasses import dataclass
from typing import Final

from lamplighter.domain.graph.entity import Claim, EntityKind, NamedEntity, RelationshipKind
from lamplighter.domain.graph.extract import default_kinds, split_sentences
from lamplighter.domain.graph.mentions import NO_NAMES, kind_of_name
from lamplighter.domain.graph.names import fold_name
from lamplighter.domain.text import comparison_key, one_line

PROPOSED_CONFIDENCE: Final = 0.6
"""Lower than for a relationship extracted by a rule (0.7), also after a person has confirmed it."""

MAX_NAME_CHARS: Final = 60
MAX_DECISION_CHARS: Final = 150


@dataclass(frozen=True, slots=True)
class RelationshipProposal:
    """A relationship between two names of a sentence."""

    source: str
    kind: RelationshipKind
    target: str

    @property
    def text(self) -> str:
        """The relationship as text for a review."""
        return f"{self.source} {self.kind} {self.target}"

    @property
    def key(self) -> tuple[str, str, str]:
        """A key that is equal for all spellings of the relationship."""
        return claim_key(self.claim)

    def is_stated_in(self, sentence: str) -> bool:
        """Return whether a text names both ends."""
        return _names(sentence, self.source) and _names(sentence, self.target)

    def still_follows(self, text: str, confirmed: str) -> bool:
        """Return whether a text names both ends in the sentences that a person has confirmed.

        Another wording may deny the relationship, which makes it another question.
        """
        return {
            comparison_key(each) for each in split_sentences(confirmed) if self.is_stated_in(each)
        } <= {comparison_key(each) for each in split_sentences(text)}

    @property
    def claim(self) -> Claim:
        """The relationship as the graph receives it."""
        kinds = default_kinds(self.kind)
        ends = [
            NamedEntity(name, kind_of_name(name) or kind or EntityKind.CONCEPT)
            for name, kind in zip((self.source, self.target), kinds, strict=True)
        ]
        return Claim(ends[0], self.kind, ends[1], PROPOSED_CONFIDENCE)


def claim_key(claim: Claim) -> tuple[str, str, str]:
    """Return a key that is equal for all spellings of a relationship's names."""
    return fold_name(claim.source.name), claim.kind, fold_name(claim.target.name)


def admit_proposal(
    source: str, kind: str, target: str, sentence: str
) -> RelationshipProposal | None:
    """Return a model's proposal for a sentence; None if the sentence cannot state it."""
    if kind not in set(RelationshipKind):
        return None
    proposal = RelationshipProposal(one_line(source), RelationshipKind(kind), one_line(target))
    decides = proposal.kind in (RelationshipKind.DECIDED_BY, RelationshipKind.CONCERNS)
    named = _is_name(proposal.source, MAX_DECISION_CHARS if decides else MAX_NAME_CHARS)
    if not (
        named and _is_name(proposal.target, MAX_NAME_CHARS) and proposal.is_stated_in(sentence)
    ):
        return None
    differs = fold_name(proposal.source) != fold_name(proposal.target)
    return proposal if differs and parse_proposal(proposal.text) == proposal else None


def parse_proposal(text: str) -> RelationshipProposal | None:
    """Return the relationship that a review states; None if the text is ambiguous."""
    proposals = [
        RelationshipProposal(parts[0], kind, parts[1])
        for kind in RelationshipKind
        if len(parts := text.split(f" {kind} ")) > 1
    ]
    once = len(proposals) == 1 and proposals[0].text == text
    return proposals[0] if once else None


def _is_name(name: str, most: int) -> bool:
    return len(name) <= most and bool(fold_name(name)) and name.lower() not in NO_NAMES


def _names(sentence: str, name: str) -> bool:
    pattern = rf"(?<!\w){re.escape(name)}(?!\w)"
    return re.search(pattern, sentence, re.IGNORECASE) is not None
