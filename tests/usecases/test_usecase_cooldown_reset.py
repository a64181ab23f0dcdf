"""Cooldowns reset after two healthy rounds in a row, or by an operator."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from acting import (
    HOUR,
    REDEPLOY,
    RESTART,
    SERVICES,
    acted,
    texts,
    used,
    uses,
)
from examples import NOON, rows, session

from contexts import DEFAULTS, context
from lamplighter.domain.errors import NotFound
from lamplighter.domain.services.service import ActionKind
from lamplighter.domain.sessions.session import CheckResult, Status, Trigger
from lamplighter.repository import Database, writing
from lamplighter.repository.access import journal
from lamplighter.repository.services import checks
from lamplighter.usecases.memory import journal as acts
from lamplighter.usecases.services import act
from lamplighter.usecases.sessions import sessions
from lamplighter.usecases.sessions.sessions import SessionEnd


async def made_round(
    db: Database,
    *ok: bool,
    now: datetime,
    status: Status = Status.COMPLETED,
    tier: int = 1,
    trigger: Trigger = Trigger.SCHEDULED,
) -> None:
    """Store a round with these check results of Web and with this status."""
    opened = await session(db, tier=tier, trigger=trigger)
    async with writing(db):
        for number, each in enumerate(ok):
            look = CheckResult(service="Web", name=f"check-{number}", kind="tcp", ok=each)
            await checks.insert(db, opened.id, look, now=now)
    await sessions.finish(context(db, now), DEFAULTS, opened, SessionEnd(status=status))


@pytest.mark.parametrize(
    ("rounds", "free"),
    [
        ([[True]], False),
        ([[True], [True]], True),
        ([[True], [False], [True]], False),
        ([[True], [True, False], [True]], False),
        ([[False], [True], [True]], True),
        ([[True], [False], [True], [True]], True),
        ([[False], [False]], False),
    ],
)
async def test_two_healthy_rounds_in_a_row_reset_the_cooldowns(
    db: Database, rounds: list[list[bool]], free: bool
) -> None:
    await acted(db, await session(db, tier=3))

    for number, looks in enumerate(rounds, 1):
        await made_round(db, *looks, now=NOON + number * HOUR / 2)

    later = NOON + 3 * HOUR
    assert await used(db, now=later) == ([0, 0] if free else [1, 0])
    said = "Healthy for 2 rounds in a row; cooldowns reset."
    assert await texts(db, "info") == [said] * free
    [use] = await uses(db)
    assert use.cleared_by == ("healthy" if free else None)


@pytest.mark.parametrize("broken_off_first", [True, False])
@pytest.mark.parametrize(
    ("tier", "status"),
    [(2, Status.COMPLETED), (1, Status.FAILED), (1, Status.STOPPED), (1, Status.INTERRUPTED)],
)
async def test_only_completed_rounds_reset_a_cooldown(
    db: Database, tier: int, status: Status, broken_off_first: bool
) -> None:
    await acted(db, await session(db, tier=3))
    both: list[dict[str, Any]] = [{"tier": tier, "status": status}, {}]

    ordered = both if broken_off_first else both[::-1]
    for minutes, more in zip((5, 36), ordered, strict=True):
        await made_round(db, True, now=NOON + timedelta(minutes=minutes), **more)

    assert await used(db) == [1, 0]


async def test_an_interrupted_round_still_reports_failures(db: Database) -> None:
    await acted(db, await session(db, tier=3))

    await made_round(db, True, now=NOON + timedelta(minutes=5))
    await made_round(db, False, now=NOON + timedelta(minutes=40), status=Status.STOPPED)
    await made_round(db, True, now=NOON + timedelta(minutes=80))

    assert await used(db, now=NOON + 2 * HOUR) == [1, 0]


async def test_reset_by_healthy_rounds_is_not_an_act_and_cannot_be_undone(db: Database) -> None:
    by = await session(db, tier=3)
    await acted(db, by)
    await act.reset_cooldowns(db, "Web", None, services=SERVICES, now=NOON)
    [reset] = (await journal.page(db, limit=9)).items
    await acted(db, by)
    for minutes in (5, 36):
        await made_round(db, True, now=NOON + timedelta(minutes=minutes))
    freed = [use.cleared_by for use in await uses(db)]

    await acts.undo(db, reset.id, now=NOON + HOUR)

    assert freed == ["operator", "healthy"]
    assert [use.cleared_by for use in await uses(db)] == [None, "healthy"]
    assert [each.action for each in (await journal.page(db, limit=9)).items] == ["undo", "reset"]


async def test_quick_rounds_reset_nothing_within_half_an_hour(db: Database) -> None:
    await acted(db, await session(db, tier=3))
    free = []

    for minutes in (1, 2, 30, 31):
        at = NOON + timedelta(minutes=minutes)
        await made_round(db, True, now=at)
        free.append(await used(db, now=at) == [0, 0])

    assert free == [False, False, False, True]


async def test_failure_restarts_the_half_hour(db: Database) -> None:
    await acted(db, await session(db, tier=3))

    for minutes, ok in ((1, True), (20, False), (21, True), (40, True)):
        await made_round(db, ok, now=NOON + timedelta(minutes=minutes))
    assert await used(db, now=NOON + HOUR) == [1, 0]

    await made_round(db, True, now=NOON + timedelta(minutes=51))
    assert await used(db, now=NOON + HOUR) == [0, 0]


@pytest.mark.parametrize("trigger", [Trigger.ALERT, Trigger.API, Trigger.MANUAL])
@pytest.mark.parametrize("times", [1, 2])
async def test_requested_sessions_reset_no_cooldown(
    db: Database, trigger: Trigger, times: int
) -> None:
    await acted(db, await session(db, tier=3))
    asked = [{"trigger": trigger}] * times

    for minutes, more in zip((5, 36, 67), [*asked, {}, {}], strict=False):
        await made_round(db, True, now=NOON + timedelta(minutes=minutes), **more)

    assert await used(db, now=NOON + 2 * HOUR) == ([0, 0] if times == 1 else [1, 0])


async def test_healthy_rounds_reset_nothing_while_an_action_runs(db: Database) -> None:
    by = await session(db, tier=3)
    await acted(db, by)
    await act.reserve(db, by, "Web", RESTART, now=NOON)

    for minutes in (5, 36):
        await made_round(db, True, now=NOON + timedelta(minutes=minutes))

    assert await used(db, now=NOON + HOUR) == [2, 0]


async def test_healthy_round_before_the_action_does_not_count(db: Database) -> None:
    await made_round(db, True, now=NOON - HOUR)
    await acted(db, await session(db, tier=3))

    await made_round(db, True, now=NOON + HOUR)

    assert await used(db, now=NOON + HOUR) == [1, 0]


async def test_healthy_rounds_reset_every_spelling_of_a_service(db: Database) -> None:
    by = await session(db, tier=3)
    await acted(db, by, service="WEB")

    for minutes in (5, 36):
        await made_round(db, True, now=NOON + timedelta(minutes=minutes))

    assert await used(db, now=NOON + HOUR) == [0, 0]


async def test_running_action_is_not_cleared_by_rounds_or_a_reset(db: Database) -> None:
    by = await session(db, tier=3)
    await act.reserve(db, by, "Web", RESTART, now=NOON)

    for minutes in (5, 36):
        await made_round(db, True, now=NOON + timedelta(minutes=minutes))
    _, cleared = await act.reset_cooldowns(db, "web", None, services=SERVICES, now=NOON + HOUR)

    assert cleared == 0
    assert await used(db) == [1, 0]


@pytest.mark.parametrize(
    ("action", "cleared", "left", "what"),
    [
        (None, 3, [0, 0], "all cooldowns; uses cleared: 3"),
        (ActionKind.RESTART, 2, [0, 1], "the cooldown of restart; uses cleared: 2"),
        (ActionKind.REDEPLOYMENT, 1, [2, 0], "the cooldown of redeployment; uses cleared: 1"),
    ],
)
async def test_operator_resets_cooldowns_by_kind(
    db: Database, action: ActionKind | None, cleared: int, left: list[int], what: str
) -> None:
    by = await session(db, tier=3)
    for kind in (RESTART, RESTART, REDEPLOY):
        await acted(db, by, action=kind)

    told = await act.reset_cooldowns(db, "WEB", action, services=SERVICES, now=NOON)

    assert told == ("Web", cleared)
    assert await used(db) == left
    assert (await texts(db, "info"))[-1] == f"An operator reset {what}."
    kept = [use for use in await uses(db) if use.cleared_by == "operator"]
    assert len(kept) == cleared


async def test_reset_rejects_an_unknown_service(db: Database) -> None:
    with pytest.raises(NotFound):
        await act.reset_cooldowns(db, "plex", None, services=SERVICES, now=NOON)

    assert await rows(db, "events") == []


async def test_reset_accepts_a_service_no_longer_declared(db: Database) -> None:
    by = await session(db, tier=3)
    await acted(db, by, service="Plex")

    assert await act.reset_cooldowns(db, "plex", None, services=SERVICES, now=NOON) == ("Plex", 1)
