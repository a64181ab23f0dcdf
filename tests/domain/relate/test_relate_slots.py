"""Attributes with one value, amounts in other words, and the end of a text."""

import pytest

from lamplighter.domain.relate import Relation, analyze, builtin_lexicon, relate
from lamplighter.domain.relate.features import ending_sign
from lamplighter.domain.relate.outcome import compare_outcomes
from lamplighter.domain.relate.slots import find_slots
from lamplighter.domain.relate.text import split_items


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("chunks live in s3", "s3 holds the chunks"),
        ("the leader is pg-2", "pg-2 acts as the leader"),
        ("certificates come from zerossl", "zerossl issues its certificates"),
        ("runs as the user mailman", "the process belongs to mailman"),
        ("calls use the opus codec", "opus is the codec for calls"),
        ("the log level is debug", "debug is the log level"),
        ("the relay is set by mqtt", "mqtt sets the relay"),
        ("tokens are hashed with argon2", "argon2 is used to hash tokens"),
    ],
)
def test_paraphrases_fill_the_same_slot(old: str, new: str) -> None:
    (one,), (two,) = find_slots(old), find_slots(new)
    assert (one.kind, one.subject, one.value) == (two.kind, two.subject, two.value)


@pytest.mark.parametrize(
    "text",
    [
        "when the array is full chunks live in s3",
        "chunks do not live in s3",
        "chunks live in s3 and in the cache",
        "backups are also kept on tape",
        "restarts are slow",
        "the heater is on in winter",
        "it is the upstream",
    ],
)
def test_a_sentence_with_a_condition_or_second_value_fills_no_slot(text: str) -> None:
    assert not list(find_slots(text))


@pytest.mark.parametrize(
    ("old", "new", "relation"),
    [
        ("Spools live on the flash drive", "Spools live on tape", Relation.CONFLICTING),
        ("Balances by load", "Balances by round robin", Relation.CONFLICTING),
        ("The radio is on channel 25", "The radio is on channel 11", Relation.CONFLICTING),
        ("Runs as the user postmail", "Runs as root", Relation.CONFLICTING),
        ("The log level is warning", "The log level is debug", Relation.CONFLICTING),
        ("Spools live on tape", "Tape holds the spools", Relation.SAME),
    ],
)
def test_the_value_of_a_slot_determines_the_relation(
    old: str, new: str, relation: Relation
) -> None:
    assert relate(new, old).relation is relation
    assert relate(old, new).relation is relation


def test_slots_of_other_subjects_do_not_conflict() -> None:
    found = relate("Snapshots live on tape", "Spools live on the flash drive")
    assert found.relation is not Relation.CONFLICTING


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("Step 1 of the start takes 10s", "Step 10 of the start takes 100s"),
        ("Step 1 of 12 takes 10s", "Step 10 of 12 takes 100s"),
        ("Step 1/3 takes 10s", "Step 3/3 takes 30s"),
        ("Step 2a takes 10s", "Step 2b takes 30s"),
        ("Step one enables maintenance", "Step two disables maintenance"),
        ("The first step enables maintenance", "The last step disables maintenance"),
        ("1st step: enable maintenance", "10th step: disable maintenance"),
        ("1. Stop the container", "10. Start the container"),
        ("2) Enable maintenance", "3) Disable maintenance"),
        ("Phase 1 takes 10 minutes", "Phase 2 takes 30 minutes"),
    ],
)
def test_two_steps_of_one_procedure_do_not_conflict(one: str, two: str) -> None:
    assert relate(two, one).relation is relate(one, two).relation is Relation.UNRELATED


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("Step 1 of 3 takes 10s", "The first step takes 30s"),
        ("1. Enable maintenance mode", "1. Disable maintenance mode"),
        ("The upgrade has 3 steps", "The upgrade has 5 steps"),
        ("3 of 12 requests fail", "9 of 12 requests fail"),
    ],
)
def test_two_texts_of_one_step_conflict(one: str, two: str) -> None:
    assert relate(two, one).relation is relate(one, two).relation is Relation.CONFLICTING


@pytest.mark.parametrize(
    ("text", "kind", "low", "high"),
    [
        ("Rows older than a month are dropped", "duration", 2_592_000, 2_592_000),
        ("It is warm within seconds", "duration", 2, 59),
        ("Ready at once", "duration", 0, 5),
        ("Half of the memory is used", "percent", 50, 50),
        ("A fifth of clients time out", "percent", 20, 20),
        ("Nine out of ten hits are cached", "percent", 90, 90),
        ("Roaming takes less than a second", "duration", 1, 1),
        ("The repair takes all night", "duration", 28_800, 43_200),
    ],
)
def test_an_amount_in_words_is_parsed(text: str, kind: str, low: float, high: float) -> None:
    (found,) = [each for each in split_items(text) if each.kind == kind]
    assert (found.low, found.high) == (low, high)


@pytest.mark.parametrize(
    ("text", "bound"),
    [("Never takes more than 3 GB", "max"), ("Does not start with less than 4 GB", "min")],
)
def test_a_negated_comparison_is_a_bound(text: str, bound: str) -> None:
    (clause,) = analyze(text, builtin_lexicon()).clauses
    assert [each.bound for each in clause.measures] == [bound]
    assert clause.denials == 0


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("A restart fixes the crash", 1),
        ("A restart does not fix the crash", -1),
        ("Messages are lost", -1),
        ("Works only without local disks", -1),
        ("The cache is on the array", 0),
        ("The errors are gone", 1),
        ("The errors persist", -1),
        ("The lost channels remain", -1),
        ("The sessions continue", 1),
    ],
)
def test_the_outcome_of_a_text_is_positive_or_negative(text: str, end: int) -> None:
    assert ending_sign(analyze(text, builtin_lexicon()).claims) == end


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        ("Waits for running hooks", "Kills running hooks", -1),
        ("Errors in the feed ended", "The feed works", 1),
        ("Needs redis", "Fails without redis", 1),
        ("Needs redis", "Starts even without redis", -1),
        ("Works while the share is there", "Fails without the share", 1),
        ("A restart helps", "Needs the cache", 0),
        ("Rows are sorted", "Nothing is lost", 0),
        ("The queue was still stuck", "The restart brings the queue back", -1),
        ("The stuttering stopped", "Stuttering remains", -1),
        ("Reloads without losing sessions", "A reload loses sessions", -1),
        ("A feed that times out is tried again", "A feed that times out is dropped", -1),
        ("A pause of the sync avoids the errors", "A pause of the sync causes the errors", -1),
        ("Neither a restart nor a reload helps", "A restart helps", -1),
        ("The mesh stayed frozen although it was reset", "The mesh works", -1),
    ],
)
def test_outcomes_are_compared_with_their_conditions(one: str, two: str, expected: int) -> None:
    (old,), (new,) = (analyze(each, builtin_lexicon()).clauses for each in (one, two))
    assert compare_outcomes(old.outcome, new.outcome) == expected
