"""The cooldown as a table: used slots, free slots, and when a first attempt fails."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.services.cooldown import (
    LIMITS,
    CooldownUse,
    Limit,
    UseOutcome,
    claims_first_fails,
    cooldown_refusal,
    cooldown_status,
    describe_slots,
    first_attempt_fails,
)
from lamplighter.domain.services.service import ActionKind

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
TICK = timedelta(microseconds=1)
RESTART, REDEPLOYMENT = ActionKind.RESTART, ActionKind.REDEPLOYMENT
DONE = CooldownUse(id=1, service="web", action=RESTART, outcome=UseOutcome.SUCCESS, created_at=NOON)


def used(*ages: timedelta, action: ActionKind = RESTART, **more) -> list[CooldownUse]:
    """Return uses of these ages."""
    return [replace(DONE, created_at=NOON - age, action=action, **more) for age in ages]


def test_the_limits_are_two_restarts_in_four_hours_and_one_redeployment_in_a_day() -> None:
    assert {RESTART: Limit(2, 4 * HOUR), REDEPLOYMENT: Limit(1, 24 * HOUR)} == LIMITS


@pytest.mark.parametrize(
    ("action", "ages", "count", "frees_in"),
    [
        (RESTART, [], 0, None),
        (RESTART, [HOUR], 1, None),
        (RESTART, [2 * HOUR, HOUR], 2, 2 * HOUR),
        (RESTART, [HOUR, 2 * HOUR], 2, 2 * HOUR),
        (RESTART, [4 * HOUR - TICK, HOUR], 2, TICK),
        (RESTART, [4 * HOUR, HOUR], 1, None),
        (RESTART, [4 * HOUR, 4 * HOUR], 0, None),
        (RESTART, [-HOUR, HOUR], 2, 3 * HOUR),
        (RESTART, [-99 * HOUR, -HOUR], 2, 5 * HOUR),
        (RESTART, [3 * HOUR, 2 * HOUR, HOUR], 3, 2 * HOUR),
        (REDEPLOYMENT, [23 * HOUR], 1, HOUR),
        (REDEPLOYMENT, [24 * HOUR - TICK], 1, TICK),
        (REDEPLOYMENT, [24 * HOUR], 0, None),
        (REDEPLOYMENT, [-HOUR], 1, 25 * HOUR),
    ],
)
def test_uses_within_the_window_count(
    action: ActionKind, ages: list[timedelta], count: int, frees_in: timedelta | None
) -> None:
    found = cooldown_status("web", action, used(*ages, action=action), now=NOON)

    assert found.used == count
    assert found.free == (count < LIMITS[action].uses)
    assert found.frees_at == (None if frees_in is None else NOON + frees_in)
    assert found.last_at == (NOON - min(ages) if ages else None)


@pytest.mark.parametrize(
    ("outcome", "counts"),
    [
        (UseOutcome.RESERVED, True),
        (UseOutcome.SUCCESS, True),
        (UseOutcome.FAILURE, True),
        (UseOutcome.ABANDONED, True),
        (UseOutcome.REFUSED, False),
        (UseOutcome.WOULD, False),
    ],
)
def test_reserved_uses_count_and_refused_ones_do_not(outcome: UseOutcome, counts: bool) -> None:
    uses = used(HOUR, outcome=outcome)

    assert cooldown_status("web", RESTART, uses, now=NOON).used == counts


@pytest.mark.parametrize("by", ["healthy", "operator"])
def test_cleared_uses_do_not_count(by: str) -> None:
    uses = used(HOUR, HOUR, cleared_at=NOON, cleared_by=by)

    found = cooldown_status("web", RESTART, uses, now=NOON)

    assert (found.used, found.frees_at, found.last_at) == (0, None, None)


def test_each_kind_of_action_is_counted_separately() -> None:
    uses = used(HOUR, HOUR) + used(HOUR, action=REDEPLOYMENT)

    assert [cooldown_status("web", each, uses, now=NOON).used for each in ActionKind] == [2, 1]


@given(
    st.lists(st.integers(-10, 40).map(lambda hours: hours * HOUR), max_size=8),
    st.sampled_from(ActionKind),
)
def test_a_full_cooldown_is_free_exactly_at_the_stated_time(
    ages: list[timedelta], action: ActionKind
) -> None:
    uses = used(*ages, action=action)

    found = cooldown_status("web", action, uses, now=NOON)

    assert found.free == (found.frees_at is None)
    if found.frees_at is not None:
        assert not cooldown_status("web", action, uses, now=found.frees_at - TICK).free
        assert cooldown_status("web", action, uses, now=found.frees_at).free


@pytest.mark.parametrize(
    ("action", "ages", "words", "refused"),
    [
        (RESTART, [], "2 of 2 uses of restart left", "used 0 of 2 times in 4 h"),
        (RESTART, [HOUR], "1 of 2 uses of restart left", "used 1 of 2 times in 4 h"),
        (
            RESTART,
            [HOUR, 2 * HOUR],
            "0 of 2 uses of restart left, the next one at 14:00 UTC",
            "used 2 of 2 times in 4 h; next use at 14:00 UTC",
        ),
        (
            RESTART,
            [HOUR, HOUR, HOUR],
            "0 of 2 uses of restart left, the next one at 15:00 UTC",
            "used 3 of 2 times in 4 h; next use at 15:00 UTC",
        ),
        (
            REDEPLOYMENT,
            [HOUR],
            "0 of 1 uses of redeployment left, the next one at 02 Jan 11:00 UTC",
            "used 1 of 1 times in 24 h; next use at 02 Jan 11:00 UTC",
        ),
    ],
)
def test_a_cooldown_status_is_described(
    action: ActionKind, ages: list[timedelta], words: str, refused: str
) -> None:
    found = cooldown_status("web", action, used(*ages, action=action), now=NOON)

    assert (describe_slots(found, now=NOON), cooldown_refusal(found, now=NOON)) == (words, refused)


OK, NO = UseOutcome.SUCCESS, UseOutcome.FAILURE


@pytest.mark.parametrize(
    ("uses", "known"),
    [
        ([], False),
        ([(OK, 2)], False),
        ([(OK, 2), (OK, 2)], True),
        ([(OK, 1), (NO, 1)], False),
        ([(OK, 1), (NO, 1), (OK, 1), (NO, 1)], True),
        ([(OK, 2), (OK, 1), (NO, 1)], True),
        ([(OK, 1), (NO, 1), (OK, 2)], True),
        ([(OK, 1), (OK, 2), (OK, 2)], False),
        ([(OK, 1), (OK, 1)], False),
        ([(OK, 2), (OK, 1), (OK, 2)], False),
        ([(NO, 1), (OK, 2), (OK, 2)], False),
        ([(NO, 2), (OK, 2), (OK, 2)], False),
        ([(OK, 2), (NO, 2), (OK, 2)], False),
        ([(UseOutcome.REFUSED, 0), (OK, 2), (UseOutcome.WOULD, 0), (OK, 2)], True),
        ([(UseOutcome.ABANDONED, 1), (OK, 2), (OK, 2)], True),
    ],
)
def test_two_second_attempt_successes_show_that_the_first_attempt_fails(
    uses: list[tuple[UseOutcome, int]], known: bool
) -> None:
    """`uses` come newest first, as (outcome, attempts)."""
    found = [replace(DONE, outcome=outcome, attempts=attempts) for outcome, attempts in uses]

    assert first_attempt_fails(found) is known


@pytest.mark.parametrize(
    ("observation", "says"),
    [
        ("The first restart fails and the second one works", True),
        ("First restart usually fails, second succeeds", True),
        ("Fails on the first attempt after an update", True),
        ("The first start hangs; start it again", True),
        ("The first try never comes up", True),
        ("First deployment times out", True),
        ("The first redeploy crashes with a lock error", True),
        ("The first restart works", False),
        ("The first restart never fails", False),
        ("The first restart does not fail any more", False),
        ("The first restart no longer hangs", False),
        ("The first restart never fails at night but fails by day", False),
        ("First restart postgres; jellyfin never recovers without it", False),
        ("On first start it does not need a migration", False),
        ("The first restart usually works; a second one never helps", False),
        ("Fails when the disk is full: first try freeing space", False),
        ("Crashes on its first start", True),
        ("Restart first, then look", False),
        ("Restart postgres first: it fails without it", False),
        ("Fails when postgres fails; repair postgres first", False),
        ("Takes 60s to start after restart", False),
        ("", False),
    ],
)
def test_a_memory_can_state_that_the_first_attempt_fails(observation: str, says: bool) -> None:
    assert claims_first_fails(observation) is says


@pytest.mark.parametrize(("apart", "known"), [(timedelta(hours=4), True), (5 * HOUR, False)])
def test_a_failure_long_before_a_success_is_ignored(apart: timedelta, known: bool) -> None:
    uses = [
        replace(DONE, outcome=outcome, attempts=1, created_at=NOON - age)
        for outcome, age in [(OK, 0 * HOUR), (NO, apart), (OK, 30 * HOUR), (NO, 30 * HOUR + apart)]
    ]

    assert first_attempt_fails(uses) is known
