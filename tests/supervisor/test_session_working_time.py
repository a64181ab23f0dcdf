"""The working time of a session excludes waiting for a person."""

import asyncio

import pytest

from lamplighter.domain.configuration import Configuration
from lamplighter.supervisor.actions.consent import ApprovalWait
from lamplighter.supervisor.run.limits import Limits, LimitWatch, SessionClock


@pytest.mark.parametrize(("waited", "over"), [(0.0, True), (40.0, True), (90.0, False)])
def test_waiting_for_approval_is_not_working_time(waited: float, over: bool) -> None:
    active = Configuration(session_seconds=60, idle_seconds=1_000)
    watch = LimitWatch(Limits(), asyncio.Event(), active=active, clock=SessionClock(waited=waited))

    watch.clock.began -= 120

    assert bool(watch.due()) is over


async def test_concurrent_waits_count_once_and_park_once() -> None:
    waiting = ApprovalWait()
    assert (waiting.now, waiting.parked.is_set(), waiting.seconds) == (False, False, 0.0)

    with waiting.counted():
        with waiting.counted():
            await asyncio.sleep(0.05)
        assert waiting.now
        inner = waiting.seconds
    outer = waiting.seconds

    assert 0.05 <= inner <= outer
    assert waiting.seconds == outer, "it stands still afterwards"
    assert (waiting.now, waiting.parked.is_set()) == (False, True)
