"""Facts in episodes: decisions, preferences, corrections and dependencies; no model."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from lamplighter.domain.graph.entity import RelationshipKind
from lamplighter.domain.graph.extract import TextContext, extract, split_sentences
from lamplighter.domain.memory.corrections import extract_learnings, find_corrections
from lamplighter.domain.memory.memory import Category
from lamplighter.domain.text import comparison_key

MAX_FACTS: Final = 20
"""The maximum number of facts from one text."""

MAX_FACT_CHARS: Final = 400
LEAST_FACT_WORDS: Final = 3
STATED: Final = (Category.DECISION, Category.PREFERENCE)
"""Categories whose captured texts are facts as a whole."""

_RESPONSIBLE: Final = re.compile(
    r"(?!(?:It|This|That|There|He|She|They|We|You|Who|Nobody|Somebody|Someone)\b)"
    r"[A-Z]\w+(?:(?:, | and )[A-Z]\w+)* (?:maintains?|owns?|looks? after"
    r"|(?:is|are) (?:responsible for|in charge of|on call for)) (?!nothing\b)\w"
)
"""A responsibility of a person, also if the graph has no name for the subject."""

_CATEGORIES: Final = {
    RelationshipKind.DECIDED_BY: Category.DECISION,
    RelationshipKind.CONCERNS: Category.DECISION,
    RelationshipKind.REPLACES: Category.DECISION,
    RelationshipKind.DEPENDS_ON: Category.ARCHITECTURE,
    RelationshipKind.USES: Category.ARCHITECTURE,
}


@dataclass(frozen=True, slots=True)
class Fact:
    """One sentence that stays true beyond its episode."""

    category: Category
    text: str


def find_facts(text: str, about: TextContext, category: Category = Category.LEARNING) -> list[Fact]:
    """Return the facts of a text of a category, each once, at most 20 in their order."""
    found: dict[str, Fact] = {}
    for fact in _facts(text, about, category):
        if len(fact.text.split()) >= LEAST_FACT_WORDS and len(fact.text) <= MAX_FACT_CHARS:
            found.setdefault(comparison_key(fact.text), fact)
    return list(found.values())[:MAX_FACTS]


def category_of(kind: RelationshipKind) -> Category:
    """Return the category of a sentence that states a relationship."""
    return _CATEGORIES.get(kind, Category.DISCOVERY)


def _facts(text: str, about: TextContext, category: Category) -> Iterator[Fact]:
    sentences = split_sentences(text)
    if category in STATED and sentences:
        yield Fact(category, sentences[0])
    for correction in find_corrections(text):
        yield Fact(correction.category, correction.text)
    for learning in extract_learnings(text):
        yield Fact(Category.LEARNING, learning)
    for sentence in sentences:
        stated = extract(sentence, about)
        if stated.claims:
            yield Fact(category_of(stated.claims[0].kind), sentence)
        elif stated.entities:
            yield Fact(Category.DECISION, sentence)
        elif _RESPONSIBLE.match(sentence):
            yield Fact(Category.DISCOVERY, sentence)
