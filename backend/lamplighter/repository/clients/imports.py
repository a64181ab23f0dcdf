"""Imports: which external row each memory came from, and its text then."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from lamplighter.domain.change import ChangeOp
from lamplighter.domain.memory.memory import Memory, MemoryId
from lamplighter.domain.sessions.session import Session, Status, Trigger
from lamplighter.domain.text import content_hash
from lamplighter.formats.import_records import SessionRecord
from lamplighter.repository.clients.client_sessions import ENGINE
from lamplighter.repository.memory.memories import STORED, from_row, row_values
from lamplighter.repository.sessions.sessions import from_row as session_from
from lamplighter.repository.sessions.sessions import publish
from lamplighter.repository.store import database
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.statements import Statement, prepare_insert
from lamplighter.repository.store.tables import history, imports, memories, trash

_INSERT: Final = Statement(sa.insert(memories).returning(memories.c.id), STORED)
_INSERT_AS: Final = Statement(sa.insert(memories).returning(memories.c.id), ("id", *STORED))
_INSERT_IMPORT: Final = prepare_insert(imports, "ref", "memory_id", "said", "at")
_NATIVE: Final = Statement(
    sa.select(memories)
    .where(memories.c.id == sa.bindparam("id"))
    .where(memories.c.created_at == sa.bindparam("created_at", type_=memories.c.created_at.type))
    .where(~sa.exists().where(imports.c.memory_id == memories.c.id))
)

_ALL_IDS: Final = sa.union_all(sa.select(memories.c.id), sa.select(trash.c.id)).subquery()
_HIGHEST_ID: Final = sa.func.max(_ALL_IDS.c.id)
"""The highest number of a memory, those in the trash too: each keeps its own."""


async def find_imported(db: Database, refs: Sequence[str]) -> dict[str, tuple[MemoryId, str]]:
    """Return which memories came of these rows, and what each row said when it came last."""
    query = sa.select(imports).where(imports.c.ref.in_(refs))
    rows = await db.fetch_all(query)
    return {row["ref"]: (MemoryId(row["memory_id"]), row["said"]) for row in rows}


async def refs_of(db: Database, ids: Sequence[int]) -> dict[int, str]:
    """Return what those of some memories that were imported are called where they come from."""
    query = sa.select(imports).where(imports.c.memory_id.in_(ids))
    rows = await db.fetch_all(query.order_by(imports.c.at.desc(), imports.c.ref.desc()))
    return {row["memory_id"]: row["ref"] for row in rows}


async def record(
    db: Database,
    imported: Mapping[str, tuple[MemoryId, str]],
    *,
    existing: Collection[str],
    now: datetime,
) -> None:
    """Keep which memory came of each of some rows, and what the row says now.

    `existing` are the rows of which something is kept already.
    """
    if existing:
        await db.execute(sa.delete(imports).where(imports.c.ref.in_(list(existing))))
    values = [
        {"ref": ref, "memory_id": memory_id, "said": said, "at": now}
        for ref, (memory_id, said) in imported.items()
    ]
    await db.run_many(_INSERT_IMPORT, values)


async def find_native(db: Database, memory_id: int, created_at: datetime) -> Memory | None:
    """Return the memory of a number, where it is the one that was made here at that moment.

    One that was imported is not: it may have the moment of another one, and its number.
    """
    row = await db.fetch_one(_NATIVE(id=memory_id, created_at=created_at))
    return None if row is None else from_row(row)


async def by_content_hash(
    db: Database, hashes: Collection[str]
) -> dict[tuple[str, str], list[MemoryId]]:
    """Return the active memories of some words, by these and their project."""
    query = (
        sa.select(
            *(memories.c.id, memories.c.content_hash, memories.c.project, memories.c.observation)
        )
        .where(memories.c.content_hash.in_(list(hashes)))
        .where(memories.c.active == 1)
        .order_by(memories.c.id)
    )
    matches: dict[tuple[str, str], list[MemoryId]] = {}
    for row in await db.fetch_all(query):
        if content_hash(str(row["observation"])) != row["content_hash"]:
            continue  # other words were written into it by hand
        same = matches.setdefault((row["content_hash"], row["project"]), [])
        same.append(MemoryId(row["id"]))
    return matches


async def highest_id(db: Database) -> int | None:
    """Return the highest number of a memory: 0 when there never was one, None when all are gone."""
    found = await db.fetch_val(sa.select(_HIGHEST_ID))
    gone = None if found else await db.fetch_val(sa.select(history.c.id).limit(1))
    return None if gone is not None else int(found or 0)


async def insert(db: Database, memory: Memory, *, number: int | None) -> Memory:
    """Keep a memory as it is, under a number that is free or the next; who calls tells the feed."""
    values = row_values(memory, STORED)
    given = _INSERT(**values) if number is None else _INSERT_AS(id=number, **values)
    return replace(memory, id=MemoryId(await db.fetch_val(given)))


async def advance_sequence(db: Database) -> None:
    """Let the numbers of new memories follow those that were given; SQLite does so by itself."""
    if db.notifies:
        highest = sa.select(_HIGHEST_ID).scalar_subquery()
        sequence = sa.func.pg_get_serial_sequence("memories", "id")
        await db.fetch_val(sa.select(sa.func.setval(sequence, highest)))


async def insert_session(db: Database, record: SessionRecord, *, now: datetime) -> Session:
    """Store a client's session; one without an end stays open, or is closed as silent."""
    began = record.started_at or now
    values = {
        "external_id": record.external_id,
        "project": record.project,
        "agent": record.agent,
        "directory": record.directory,
        "tier": 0,
        "engine": ENGINE,
        "trigger": Trigger.CLIENT,
        "status": Status.COMPLETED if record.ended_at else Status.RUNNING,
        "started_at": began,
        "ended_at": record.ended_at,
        "summary": record.summary,
        "prompt": record.prompt,
        "messages": record.messages,
    }
    session = session_from(await database.insert(db, values))
    await publish(db, session, ChangeOp.CREATED, now=now)
    return session
