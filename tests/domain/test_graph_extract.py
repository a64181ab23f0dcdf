"""Extraction without a model: measured on labelled sentences, and rule by rule."""

import pytest
from benchmarks.graph_sentences import PROJECT, score, sentences
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.graph.entity import RATIONALE, EntityKind, RelationshipKind
from lamplighter.domain.graph.extract import (
    PREFILTER,
    RULES,
    TextContext,
    decision_title,
    extract,
    split_sentences,
)
from lamplighter.domain.graph.mentions import mask
from lamplighter.domain.memory.memory import Category

ABOUT = TextContext(project=PROJECT)


def test_the_rules_meet_precision_and_recall_on_unseen_sentences() -> None:
    found = score("reported")

    assert found.precision >= 0.9, found.wrong
    assert found.recall >= 0.85, found.missed
    assert len(sentences("built")) + len(sentences("reported")) >= 300
    assert not {each.text for each in sentences("built")} & {
        each.text for each in sentences("reported")
    }


@given(st.text(max_size=400))
def test_any_text_is_extracted_without_an_exception(text: str) -> None:
    found = extract(text, ABOUT)

    assert all(claim.source.name and claim.target.name for claim in found.claims)


def test_a_sentence_without_a_subject_has_its_service_as_subject() -> None:
    [claim] = extract("Needs postgres to be up first", TextContext(service="jellyfin")).claims

    assert (claim.source.name, claim.source.kind) == ("jellyfin", EntityKind.SERVICE)
    assert (claim.kind, claim.target.name) == (RelationshipKind.DEPENDS_ON, "postgres")
    assert extract("Needs postgres to be up first", TextContext()).claims == ()


def test_an_abbreviation_in_parentheses_is_a_name() -> None:
    found = extract("Claude Code (CC) runs here. Caddy (TLS) is fine.", ABOUT)

    assert found.aliases == (("Claude Code", "CC"),)


def test_an_initial_belongs_to_its_name() -> None:
    text = (
        "The pool is small. A. Lovelace works on the mail service. We took plan A. Redis is slow."
    )

    [claim] = extract(text, ABOUT).claims

    assert (claim.source.name, claim.source.kind) == ("A. Lovelace", EntityKind.PERSON)
    assert split_sentences(text)[-2:] == ["We took plan A.", "Redis is slow."]


def test_an_existing_entity_is_recognized_by_its_name() -> None:
    kinds = {"checkout": EntityKind.SERVICE, "big store": EntityKind.PROJECT}
    about = TextContext(kind_of=lambda name: kinds.get(name.lower()))

    [claim] = extract("big store depends on checkout", about).claims

    assert (claim.source.name, claim.target.name) == ("big store", "checkout")
    assert extract("big store depends on checkout", TextContext()).claims == ()


@pytest.mark.parametrize(
    ("text", "name", "why"),
    [
        ("We decided to use NATS because it is small.", "use NATS", "it is small"),
        ("Decision: keep SQLite. It is enough.", "keep SQLite", ""),
        ("We chose NATS over Kafka since it is small.", "chose NATS over Kafka", "it is small"),
    ],
)
def test_a_decision_is_extracted_with_its_rationale(text: str, name: str, why: str) -> None:
    [decision] = extract(text, ABOUT).entities

    assert (decision.kind, decision.name) == (EntityKind.DECISION, name)
    assert dict(decision.properties).get(RATIONALE, "") == why


def test_a_memory_of_category_decision_is_one_decision() -> None:
    text = "Use PostgreSQL for the queue because one database is enough. Ann uses Redis."
    title = decision_title(Category.DECISION, "", text)
    assert title is not None

    found = extract(text, TextContext(project=PROJECT, decision=title))

    [decision] = found.entities
    assert decision.name == "Use PostgreSQL for the queue"
    assert dict(decision.properties)[RATIONALE] == "one database is enough"
    concerned = {each.target.name for each in found.claims if each.source == decision}
    assert concerned == {"PostgreSQL", "Redis"}
    assert decision_title(Category.PATTERN, "", text) is None


@pytest.mark.parametrize(
    ("sentence", "deciders"),
    [
        ("Decided by Ann Smith.", {"Ann Smith"}),
        ("This was decided by Ann Smith and Bob Jones", {"Ann Smith", "Bob Jones"}),
        ("It was not decided by Ann Smith.", set()),
        ("Decided by Redis.", set()),
    ],
)
def test_a_sentence_of_a_decision_names_who_decided(sentence: str, deciders: set[str]) -> None:
    text = f"Use NATS for the event bus because it is small. {sentence}"

    found = extract(text, TextContext(project=PROJECT, decision="Event bus"))

    by = {each.target.name for each in found.claims if each.kind is RelationshipKind.DECIDED_BY}
    assert by == deciders


def test_the_prefilter_accepts_words_with_non_ascii_letters() -> None:
    text = "We like it. The checkout service stores große körbe in Redis."

    [claim] = extract(text, TextContext()).claims

    assert (claim.source.name, claim.kind) == ("checkout", RelationshipKind.USES)


@pytest.mark.parametrize(
    "text", [each.text for each in (*sentences("built"), *sentences("reported"))]
)
def test_the_prefilter_skips_no_matching_rule(text: str) -> None:
    for sentence in split_sentences(text):
        masked = mask(sentence).text
        matching = {at for at, rule in enumerate(RULES) if rule.pattern.search(masked)}

        assert matching <= set(PREFILTER.Match(masked) or ())
