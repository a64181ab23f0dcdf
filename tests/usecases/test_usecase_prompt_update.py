"""Prompt updates of a running session, stored with their reasons."""

from datetime import timedelta

from examples import NOON, SECRETIVE, believed, session

from contexts import context
from lamplighter.domain.services.service import Service, Services
from lamplighter.domain.sessions.handoff import EscalationState
from lamplighter.domain.sessions.session import SessionPlan
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import exposures
from lamplighter.repository.sessions import escalations
from lamplighter.usecases.sessions import sessions
from lamplighter.usecases.sessions.prompt_update import PromptRecipient, update_prompt

SERVICES = Services((Service(name="jellyfin", checks=()),))
TURN = timedelta(minutes=1)


async def about(db: Database) -> PromptRecipient:
    """Open a session whose prompt includes one memory."""
    await believed(db, await session(db))
    plan = SessionPlan(tier=2, engine="messages")
    opened = await sessions.begin(db, plan, services=SERVICES, epoch=1, now=NOON)
    return PromptRecipient(session=opened.session, services=SERVICES, budget=2_000)


async def test_prompt_is_not_updated_if_only_the_time_changed(db: Database) -> None:
    whom = await about(db)
    first = await exposures.prompt(db, whom.session.id)

    told = await update_prompt(context(db, NOON + TURN, SECRETIVE), whom, "caddy")

    assert first is not None
    assert told.text == first.injected
    assert await exposures.updates_of(db, whom.session.id) == []


async def test_new_memories_update_the_prompt_and_are_recorded_once(db: Database) -> None:
    whom = await about(db)
    learned = await believed(db, whom.session, observation="Needs the disk", service=None)

    told = await update_prompt(
        context(db, NOON + TURN, SECRETIVE), whom, "is hunter2-hunter2 right?"
    )
    again = await update_prompt(context(db, NOON + 2 * TURN, SECRETIVE), whom, "and now?")

    assert "- [timing] Needs the disk" in told.text
    assert "- Time: 2026-01-01 12:01 UTC" in told.text
    assert again == told
    (kept,) = await exposures.updates_of(db, whom.session.id)
    assert (kept.injected, kept.at) == (told.text, NOON + TURN)
    assert "hunter2" not in kept.query
    assert [each["memory_id"] for each in kept.placements] == [1, learned.id]
    assert await exposures.sessions_including(db, learned.id, limit=9) == [whom.session.id]
    assert await exposures.count_sessions_including(db, 1) == 1
    first = await exposures.of_session(db, whom.session.id)
    assert [each.memory_id for each in first] == [1]


async def test_a_prompt_update_replaces_the_previous_one(
    db: Database,
) -> None:
    whom = await about(db)
    for number in range(2):
        await believed(db, whom.session, observation=f"Number {number}")
        await update_prompt(context(db, NOON + number * TURN, SECRETIVE), whom, "")

    last = (await update_prompt(context(db, NOON + 3 * TURN, SECRETIVE), whom, "")).text

    assert last.count("## Operational Memory") == 1
    assert last.count("## Environment") == 1
    assert len(await exposures.updates_of(db, whom.session.id)) == 2


async def test_a_prompt_update_lists_open_escalations(db: Database) -> None:
    whom = await about(db)
    async with writing(db):
        await escalations.insert(
            db, whom.session.id, 3, "jellyfin", "Down", state=EscalationState.OPEN, now=NOON
        )

    told = await update_prompt(context(db), whom, "")

    assert [(each.service, each.reason) for each in told.open] == [("jellyfin", "Down")]
