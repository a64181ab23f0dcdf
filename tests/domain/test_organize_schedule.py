"""When a scheduled run of the organizer is due, and when a run is continued."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from lamplighter.domain.organize.run import (
    ABANDONED_AFTER,
    GROWTH,
    OrganizerRun,
    RunState,
    is_due,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
LAST = OrganizerRun(
    id=1,
    state=RunState.COMPLETED,
    trigger="schedule",
    started_at=NOON,
    heartbeat_at=NOON,
    ended_at=NOON,
    counts={"raw_after": 500, "distilled_after": 50},
)


@pytest.mark.parametrize(
    ("last", "change", "expected"),
    [
        (None, {}, True),
        (None, {"raw": 0}, False),
        (LAST, {}, False),
        (LAST, {"now": NOON + 6 * HOUR}, True),
        (LAST, {"now": NOON + 6 * HOUR, "interval": None}, False),
        (LAST, {"now": NOON + 6 * HOUR, "undone": True}, False),
        (LAST, {"raw": 500 + GROWTH - 1}, False),
        (LAST, {"raw": 500 + GROWTH}, True),
        (LAST, {"raw": 500 + 2 * GROWTH, "distilled": 50 + 3 * GROWTH}, False),
        (replace(LAST, ended_at=None), {"now": NOON + 99 * HOUR}, False),
    ],
)
def test_a_run_is_due_after_its_interval_if_there_is_work(
    last: OrganizerRun | None, change: dict[str, object], expected: bool
) -> None:
    usual = {
        "undone": False,
        "interval": 6 * HOUR,
        "raw": 500,
        "distilled": 50,
        "now": NOON + HOUR,
    }

    assert is_due(last, **{**usual, **change}) is expected  # type: ignore[arg-type]


def test_a_queued_or_abandoned_run_is_to_be_continued() -> None:
    running = replace(LAST, state=RunState.RUNNING, ended_at=None)

    assert replace(running, state=RunState.QUEUED).waits(NOON)
    assert not running.waits(NOON + ABANDONED_AFTER / 2)
    assert running.waits(NOON + ABANDONED_AFTER)
