"""The answer of a model that selects sentences: one JSON object, read strictly."""

import re
from typing import Annotated, Final, Literal

import msgspec

from lamplighter.domain.memory.memory import Category
from lamplighter.domain.organize.selection import (
    BATCH,
    MAX_RELATIONSHIPS,
    SELECTABLE,
    OfferedSentence,
    Selection,
    StatedRelationship,
    select_sentences,
)

_FENCE: Final = re.compile(r"\s*```(?:json)?\n(.*)\n```\s*", re.DOTALL)
_Number = Annotated[int, msgspec.Meta(ge=1)]


class SelectedFact(msgspec.Struct, forbid_unknown_fields=True):
    """A sentence that is a fact."""

    sentence: _Number
    category: Literal[*(each.value for each in SELECTABLE)]  # type: ignore[valid-type]


class RelationshipAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """A sentence that states a relationship of two names in it."""

    sentence: _Number
    source: str
    kind: str
    target: str


class SelectionAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """A model's selection."""

    facts: Annotated[list[SelectedFact], msgspec.Meta(max_length=BATCH)]
    summary: list[_Number]
    relationships: Annotated[
        list[RelationshipAnswer], msgspec.Meta(max_length=MAX_RELATIONSHIPS)
    ] = []


def read_selection(text: str, offered: list[OfferedSentence]) -> Selection:
    """Parse a selection; raises ValueError for any other answer."""
    fenced = _FENCE.fullmatch(text)
    answer = msgspec.json.decode(fenced[1] if fenced else text, type=SelectionAnswer)
    facts = {each.sentence: Category(each.category) for each in answer.facts}
    stated = [
        StatedRelationship(each.sentence, each.source, each.kind, each.target)
        for each in answer.relationships
    ]
    return select_sentences(offered, facts, answer.summary, stated)
