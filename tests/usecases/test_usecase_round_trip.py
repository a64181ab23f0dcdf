"""Clients' entries, exported into an empty home and exported again: the same, byte for byte."""

import random
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from examples import NOON, held
from test_usecase_transfer import POOL, document, empty, read, take, written  # noqa: F401

from contexts import WINDOW, context
from lamplighter.domain.errors import LamplighterError
from lamplighter.domain.memory.memory import Candidate, Category, Edit, Source
from lamplighter.domain.sessions.session import Session
from lamplighter.domain.sessions.summary import Message
from lamplighter.repository import Database
from lamplighter.usecases.clients import client_sessions
from lamplighter.usecases.clients.client_sessions import NewSession
from lamplighter.usecases.clients.exports import ExportFormat
from lamplighter.usecases.clients.imports import ImportOutcome
from lamplighter.usecases.memory import knowledge

SAYS = (
    "The pool holds 20",
    "the POOL  holds 20",
    "日本語のメモ",
    'a "quoted"\n\tline',
    "🙂 x" * 80,
)
CATEGORIES = (Category.CONFIG, Category.DECISION, Category.PREFERENCE, Category.LEARNING)
REPORT = """## Key Learnings:
1. The proxy drops idle connections after 60s
2. {} says it is so today
"""


def saying(chance: random.Random, session: int) -> Candidate:
    return replace(
        POOL,
        observation=chance.choice(SAYS),
        category=chance.choice(CATEGORIES),
        topic_key=chance.choice([None, None, "config/db", "config/ü"]),
        scope=chance.choice(["project", "project", "global"]),
        project=chance.choice(["shop", "desk"]),
        session_id=chance.choice([None, session]),
        title=chance.choice(["", "Pool"]),
        source=chance.choice([Source.CLIENT, Source.CAPTURED]),
    )


async def talks(db: Database, chance: random.Random, session: Session, now: datetime) -> None:
    """Add a prompt or a report to a session, or end the session."""
    here = context(db, now)
    match chance.randrange(3):
        case 0:
            said = [Message("user", chance.choice(SAYS)), Message("assistant", "Done")]
            await client_sessions.end(here, session.external_id or "", chance.choice([said, []]))
        case 1:
            await client_sessions.save_prompt(here, session, chance.choice(SAYS))
        case _:
            text = REPORT.format(chance.choice("abc"))
            await knowledge.capture(here, text, project="desk", session_id=session.id)


async def changes(db: Database, chance: random.Random, now: datetime) -> None:
    """Correct, withdraw or remove a stored memory."""
    ids = [row["id"] for row in await db.fetch_all("SELECT id FROM memories ORDER BY id")]
    number = chance.choice(ids or [1])
    match chance.randrange(3):
        case 0:
            await knowledge.withdraw_memory(db, number, now=now)
        case 1:
            change = Edit(observation=f"Changed at {now}", tags=("x", "y, z"))
            await knowledge.correct(context(db, now), number, change)
        case _:
            await knowledge.remove(db, number, now=now)


async def lived(db: Database, seed: int) -> None:
    """Let clients perform 60 random operations, some within a second of each other."""
    chance, now = random.Random(seed), NOON
    for _ in range(60):
        now += timedelta(seconds=chance.choice([0, 0.25, 1, 400, 90_000]))
        opening = NewSession(external_id=f"s-{chance.randrange(4)}", project="shop")
        session, _new = await client_sessions.start(db, opening, now=now)
        with suppress(LamplighterError):  # what is gone cannot be changed
            match chance.randrange(4):
                case 0:
                    await talks(db, chance, session, now)
                case 1:
                    await changes(db, chance, now)
                case _:
                    await knowledge.save(
                        context(db, now), saying(chance, session.id), window=WINDOW
                    )


@pytest.mark.parametrize("form", list(ExportFormat))
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("here", [True, False], ids=["from here", "to here"])
async def test_export_import_export_is_identical(
    db: Database,
    empty: Database,  # noqa: F811
    seed: int,
    here: bool,
    form: ExportFormat,
) -> None:
    first, second = (db, empty) if here else (empty, db)
    await lived(first, seed)
    text = await written(first, form)

    await take(second, read(text))

    assert (await written(second, form)).splitlines() == text.splitlines()
    highest = max(each.id for each in await held(second))
    kept = await knowledge.save(context(second), replace(POOL, observation="New"), window=WINDOW)
    assert kept.memory.id == highest + 1


async def test_import_keeps_an_id_only_if_it_was_never_used(
    db: Database,
    empty: Database,  # noqa: F811
) -> None:
    for words in ("One", "Two", "Three"):
        wanted = replace(POOL, observation=words, topic_key=None)
        await knowledge.save(context(db), wanted, window=WINDOW)
    await knowledge.remove(db, 2, now=NOON)
    text = await written(db, ExportFormat.LAMPLIGHTER)
    gone = await knowledge.save(context(empty), POOL, window=WINDOW)
    await knowledge.remove(empty, gone.memory.id, now=NOON)

    await take(empty, read(text))

    assert [each.id for each in await held(empty)] == [2, 3]


async def test_import_does_not_keep_an_oversized_id(db: Database) -> None:
    row = {"type": "decision", "content": "Hostile", "id": 2**52}

    await take(db, read(document(row)))

    assert [each.id for each in await held(db)] == [1]


async def test_import_keeps_sessions_of_one_name_separate_by_agent(
    db: Database,
    empty: Database,  # noqa: F811
) -> None:
    for agent in ("ada", None, "hal"):
        opening = NewSession(external_id="main", project="shop", agent=agent)
        session, _ = await client_sessions.start(db, opening, now=NOON)
        await client_sessions.save_prompt(context(db), session, f"Why, {agent}?")
    text = await written(db, ExportFormat.LAMPLIGHTER)

    await take(empty, read(text))
    again = await take(empty, read(text))

    assert set(again.counts) == {ImportOutcome.KNOWN}
    assert await written(empty, ExportFormat.LAMPLIGHTER) == text
