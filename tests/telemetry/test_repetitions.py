"""The same warning is logged once a minute: an outage of the database fills no disk."""

import logging

from lamplighter.telemetry import Repetitions

GONE = OSError("connection refused")


def logged(*calls: tuple[float, int, str, object]) -> list[str]:
    """Return the lines of some log calls: second, level, message and argument."""
    second = 0.0
    shown, filtered = [], Repetitions(lambda: second)
    for second, level, message, given in calls:
        record = logging.LogRecord("x", level, "", 0, message, (given,), None)
        if filtered.filter(record):
            shown.append(f"{second:g} {record.getMessage()}")
    return shown


def test_a_repeated_warning_is_shown_once_a_minute_with_a_count() -> None:
    outage = [(half / 2, logging.WARNING, "Feed lost (%s).", GONE) for half in range(150)]

    assert logged(*outage) == [
        "0 Feed lost (connection refused).",
        "60 Feed lost (connection refused). (119 more not shown)",
    ]


def test_other_lines_are_always_shown() -> None:
    lines = [
        (0, logging.WARNING, "Feed lost (%s).", GONE),
        (1, logging.WARNING, "Feed lost (%s).", OSError("timed out")),
        (2, logging.WARNING, "Round late (%s).", GONE),
        (3, logging.ERROR, "Feed lost (%s).", GONE),
        (4, logging.WARNING, "Session %s failed.", 7),
        (5, logging.WARNING, "Session %s failed.", 7),
    ]

    assert len(logged(*lines)) == len(lines)
