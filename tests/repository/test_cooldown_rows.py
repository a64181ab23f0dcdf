"""The rows of cooldown uses: each change is in the feed, and each query has one answer."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lamplighter.domain.services.cooldown import SPENDING_OUTCOMES, CooldownUse, UseOutcome
from lamplighter.domain.services.service import ActionKind
from lamplighter.domain.sessions.session import Session, SessionPlan
from lamplighter.repository import Database, writing
from lamplighter.repository.services import cooldowns
from lamplighter.repository.services.cooldowns import CooldownFilter
from lamplighter.repository.sessions import sessions
from lamplighter.repository.store import changes

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
RESTART, REDEPLOYMENT = ActionKind.RESTART, ActionKind.REDEPLOYMENT


async def opened(db: Database) -> Session:
    async with writing(db):
        return await sessions.insert(db, SessionPlan(tier=3), model=None, epoch=1, now=NOON)


async def kept(
    db: Database,
    service: str = "web",
    *,
    action: ActionKind = RESTART,
    outcome: UseOutcome = UseOutcome.SUCCESS,
    at: datetime = NOON,
    **more: Any,
) -> CooldownUse:
    more = {"session_id": None, "tier": 3} | more
    async with writing(db):
        return await cooldowns.insert(db, service, action, outcome, now=at, **more)


async def test_use_is_read_as_stored(db: Database) -> None:
    by = await opened(db)

    use = await kept(db, session_id=by.id, name="pause", text="done", attempts=1)

    expected = CooldownUse(
        id=1,
        service="web",
        action=RESTART,
        outcome=UseOutcome.SUCCESS,
        created_at=NOON,
        name="pause",
        text="done",
        attempts=1,
        session_id=by.id,
        tier=3,
    )
    assert use == expected
    assert await cooldowns.uses_since(db, NOON) == [expected]


async def test_each_change_of_a_use_is_recorded_in_the_feed(db: Database) -> None:
    use = await kept(db, outcome=UseOutcome.RESERVED)
    async with writing(db):
        await cooldowns.change(db, use.id, outcome=UseOutcome.FAILURE, settled_at=NOON, now=NOON)
        await cooldowns.clear(db, "web", None, by="operator", now=NOON)

    told = await changes.list_after(db, 0, limit=100)

    assert [(each.entity, each.entity_id, each.op, each.version) for each in told] == [
        ("cooldown", 1, "created", 1),
        ("cooldown", 1, "updated", 2),
        ("cooldown", 1, "updated", 3),
    ]


async def test_uses_since_lists_uses_oldest_first(db: Database) -> None:
    made = [await kept(db, at=NOON + hours * HOUR) for hours in (0, 2, 1)]

    assert await cooldowns.uses_since(db, NOON + HOUR) == [made[1], made[2]]


async def test_recent_lists_only_uses_that_ran_newest_first(db: Database) -> None:
    made = [await kept(db, outcome=outcome) for outcome in UseOutcome]
    await kept(db, "other")

    found = await cooldowns.recent(db, "web", limit=3)

    ran = [use for use in made if use.outcome in SPENDING_OUTCOMES]
    assert found == ran[::-1][:3]


async def test_of_sessions_returns_the_uses_of_the_given_sessions(db: Database) -> None:
    one, two, three = [await opened(db) for _ in range(3)]
    made = [
        await kept(db, session_id=each.id, outcome=UseOutcome.REFUSED) for each in (one, two, three)
    ]

    assert await cooldowns.of_sessions(db, [one.id, three.id]) == [made[0], made[2]]
    assert await cooldowns.of_sessions(db, []) == []


async def test_clear_clears_only_counted_finished_uses_and_only_once(db: Database) -> None:
    made = [await kept(db, outcome=outcome) for outcome in UseOutcome]
    await kept(db, action=REDEPLOYMENT)
    await kept(db, "other")

    async with writing(db):
        cleared = await cooldowns.clear(db, "web", RESTART, by="operator", now=NOON)
        again = await cooldowns.clear(db, "web", RESTART, by="healthy", now=NOON)

    spent = (UseOutcome.SUCCESS, UseOutcome.UNCONFIRMED, UseOutcome.FAILURE, UseOutcome.ABANDONED)
    assert [use.id for use in cleared] == [use.id for use in made if use.outcome in spent]
    assert {(use.cleared_at, use.cleared_by) for use in cleared} == {(NOON, "operator")}
    assert again == []


async def test_clear_matches_every_spelling_of_a_service(db: Database) -> None:
    for name in ("Media Box", "media-box", "MEDIA_BOX", "media"):
        await kept(db, name)

    async with writing(db):
        cleared = await cooldowns.clear(db, "media_box", None, by="operator", now=NOON)

    assert [use.service for use in cleared] == ["Media Box", "media-box", "MEDIA_BOX"]


async def test_abandon_settles_only_the_reserved_uses_of_a_session(db: Database) -> None:
    one, two = await opened(db), await opened(db)
    for by in (one, two):
        await kept(db, outcome=UseOutcome.RESERVED, session_id=by.id)
        await kept(db, outcome=UseOutcome.SUCCESS, session_id=by.id)

    async with writing(db):
        [left] = await cooldowns.abandon(db, one.id, "why", now=NOON)

    assert (left.id, left.outcome, left.text, left.settled_at) == (1, "abandoned", "why", NOON)
    found = await cooldowns.uses_since(db, NOON)
    assert [use.outcome for use in found] == ["abandoned", "success", "reserved", "success"]


async def test_unmarked_returns_the_newest_use_without_a_marker(db: Database) -> None:
    one, two = await opened(db), await opened(db)
    told = {"session_id": one.id}
    await kept(db, **told)
    wanted = await kept(db, **told)
    await kept(db, marked=True, **told)
    await kept(db, outcome=UseOutcome.REFUSED, **told)
    await kept(db, outcome=UseOutcome.WOULD, **told)
    await kept(db, action=REDEPLOYMENT, **told)
    await kept(db, "other", **told)
    await kept(db, session_id=two.id)

    assert await cooldowns.unmarked(db, [one.id], "web", RESTART) == wanted
    assert await cooldowns.unmarked(db, [two.id], "web", REDEPLOYMENT) is None


@pytest.mark.parametrize(("theirs", "seconds"), [(True, 12.5), (False, None)])
async def test_record_recovery_changes_only_a_use_of_the_same_session(
    db: Database, theirs: bool, seconds: float | None
) -> None:
    one, two = await opened(db), await opened(db)
    use = await kept(db, session_id=one.id)

    async with writing(db):
        by = one if theirs else two
        await cooldowns.record_recovery(db, use.id, 12.5, session_id=by.id, now=NOON)

    [found] = await cooldowns.uses_since(db, NOON)
    assert found.healthy_after == seconds


@pytest.mark.parametrize(
    ("asked", "found"),
    [("WEB", "Web"), ("web", "Web"), ("media_box", "Media-Box"), ("plex", None), ("", None)],
)
async def test_spelling_returns_the_stored_name_of_a_service(
    db: Database, asked: str, found: str | None
) -> None:
    await kept(db, "Web")
    await kept(db, "Media-Box")

    assert await cooldowns.spelling(db, asked) == found


async def test_pages_list_every_use_newest_first(db: Database) -> None:
    for number in range(5):
        await kept(db, action=REDEPLOYMENT if number % 2 else RESTART)
    await kept(db, "other")

    first = await cooldowns.page(db, CooldownFilter(service="web"), limit=2)
    second = await cooldowns.page(
        db, CooldownFilter(service="web"), limit=9, position=first.position
    )
    restarts = await cooldowns.page(db, CooldownFilter(action=RESTART), limit=9)

    assert [[use.id for use in each.items] for each in (first, second)] == [[5, 4], [3, 2, 1]]
    assert second.position is None
    assert [use.id for use in restarts.items] == [6, 5, 3, 1]
