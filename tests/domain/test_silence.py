"""Silence: when a window is open, and which silence of a service applies."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamplighter.domain.services.checks.silence import (
    MaintenanceWindow,
    ServicePause,
    SilenceKind,
    find_silence,
)
from lamplighter.domain.services.notice import NoticeTarget, targets_for

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
NIGHTLY = MaintenanceWindow(name="updates", cron="30 2 * * *", zone="Europe/Berlin", seconds=7_200)
ONCE = MaintenanceWindow(name="move", start=NOON, end=NOON + HOUR)


def paused(until: datetime | None = None, ended: datetime | None = None) -> ServicePause:
    return ServicePause(
        id=1, service="a", reason="disk", by="ann", began_at=NOON, until=until, ended_at=ended
    )


@pytest.mark.parametrize(
    ("at", "until"),
    [
        (datetime(2026, 1, 2, 1, 29, tzinfo=UTC), None),
        (datetime(2026, 1, 2, 1, 30, tzinfo=UTC), datetime(2026, 1, 2, 3, 30, tzinfo=UTC)),
        (datetime(2026, 1, 2, 3, 29, tzinfo=UTC), datetime(2026, 1, 2, 3, 30, tzinfo=UTC)),
        (datetime(2026, 1, 2, 3, 30, tzinfo=UTC), None),
        (datetime(2026, 7, 2, 0, 30, tzinfo=UTC), datetime(2026, 7, 2, 2, 30, tzinfo=UTC)),
        (datetime(2026, 10, 25, 2, 29, tzinfo=UTC), datetime(2026, 10, 25, 2, 30, tzinfo=UTC)),
        (datetime(2026, 10, 25, 3, 15, tzinfo=UTC), None),  # the clock showed 02:15 twice
    ],
)
def test_a_recurring_window_follows_the_clock_of_its_zone(
    at: datetime, until: datetime | None
) -> None:
    assert NIGHTLY.open_until(at) == until


def test_a_window_in_the_repeated_hour_of_autumn_opens_once() -> None:
    night = datetime(2026, 10, 25, tzinfo=UTC)
    opened = (night + HOUR / 2, night + 2.5 * HOUR)

    for minutes in range(0, 150, 5):
        assert NIGHTLY.times(night + minutes * HOUR / 60, night + 5 * HOUR) == [opened]
    assert NIGHTLY.times(night + 3.25 * HOUR, night + 5 * HOUR) == []


@pytest.mark.parametrize(
    ("zone", "night", "cron", "opens"),
    [
        # the clock goes forward: a missing time is the first moment after the gap
        ("Europe/Berlin", "2026-03-29", "0 2 * * *", ["2026-03-29 03:00+02:00"]),
        ("Europe/Berlin", "2026-03-29", "30 2 * * *", ["2026-03-29 03:00+02:00"]),
        ("Europe/Berlin", "2026-03-29", "0 3 * * *", ["2026-03-29 03:00+02:00"]),
        ("America/New_York", "2026-03-08", "0 2 * * *", ["2026-03-08 03:00-04:00"]),
        ("America/New_York", "2026-03-08", "30 2 * * *", ["2026-03-08 03:00-04:00"]),
        ("Australia/Lord_Howe", "2026-10-04", "0 2 * * *", ["2026-10-04 02:30+11:00"]),
        ("Australia/Lord_Howe", "2026-10-04", "30 2 * * *", ["2026-10-04 02:30+11:00"]),
        # the clock goes back: a repeated time counts once, the first time
        ("Europe/Berlin", "2026-10-25", "0 2 * * *", ["2026-10-25 02:00+02:00"]),
        ("Europe/Berlin", "2026-10-25", "30 2 * * *", ["2026-10-25 02:30+02:00"]),
        ("Europe/Berlin", "2026-10-25", "0 3 * * *", ["2026-10-25 03:00+01:00"]),
        ("America/New_York", "2026-11-01", "30 1 * * *", ["2026-11-01 01:30-04:00"]),
        ("America/New_York", "2026-11-01", "0 2 * * *", ["2026-11-01 02:00-05:00"]),
        ("Australia/Lord_Howe", "2026-04-05", "45 1 * * *", ["2026-04-05 01:45+11:00"]),
        ("Australia/Lord_Howe", "2026-04-05", "0 2 * * *", ["2026-04-05 02:00+10:30"]),
        # every hour: the repeated hour has two openings
        (
            "Europe/Berlin",
            "2026-10-25",
            "0 * * * *",
            [
                *("2026-10-25 00:00+02:00", "2026-10-25 01:00+02:00", "2026-10-25 02:00+02:00"),
                *("2026-10-25 02:00+01:00", "2026-10-25 03:00+01:00"),
            ],
        ),
    ],
)
def test_a_window_opens_when_its_zone_changes_the_clock_and_lasts_as_long_as_declared(
    zone: str, night: str, cron: str, opens: list[str]
) -> None:
    window = MaintenanceWindow(cron=cron, zone=zone, seconds=3_600)
    start = datetime.fromisoformat(f"{night} 00:00").replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
    expected = [datetime.fromisoformat(each).astimezone(UTC) for each in opens]

    opened = window.times(start - HOUR / 60, start + 4.9 * HOUR)

    assert [begin for begin, _ in opened if begin >= start] == expected
    assert {end - begin for begin, end in opened} == {HOUR}
    for minute in range(5 * 60):
        at = start + minute * HOUR / 60
        until = next((end for begin, end in opened if begin <= at < end), None)
        assert window.open_until(at) == until


def window(begin: float, end: float) -> MaintenanceWindow:
    return MaintenanceWindow(name=f"{begin}", start=NOON + begin * HOUR, end=NOON + end * HOUR)


@pytest.mark.parametrize(
    ("windows", "hours"),
    [
        ([window(-1, 1), window(0, 3)], 3),
        ([window(0, 3), window(-1, 1)], 3),
        ([window(-1, 1), window(0.5, 2), window(2, 4), window(4.5, 6)], 4),
        ([window(-1, 3), window(0.5, 1)], 3),
        ([MaintenanceWindow(cron="0 12 * * *", seconds=3_600), window(0.5, 2)], 2),
        ([MaintenanceWindow(cron="*/30 * * * *", seconds=3_600)], 10.5),  # always open: limited
    ],
)
def test_windows_that_overlap_end_together(windows: list[MaintenanceWindow], hours: float) -> None:
    silence = find_silence(windows, [], declared=False, at=NOON)

    assert silence is not None
    assert silence.until == NOON + hours * HOUR
    assert silence.reason == windows[0].name


@pytest.mark.parametrize(("hours", "ends"), [(0.5, 3), (1, 1), (4, 4), (None, None)])
def test_a_pause_ends_with_the_window_that_is_open_at_its_end(
    hours: float | None, ends: float | None
) -> None:
    windows = [window(-1, 1), window(0.75, 3)] if hours == 0.5 else [window(0, 1), window(2, 3)]
    pause = paused(NOON + hours * HOUR if hours is not None else None)

    silence = find_silence(windows, [pause], declared=False, at=NOON)

    assert silence is not None
    assert (silence.kind, silence.reason) == (SilenceKind.PAUSE, "disk")
    assert silence.until == (None if ends is None else NOON + ends * HOUR)


def test_a_one_time_window_closes_at_its_end() -> None:
    assert ONCE.open_until(NOON - timedelta(seconds=1)) is None
    assert ONCE.open_until(NOON) == NOON + HOUR
    assert ONCE.open_until(NOON + HOUR) is None


def test_the_file_takes_precedence_over_a_pause_and_a_pause_over_a_window() -> None:
    windows, pauses = [ONCE], [paused()]

    by_file = find_silence(windows, pauses, declared=True, at=NOON)
    by_pause = find_silence(windows, pauses, declared=False, at=NOON)
    by_window = find_silence(windows, [], declared=False, at=NOON)

    assert by_file is not None
    assert (by_file.kind, by_file.reason) == (SilenceKind.PAUSE, "paused in services.yaml")
    assert by_pause is not None
    assert (by_pause.kind, by_pause.reason, by_pause.until) == (SilenceKind.PAUSE, "disk", None)
    assert by_window is not None
    assert (by_window.kind, by_window.until) == (SilenceKind.MAINTENANCE, NOON + HOUR)
    assert find_silence(windows, [], declared=False, at=NOON + HOUR) is None


@settings(deadline=None)
@given(st.integers(-100, 100), st.integers(0, 100), st.integers(0, 100))
def test_a_pause_covers_the_time_from_its_begin_to_its_first_end(
    at: int, until: int, ended: int
) -> None:
    minute = timedelta(minutes=1)
    pause = paused(NOON + until * minute, NOON + ended * minute)

    assert pause.covers(NOON + at * minute) == (0 <= at < min(until, ended))


@pytest.mark.parametrize(
    ("routes", "expected"),
    [((), "abc"), (("OPS",), "b"), (("ops", "family"), "bc"), (("gone",), "abc")],
)
def test_a_notice_is_sent_to_the_targets_of_its_service(
    routes: tuple[str, ...], expected: str
) -> None:
    targets = [NoticeTarget("a"), NoticeTarget("b", "ops"), NoticeTarget("c", "family")]

    assert targets_for(routes, targets) == set(expected)
