"""When two measures agree, and when two words match."""

from typing import Any

import pytest

from lamplighter.domain.relate import analyze, builtin_lexicon
from lamplighter.domain.relate.analysis import Measure
from lamplighter.domain.relate.match import differs_by_typo, edit_distance, match, negates
from lamplighter.domain.relate.measures import comparable, match_measures, measures_agree


def amount(kind: str, low: float, high: float | None = None, **more: Any) -> Measure:
    return Measure(kind, f"{low:g}", low, low if high is None else high, **more)


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        (amount("duration", 60), amount("duration", 60), True),
        (amount("duration", 60), amount("duration", 70), True),
        (amount("duration", 60), amount("duration", 72), False),
        (amount("duration", 60), amount("duration", 600), False),
        (amount("duration", 120, 540), amount("duration", 300), True),
        (amount("duration", 60), amount("period", 60), False),
        (amount("port", 8096), amount("port", 8097), False),
        (amount("port", 8096), amount("number", 8096), True),
        (amount("status", 302), amount("number", 200), False),
        (amount("weekday", 6, 7), amount("weekday", 7), True),
        (amount("weekday", 1, 5), amount("weekday", 6), False),
        (amount("weekday", 7), amount("period", 604_800), True),
        (amount("weekday", 7), amount("period", 86_400), False),
        (amount("weekday", 1, 5), amount("period", 604_800), False),
        (amount("clock", 180), amount("clock", 181), False),
        (amount("clock", 180), amount("period", 86_400), False),
        (Measure("path", "/var/lib"), Measure("path", "/var/lib/x"), False),
        (Measure("path", "/var/lib"), Measure("path", "/var/log"), False),
        (Measure("version", "1.2.3"), Measure("version", "1.2.4"), False),
        (Measure("address", "10.0.0.1"), Measure("address", "10.0.0.1"), True),
        (amount("bytes", 4, bound="min"), amount("bytes", 2, bound="max"), False),
        (amount("bytes", 2, bound="min"), amount("bytes", 4, bound="max"), True),
        (amount("number", 4, bound="min"), amount("number", 6), True),
        (amount("number", 4, bound="min"), amount("number", 3), False),
        (Measure("version", "3.10", bound="min"), Measure("version", "3.9"), False),
        (Measure("version", "3.9", bound="min"), Measure("version", "3.10"), True),
    ],
)
def test_measures_agree_by_kind_value_and_bound(one: Measure, two: Measure, same: bool) -> None:
    assert measures_agree(one, two) is same
    assert measures_agree(two, one) is same


def test_a_time_of_day_is_comparable_with_a_period_but_not_with_a_size() -> None:
    assert comparable(amount("clock", 0), amount("period", 0))
    assert not comparable(amount("clock", 0), amount("bytes", 0))


def test_each_measure_is_matched_with_the_closest_of_its_kind() -> None:
    minute, hour, port = amount("duration", 60), amount("duration", 3600), amount("port", 80)
    found = match_measures([minute, port], [hour, amount("duration", 61)])
    assert found.same == [(minute, amount("duration", 61))]
    assert found.unlike == []
    assert (found.left, found.right) == ([port], [hour])


def test_a_negated_value_conflicts_with_the_same_value() -> None:
    plain, denied = amount("status", 200), amount("status", 200, denied=True)
    assert match_measures([plain], [amount("status", 302), denied]).unlike == [
        (plain, amount("status", 302))
    ]
    assert match_measures([plain], [denied]).unlike == [(plain, denied)]
    assert match_measures([denied], [plain]).unlike == [(denied, plain)]
    assert match_measures([denied], [denied]) == match_measures([], [])


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        ("transcode", "trnascode", True),
        ("transcode", "transcoed", True),
        ("transcode", "transmute", False),
        ("cache", "cahce", True),
        ("cache", "cachet", True),
        ("cache", "crash", False),
        ("disk", "desk", False),
        ("primary", "rimary", False),
        ("disk-sda1", "disk-sdb1", False),
        ("a" * 41, "a" * 42, False),
    ],
)
def test_one_typo_in_a_word_is_recognized_but_not_in_a_short_word(
    one: str, two: str, same: bool
) -> None:
    assert differs_by_typo(one, two) is same
    assert differs_by_typo(two, one) is same


@pytest.mark.parametrize(
    ("one", "two", "count"),
    [("", "", 0), ("ab", "ba", 1), ("abc", "abc", 0), ("abc", "axc", 1), ("abc", "", 3)],
)
def test_edit_distance_counts_a_swap_as_one(one: str, two: str, count: int) -> None:
    assert edit_distance(one, two) == edit_distance(two, one) == count


@pytest.mark.parametrize(
    ("one", "two", "denies"),
    [
        ("reversible", "irreversible", True),
        ("reachable", "unreachable", True),
        ("fault", "default", False),
        ("cover", "discover", False),
        ("port", "import", False),
    ],
)
def test_a_negating_prefix_makes_an_opposite(one: str, two: str, denies: bool) -> None:
    assert negates(one, two) == negates(two, one) == denies


def test_an_equal_word_is_matched_before_an_opposite() -> None:
    """Otherwise "survive" would match "crash", and the other text's "crash" would be left over."""
    old, new = (
        analyze(text, builtin_lexicon())
        for text in ("Messages survive a crash", "A crash of the broker loses messages")
    )
    pairs = [(pair.old.surface, pair.new.surface) for pair in match(old.clauses, new.clauses).pairs]
    assert ("crash", "crash") in pairs


def test_words_on_the_same_pole_of_an_axis_are_not_opposites() -> None:
    old, new = (
        analyze(text, builtin_lexicon())
        for text in ("A restart helps the stream", "A restart cures the stream")
    )
    assert not any(
        pair.opposed or pair.opposite_signs for pair in match(old.clauses, new.clauses).pairs
    )
