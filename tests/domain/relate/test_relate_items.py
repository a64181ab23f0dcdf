"""The items of a sentence: words, numbers with their units, names, and breaks."""

import pytest

from lamplighter.domain.relate.text import split_items
from lamplighter.domain.stemming import stem

MINUTE, HOUR, DAY, WEEK = 60.0, 3_600.0, 86_400.0, 604_800.0


def read(text: str) -> list[tuple[str, float, float]]:
    """Return the kind and the bounds of a measure."""
    return [
        (item.kind, item.low, item.high)
        for item in split_items(text)
        if item.kind not in ("word", "stop", "name")
    ]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("60s", 60.0),
        ("60 sec", 60.0),
        ("sixty seconds", 60.0),
        ("1 minute", MINUTE),
        ("1.5 hours", 1.5 * HOUR),
        ("90-minute", 1.5 * HOUR),
        ("half an hour", 0.5 * HOUR),
        ("an hour and a half", 1.5 * HOUR),
        ("two and a half hours", 2.5 * HOUR),
        ("a couple of minutes", 2 * MINUTE),
        ("needs a minute", MINUTE),
        ("within an hour", HOUR),
        ("A minute is needed", MINUTE),
        ("quarter of an hour", 15 * MINUTE),
        ("300ms", 0.3),
        ("14 days", 14 * DAY),
        ("a dozen weeks", 12 * WEEK),
        ("1,500 ms", 1.5),
        ("٣٤ s", 34.0),
    ],
)
def test_durations_are_converted_to_seconds(text: str, seconds: float) -> None:
    assert read(text) == [("duration", seconds, seconds)]


def test_an_amount_per_minute_is_not_a_duration() -> None:
    assert [kind for kind, *_ in read("60 requests a minute")] == ["number"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2 to 3 minutes", ("duration", 120.0, 180.0)),
        ("2-3 GB", ("bytes", 2.0 * 2**30, 3.0 * 2**30)),
        ("a few minutes", ("duration", 120.0, 540.0)),
        ("several hours", ("duration", 2 * HOUR, 9 * HOUR)),
    ],
)
def test_a_range_has_two_ends(text: str, found: tuple[str, float, float]) -> None:
    assert read(text) == [found]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("every 14 days", 14 * DAY),
        ("every day", DAY),
        ("daily", DAY),
        ("nightly", DAY),
        ("weekly", WEEK),
        ("fortnightly", 2 * WEEK),
        ("every other day", 2 * DAY),
        ("twice a day", DAY / 2),
        ("4 times per hour", HOUR / 4),
        ("once a week", WEEK),
        ("once in 3 weeks", 3 * WEEK),
        ("at 15-minute intervals", 15 * MINUTE),
        ("*/5 * * * *", 5 * MINUTE),
        ("0 */6 * * *", 6 * HOUR),
    ],
)
def test_a_recurrence_is_a_period_in_seconds(text: str, seconds: float) -> None:
    assert read(text) == [("period", seconds, seconds)]


def test_a_daily_cron_expression_is_a_time_of_day_and_a_period() -> None:
    assert read("30 3 * * *") == [("clock", 210.0, 210.0), ("period", DAY, DAY)]


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("03:00", 180),
        ("3am", 180),
        ("3:30 pm", 930),
        ("12 am", 0),
        ("12pm", 720),
        ("noon", 720),
        ("midnight", 0),
        ("half past 3", 210),
        ("quarter past 4", 255),
        ("3 in the morning", 180),
        ("5 in the afternoon", 1020),
        ("23:59:59", 1439),
    ],
)
def test_a_time_of_day_is_converted_to_minutes_after_midnight(text: str, minutes: int) -> None:
    assert read(text) == [("clock", minutes, minutes)]


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("Mondays", (1, 1)),
        ("on tue", (2, 2)),
        ("Wednesday", (3, 3)),
        ("thurs", (4, 4)),
        ("sun", (7, 7)),
        ("weekends", (6, 7)),
        ("on weekdays", (1, 5)),
        ("working days", (1, 5)),
    ],
)
def test_weekdays_are_numbered(text: str, days: tuple[int, int]) -> None:
    assert read(text) == [("weekday", *days)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("5 GiB", ("bytes", 5.0 * 2**30)),
        ("512kb", ("bytes", 512.0 * 2**10)),
        ("100 Mbit", ("rate", 1e8)),
        ("20 %", ("percent", 20.0)),
        ("20 percent", ("percent", 20.0)),
        ("85C", ("celsius", 85.0)),
        ("1,000", ("number", 1000.0)),
        ("twelve", ("number", 12.0)),
    ],
)
def test_sizes_rates_and_other_amounts_are_normalized(text: str, found: tuple[str, float]) -> None:
    kind, at = found
    assert read(text) == [(kind, at, at)]


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        ("v1.2.3", "version", "1.2.3"),
        ("1.2", "version", "1.2"),
        ("10.0.0.1:53", "address", "10.0.0.1:53"),
        ("http://10.0.0.1/x/", "path", "http://10.0.0.1/x"),
        ("~/media/", "path", "~/media"),
        ("/var/lib/x.db", "path", "/var/lib/x.db"),
        ("sda1", "name", "sda1"),
        ("config.yaml", "name", "config.yaml"),
        ("max_wal_size", "name", "max_wal_size"),
        ("1st", "ordinal", "1st"),
    ],
)
def test_versions_addresses_and_other_identifiers_are_recognized(
    text: str, kind: str, said: str
) -> None:
    assert [(item.kind, item.text) for item in split_items(text)] == [(kind, said)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("can't", "can not"),
        ("doesn’t", "does not"),
        ("won't", "will not"),
        ("w/o cache", "without cache"),
        ("it's up", "it is up"),
        (">= 5", "minimum 5"),
        ("<=5", "maximum 5"),
        ("5+", "5 minimum"),
        ("more than 5", "minimum 5"),
        ("older than 3.2", "below 3.2"),
        ("\uff26ull\u3000width", "full width"),
    ],
)
def test_contractions_are_expanded(text: str, words: str) -> None:
    assert " ".join(item.text for item in split_items(text)) == words


def test_punctuation_breaks_a_sentence_but_hyphens_in_words_do_not() -> None:
    stops = [item.text for item in split_items("a; b (c) d - e, f. g") if item.kind == "stop"]
    assert stops == [";", "(", ")", "-", ",", "."]
    assert [item.text for item in split_items("first-come first-served")] == [
        "first",
        "come",
        "first",
        "served",
    ]


def test_only_the_first_1000_items_are_read() -> None:
    assert len(split_items("a " * 5_000)) == 1_000
    assert len(split_items("\ufdfa" * 2_000)) < 1_000  # eighteen characters each


def test_inflected_forms_have_one_stem() -> None:
    assert {stem(word) for word in ("restart", "restarts", "restarted", "restarting")} == {
        "restart"
    }
