"""After a request to a person the next rounds wait until a slot is free or all are healthy."""

from datetime import datetime

import pytest
from chains import HOUR, MINUTE, SERVICES, finished, said, seen, states, used_up
from examples import NOON, rows, session

from contexts import DEFAULTS
from lamplighter.domain.configuration import Configuration
from lamplighter.domain.errors import Conflict, NotFound
from lamplighter.domain.sessions.handoff import EscalationState
from lamplighter.domain.sessions.session import Session
from lamplighter.repository import Database, writing
from lamplighter.repository.services import cooldowns
from lamplighter.repository.sessions import escalations
from lamplighter.usecases.services import act
from lamplighter.usecases.sessions import chain


async def round_made(db: Database, now: datetime, seen_so: dict[str, bool]) -> Session:
    """Run a round with these services healthy or not."""
    by = await session(db)
    for service, well in seen_so.items():
        await seen(db, by, service, ok=well, now=now)
    return await finished(db, by, now=now)


async def asked_a_person(db: Database, service: str = "Web") -> Session:
    """Let a session of the last tier escalate to a person."""
    by = await session(db, tier=3)
    await said(db, by, f"[ESCALATE:{service}] nothing helps")
    return await finished(db, by)


async def waiting(db: Database, now: datetime = NOON) -> dict[str, datetime]:
    return {
        name: each.until
        for name, each in (await chain.services_waiting(db, SERVICES, DEFAULTS, now=now)).items()
    }


async def test_escalated_service_waits_until_a_slot_is_free(db: Database) -> None:
    await used_up(db)
    await asked_a_person(db)

    assert await waiting(db) == {"Web": NOON + 4 * HOUR}
    assert await waiting(db, NOON + 4 * HOUR - MINUTE) == {"Web": NOON + 4 * HOUR}
    assert await waiting(db, NOON + 4 * HOUR) == {}


async def test_service_with_another_free_action_does_not_wait(db: Database) -> None:
    await used_up(db, "db")
    await asked_a_person(db, "db")

    assert await waiting(db) == {}


async def test_service_without_actions_waits_for_a_day(db: Database) -> None:
    await asked_a_person(db, "bare")

    assert await waiting(db, NOON + 23 * HOUR) == {"bare": NOON + 24 * HOUR}
    assert await waiting(db, NOON + 24 * HOUR) == {}


async def test_service_without_an_escalation_does_not_wait(db: Database) -> None:
    await used_up(db)

    assert await waiting(db) == {}


async def test_cooldown_reset_ends_the_wait(db: Database) -> None:
    await used_up(db)
    await asked_a_person(db)

    await act.reset_cooldowns(db, "web", None, services=SERVICES, now=NOON)

    assert await waiting(db) == {}


async def test_two_healthy_rounds_end_the_wait(db: Database) -> None:
    await used_up(db)
    await asked_a_person(db)

    await round_made(db, NOON + MINUTE, {"Web": True})

    assert await waiting(db, NOON + MINUTE) == {"Web": NOON + 4 * HOUR}
    await round_made(db, NOON + 31 * MINUTE, {"Web": True})
    assert await waiting(db, NOON + 31 * MINUTE) == {}
    assert await states(db) == [("Web", "closed", "healthy again")]
    assert await escalations.open_for_people(db) == []
    assert [use.cleared_by for use in await cooldowns.uses_since(db, NOON)] == ["healthy"] * 2


async def test_failing_or_unchecked_rounds_do_not_end_the_wait(
    db: Database,
) -> None:
    await used_up(db)
    await asked_a_person(db)

    await round_made(db, NOON + MINUTE, {"Web": False, "db": True})
    await round_made(db, NOON + 2 * MINUTE, {"db": True})

    assert await waiting(db, NOON + 2 * MINUTE) == {"Web": NOON + 4 * HOUR}
    assert [each.state for each in await escalations.open_for_people(db)] == [
        EscalationState.PERSON
    ]


async def test_free_slots_do_not_end_the_wait_below_tier_3(db: Database) -> None:
    await asked_a_person(db)

    found = await chain.services_waiting(db, SERVICES, Configuration(max_tier=2), now=NOON)

    assert {name: each.until for name, each in found.items()} == {"Web": NOON + 24 * HOUR}


async def test_mark_handled_closes_the_escalation_once(db: Database) -> None:
    await asked_a_person(db, "bare")
    [asked] = await escalations.open_for_people(db)

    settled = await chain.mark_handled(db, asked.id, now=NOON + MINUTE)

    assert (settled.state, settled.why) == ("closed", "settled by an operator")
    assert settled.closed_at == NOON + MINUTE
    assert await escalations.open_for_people(db) == []
    assert await waiting(db) == {}
    with pytest.raises(Conflict, match="is not open: it is closed"):
        await chain.mark_handled(db, asked.id, now=NOON)
    with pytest.raises(NotFound, match="Escalation 99 not found"):
        await chain.mark_handled(db, 99, now=NOON)


async def test_close_matches_every_spelling_of_a_service(db: Database) -> None:
    await asked_a_person(db, "Elsewhere")
    await asked_a_person(db, "elsewhere")

    async with writing(db):
        await escalations.close(db, "ELSEWHERE", why="healthy again", now=NOON)

    assert await escalations.open_for_people(db) == []


async def test_failure_after_a_pass_is_escalated_again(
    db: Database,
) -> None:
    await round_made(db, NOON - MINUTE, {"bare": True})
    await asked_a_person(db, "bare")
    await round_made(db, NOON + MINUTE, {"bare": True})

    by = await session(db)
    await said(db, by, "[ESCALATE:bare] nothing was checked")
    await seen(db, by, "bare", ok=False, now=NOON + 2 * MINUTE)
    await said(db, by, "[ESCALATE:bare] it fails again")

    assert await outcomes(db) == ["recorded", "held back", "recorded"]


async def test_continued_failure_is_held_back(db: Database) -> None:
    await round_made(db, NOON - MINUTE, {"bare": False})
    await asked_a_person(db, "bare")
    await round_made(db, NOON + MINUTE, {"bare": True})

    by = await session(db)
    await seen(db, by, "bare", ok=False, now=NOON + 2 * MINUTE)
    await said(db, by, "[ESCALATE:bare] it fails again")

    assert await outcomes(db) == ["recorded", "held back"]


async def outcomes(db: Database) -> list[str]:
    return [row["outcome"] for row in await rows(db, "markers")]
