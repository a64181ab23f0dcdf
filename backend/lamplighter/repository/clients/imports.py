"""Imports: the external row that each memory came from, and the text of that row."""

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
"""The highest ID of a memory, including the trash: a trashed memory keeps its ID."""


async def find_imported(db: Database, refs: Sequence[str]) -> dict[str, tuple[MemoryId, str]]:
    """Return the memory of each imported row, and the row's text at its last import."""
    query = sa.select(imports).where(imports.c.ref.in_(refs))
    rows = await db.fetch_all(query)
    return {row["ref"]: (MemoryId(row["memory_id"]), row["said"]) for row in rows}


async def refs_of(db: Database, ids: Sequence[int]) -> dict[int, str]:
    """Return the external references of those of some memories that were imported."""
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
    """Store the memory of each imported row, with the row's current text.

    `existing` names the rows that already have an entry.
    """
    if existing:
        await db.execute(sa.delete(imports).where(imports.c.ref.in_(list(existing))))
    values = [
        {"ref": ref, "memory_id": memory_id, "said": said, "at": now}
        for ref, (memory_id, said) in imported.items()
    ]
    await db.run_many(_INSERT_IMPORT, values)


async def forget_texts(db: Database, ids: Sequence[int]) -> None:
    """Forget the texts of the rows that some memories came from: the next import applies them."""
    await db.execute(sa.update(imports).where(imports.c.memory_id.in_(ids)).values(said=""))


async def find_native(db: Database, memory_id: int, created_at: datetime) -> Memory | None:
    """Return the memory with an ID if it was created here at `created_at`.

    An imported memory does not count: its ID and time may equal those of another memory.
    """
    return await db.fetch_first(_NATIVE(id=memory_id, created_at=created_at), from_row)


async def by_content_hash(
    db: Database, hashes: Collection[str]
) -> dict[tuple[str, str], list[MemoryId]]:
    """Return the active memories with some content hashes, by hash and project."""
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
            continue  # the text was edited directly in the database
        same = matches.setdefault((row["content_hash"], row["project"]), [])
        same.append(MemoryId(row["id"]))
    return matches


async def highest_id(db: Database) -> int | None:
    """Return the highest memory ID: 0 if there never was a memory, None if all are deleted."""
    found = await db.fetch_val(sa.select(_HIGHEST_ID))
    gone = None if found else await db.fetch_val(sa.select(history.c.id).limit(1))
    return None if gone is not None else int(found or 0)


async def insert(db: Database, memory: Memory, *, number: int | None) -> Memory:
    """Insert a memory unchanged, with a free ID or the next ID; the caller updates the feed."""
    values = row_values(memory, STORED)
    given = _INSERT(**values) if number is None else _INSERT_AS(id=number, **values)
    return replace(memory, id=MemoryId(await db.fetch_val(given)))


async def advance_sequence(db: Database) -> None:
    """Advance the ID sequence past the imported IDs; SQLite does this by itself."""
    if db.notifies:
        highest = sa.select(_HIGHEST_ID).scalar_subquery()
        sequence = sa.func.pg_get_serial_sequence("memories", "id")
        await db.fetch_val(sa.select(sa.func.setval(sequence, highest)))


async def insert_session(db: Database, record: SessionRecord, *, now: datetime) -> Session:
    """Store a client's session; without an end it stays open, or is closed as inactive."""
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
