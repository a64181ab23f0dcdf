"""The analysis of an observation: phrases, clauses, negations, conditions and order."""

import pytest

from lamplighter.domain.relate import Analysis, analyze, builtin_lexicon
from lamplighter.domain.relate.lexicon import extend_builtin


def taken(text: str, service: str | None = None) -> Analysis:
    return analyze(text, builtin_lexicon(), service=service)


def said(analysis: Analysis) -> list[list[str]]:
    return [[word.surface for word in clause.tokens] for clause in analysis.clauses]


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        ("The cache fills; the disk follows", [["cache", "fills"], ["disk", "follows"]]),
        ("It stalls because the cache fills", [["stalls"], ["cache", "fills"]]),
        ("Scans media (nightly job)", [["scans", "media"], ["job"]]),
        ("Never mounts NFS - uses SMB", [["mounts", "nfs"], ["uses", "smb"]]),
    ],
)
def test_a_text_is_split_into_claims(text: str, clauses: list[list[str]]) -> None:
    assert said(taken(text)) == clauses


def test_a_comma_separates_long_claims_but_not_a_condition() -> None:
    two = "The scanner reads media files twice, the indexer writes thumbnails to disk"
    assert len(taken(two).clauses) == 2
    assert len(taken("When the array is rebuilt at night, the scanner stalls").clauses) == 1


def test_an_otherwise_clause_is_not_a_claim() -> None:
    found = taken("Restart the scanner before the indexer, otherwise thumbnails vanish")
    assert [clause.otherwise for clause in found.clauses] == [False, True]
    assert found.claims == found.clauses[:1]


@pytest.mark.parametrize(
    ("text", "denials", "conditions"),
    [
        ("The indexer starts", 0, 0),
        ("The indexer does not start", 1, 0),
        ("The indexer never starts without the cache", 1, 1),
        ("The indexer starts when the cache is not there", 0, 1),
        ("The indexer is unable to start", 1, 0),
        ("The indexer rarely starts", 1, 0),
    ],
)
def test_negations_are_counted_by_clause_and_condition(
    text: str, denials: int, conditions: int
) -> None:
    [clause] = taken(text).clauses
    assert (clause.denials, clause.denied_conditions) == (denials, conditions)


@pytest.mark.parametrize(
    "text",
    [
        "Start the indexer before the scanner",
        "Start the scanner after the indexer",
        "After the indexer, start the scanner",
        "Start the indexer first, then the scanner",
        "Do not start the scanner before the indexer",
    ],
)
def test_the_order_of_two_steps_is_recognized(text: str) -> None:
    [clause] = taken(text).clauses
    assert "index" in clause.first
    assert "scanner" in clause.then


@pytest.mark.parametrize(
    ("text", "often"),
    [("always", 4), ("usually", 3), ("sometimes", 2), ("rarely", 1), ("never", 0), ("soon", None)],
)
def test_adverbs_of_frequency_are_ranked(text: str, often: int | None) -> None:
    [clause] = taken(f"The scanner {text} stalls").clauses
    assert clause.often == often


def test_a_bound_is_attached_to_its_number() -> None:
    for text, bound in [
        ("Needs at least 4 GB", "min"),
        ("Needs 4 GB minimum", "min"),
        ("Takes at most 4 GB", "max"),
        ("Takes 4 GB", ""),
    ]:
        [clause] = taken(text).clauses
        assert [measure.bound for measure in clause.measures] == [bound], text


def test_a_bare_number_is_classified_by_its_context() -> None:
    for text, kind in [
        ("Listens on port 8096", "port"),
        ("Answers with HTTP status 302", "status"),
        ("Keeps 302 snapshots", "number"),
        ("Pool on vm 101", "label"),
    ]:
        [clause] = taken(text).clauses
        assert [measure.kind for measure in clause.measures] == [kind], text


def test_a_negated_number_is_marked() -> None:
    [clause] = taken("Answers with status 302, not 200").clauses
    assert [(each.text, each.denied) for each in clause.measures] == [("302", False), ("200", True)]


def test_a_phrase_is_equal_to_its_word() -> None:
    assert taken("It is no longer mounted") == taken("It is not mounted")
    assert taken("prior to a restart").terms == taken("before a restart").terms


def test_the_longest_phrase_is_matched_first() -> None:
    words = extend_builtin('[phrases]\n"big red" = "crimson"\n"big red button" = "stop"\n')
    [clause] = analyze("a big red button and a big red door", words).clauses
    assert [word.surface for word in clause.tokens] == ["stop", "crimson", "door"]


def test_the_name_of_the_service_is_ignored() -> None:
    assert said(taken("Jellyfin stalls", "jellyfin")) == [["stalls"]]
    assert said(taken("The media server stalls", "media-server")) == [["stalls"]]


def test_undeployed_is_the_negation_of_deployed() -> None:
    [clause] = taken("The stack is undeployed").clauses
    plain = taken("The stack is deployed").clauses[0].tokens[-1]
    turned = clause.tokens[-1]
    assert {each.key for each in turned.senses} <= {each.key for each in plain.senses}
    assert {(each.sign, each.tells) for each in turned.senses} == {(-1, -1)}


def test_an_analysis_includes_the_lexicon_version_and_index_terms() -> None:
    found = taken("The scanner stalls while the array is rebuilt")
    assert found.lexicon == builtin_lexicon().version
    assert "scanner" in found.terms
    assert "the" not in found.terms


def test_a_text_has_at_most_24_clauses() -> None:
    assert len(taken("; ".join(f"word{number}" for number in range(500))).clauses) <= 24
