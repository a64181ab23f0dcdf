"""What triggers maintain is what a count of all rows finds."""

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from lamplighter.domain.services.event import Level
from lamplighter.domain.sessions.session import SessionPlan
from lamplighter.repository import Database, writing
from lamplighter.repository.services import events
from lamplighter.repository.services.events import EventSelection
from lamplighter.repository.sessions import sessions
from lamplighter.repository.store import tables

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
ALWAYS = EventSelection(since=NOON - timedelta(days=1))
"""A range in which all lies: its groups are counted."""


async def test_groups_of_events_are_maintained(db: Database) -> None:
    dice = random.Random(3)
    async with writing(db):
        by = [(await sessions.insert(db, SessionPlan(), model=None, epoch=1, now=NOON)).id] * 2
        by.append((await sessions.insert(db, SessionPlan(), model=None, epoch=1, now=NOON)).id)
        for minute in range(60):
            await events.insert(
                db,
                dice.choice(list(Level)),
                dice.choice(("It's slow", "Failed: 50%", "")),
                service=dice.choice((None, "caddy", "dns")),
                session_id=dice.choice((None, *by)),
                source="session",
                now=NOON + timedelta(minutes=minute),
            )
    counted = await events.page_groups(db, ALWAYS, limit=50)
    assert await events.page_groups(db, EventSelection(), limit=50) == counted

    first = counted.items[3]
    same = EventSelection(same=first.first_id)
    assert (await events.page_groups(db, same, limit=50)).items == [first]
    page = await events.page_groups(db, EventSelection(service="dns"), limit=2)
    rest = await events.page_groups(
        db, EventSelection(service="dns"), limit=50, position=page.position
    )
    asked = replace(ALWAYS, service="dns")
    assert page.items + rest.items == (await events.page_groups(db, asked, limit=50)).items

    async with writing(db):
        await db.execute(sa.delete(tables.events).where(tables.events.c.id <= 40))

    counted = await events.page_groups(db, ALWAYS, limit=50)
    maintained = await events.page_groups(db, EventSelection(), limit=50)
    assert [(each.text, each.service, each.level, each.count) for each in maintained.items] == [
        (each.text, each.service, each.level, each.count) for each in counted.items
    ]
