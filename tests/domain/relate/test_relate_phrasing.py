"""One claim in another phrasing: verbs in two parts, idioms, amounts in words, who acts."""

import pytest

from lamplighter.domain.relate import Relation, analyze, builtin_lexicon, relate

CONFLICTING = Relation.CONFLICTING


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The pump shuts the valve down", "The pump shuts down the valve"),
        ("The hub re-registers", "The hub registers again"),
        ("The lamp restarts itself", "The lamp restarts on its own"),
        ("The download resumes where it stopped", "The download resumes"),
        ("Loading is a matter of two minutes", "Loading takes two minutes"),
        ("Polls at intervals of ten minutes", "Polls every ten minutes"),
        ("The shutter shuts at dusk", "The shutter closes at dusk"),
    ],
)
def test_two_phrasings_have_the_same_words(one: str, other: str) -> None:
    said = [
        [
            [sorted(sense.key for sense in word.senses) for word in clause.tokens]
            for clause in analyze(each, builtin_lexicon()).clauses
        ]
        for each in (one, other)
    ]
    assert [sorted(words) for words in said[0]] == [sorted(words) for words in said[1]]


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("A key is good for a third of a day", 28_000, 29_000),
        ("The timer fires after a tenth of a second", 0.1, 0.1),
        ("Frames are kept for ever", 86_400 * 30 * 365, 86_400 * 365 * 1_000),
        ("Frames are kept indefinitely", 86_400 * 30 * 365, 86_400 * 365 * 1_000),
    ],
)
def test_an_amount_in_words_is_a_measure(text: str, low: float, high: float) -> None:
    [[measure]] = [each.measures for each in analyze(text, builtin_lexicon()).clauses]

    assert low <= measure.low <= measure.high <= high


@pytest.mark.parametrize("text", ["The probe keeps to itself", "The pump itself is loud"])
def test_itself_is_no_adverb_of_manner_elsewhere(text: str) -> None:
    [clause] = analyze(text, builtin_lexicon()).clauses

    assert "automatically" not in [word.surface for word in clause.tokens]


def test_data_without_an_expiry_is_not_kept_for_a_month() -> None:
    assert relate("Traces are kept for ever", "Traces are kept for a month").relation is CONFLICTING
