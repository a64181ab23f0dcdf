"""Prompts of sessions: the exact text, and the reason for each memory."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.memory.memory import Memory, MemoryId, Trust
from lamplighter.domain.services.service import is_same_service
from lamplighter.domain.sessions.context import Placement, ServiceLines, SessionPrompt
from lamplighter.repository.memory.as_of import parts
from lamplighter.repository.memory.listing import prompt_order
from lamplighter.repository.memory.memories import PromptFilter, eligible
from lamplighter.repository.store.database import Database, writing
from lamplighter.repository.store.dialect import stamp
from lamplighter.repository.store.statements import Rows, after, update_rows, values_of
from lamplighter.repository.store.tables import exposures, memories, prompts, reader, retellings


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    """A memory considered for a session's prompt; `position` is None if it was not included."""

    memory_id: int
    version: int
    position: int | None
    why: str
    line: str


async def insert(
    db: Database, session_id: int, prompt: SessionPrompt, placements: Sequence[Placement]
) -> None:
    """Record the placements of a session's first prompt."""
    await db.execute(sa.insert(prompts).values(session_id=session_id, **asdict(prompt)))
    await _expose(db, session_id, placements, retelling=None)


async def add_exposures(
    db: Database, session_id: int, placements: Sequence[Placement], *, retelling: int
) -> None:
    """Record the further memories that a running session received."""
    before = await included_memories(db, session_id, [each.memory.id for each in placements])
    fresh = [each for each in placements if each.included and each.memory.id not in before]
    await _expose(db, session_id, fresh, retelling=retelling)


async def prompt(db: Database, session_id: int) -> SessionPrompt | None:
    """Return the prompt of a session."""
    return await _prompts.one(db, prompts.c.session_id == session_id)


async def of_session(db: Database, session_id: int) -> list[Exposure]:
    """Return the candidates of a session's first prompt, included memories first."""
    query = (
        sa.select(exposures)
        .where(exposures.c.session_id == session_id)
        .where(exposures.c.retelling.is_(None))
        .order_by(exposures.c.position.is_(None), exposures.c.position, exposures.c.id)
    )
    return await _exposures.fetch(db, query)


async def sessions_including(db: Database, memory_id: int, *, limit: int) -> list[int]:
    """Return the sessions with a memory in their prompt, newest first."""
    query = (
        sa.select(exposures.c.session_id)
        .where(exposures.c.memory_id == memory_id)
        .where(exposures.c.position.is_not(None))
        .order_by(exposures.c.id.desc())
        .limit(limit)
    )
    return [row["session_id"] for row in await db.fetch_all(query)]


async def count_sessions_including(db: Database, memory_id: int) -> int:
    """Return the number of sessions that had a memory in their prompt."""
    return await db.count_rows(
        exposures, exposures.c.memory_id == memory_id, exposures.c.position.is_not(None)
    )


async def included_memories(
    db: Database, session_id: int, ids: Sequence[MemoryId]
) -> set[MemoryId]:
    """Return those of these memories that were in a session's prompt."""
    chosen = (exposures.c.session_id == session_id, exposures.c.memory_id.in_(ids))
    given = exposures.c.position.is_not(None)
    return set(await values_of(db, exposures.c.memory_id, *chosen, given))


async def included_of_service(db: Database, session_id: int, service: str) -> list[int]:
    """Return the memories of a service in a session's prompt, in prompt order."""
    query = (
        sa.select(exposures.c.memory_id, memories.c.service)
        .join(memories, memories.c.id == exposures.c.memory_id)
        .where(exposures.c.session_id == session_id)
        .where(exposures.c.position.is_not(None))
        .where(memories.c.service.is_not(None))
        .order_by(exposures.c.position, exposures.c.id)
    )
    found = [(row["memory_id"], row["service"]) for row in await db.fetch_all(query)]
    return [number for number, name in found if is_same_service(name, service)]


async def _expose(
    db: Database, session_id: int, placements: Sequence[Placement], *, retelling: int | None
) -> None:
    rows = [
        {
            **_placement_json(each),
            "session_id": session_id,
            "line": each.line if each.included else "",
            "retelling": retelling,
        }
        for each in placements
    ]
    if rows:
        await db.execute_many(sa.insert(exposures), rows)


_exposures: Final = Rows(exposures, reader(Exposure))


_BRACKET: Final = "["
_MARKER: Final = len("[EVENT:")


async def lines_before(
    db: Database, memory: Memory, own: PromptFilter, before: Sequence[PromptFilter] = ()
) -> list[ServiceLines]:
    """Sum the lines before a memory in its own filter and in those `before`, by service."""
    by_service: dict[str | None, ServiceLines] = {}
    for rows in parts(own.at):
        ahead = [sa.and_(*eligible(own, rows.c), _comes_before(memory, rows.c))]
        ahead += [sa.and_(*eligible(each, rows.c)) for each in before]
        query = (
            sa.select(rows.c.service, *_sums(rows.c))
            .where(sa.or_(*ahead))
            .group_by(rows.c.service)
            .order_by(rows.c.service)
        )
        for row in await db.fetch_all(query):
            held = by_service.get(row["service"], ServiceLines(row["service"], 0, 0, 0))
            by_service[row["service"]] = ServiceLines(
                row["service"],
                held.count + int(row["count"]),
                held.chars + int(row["chars"]),
                held.doubtful + int(row["doubtful"]),
            )
    return list(by_service.values())


def _comes_before(memory: Memory, columns: Any) -> sa.ColumnElement[bool]:
    """Return the condition for memories with a higher priority than `memory`."""
    turned = [replace(key, descending=not key.descending) for key in prompt_order(columns)]
    ahead = after(turned, [memory.confidence, stamp(memory.updated_at), memory.id])
    # redundant, because SQLite uses no index for alternatives
    return sa.and_(columns.confidence >= memory.confidence, ahead)


def _sums(columns: Any) -> list[sa.ColumnElement[Any]]:
    """Sum the maximum size of lines: a marker in a text, of seven characters, grows by one."""
    length = sa.func.length(columns.observation)
    grown = sa.case((columns.observation.contains(_BRACKET), length // _MARKER), else_=0)
    doubtful = sa.case((columns.trust == Trust.UNVERIFIED.value, 1), else_=0)
    return [
        sa.func.count().label("count"),
        sa.func.sum(length + grown + sa.func.length(columns.category)).label("chars"),
        sa.func.sum(doubtful).label("doubtful"),
    ]


BATCH_SIZE: Final = 500


async def record_access(db: Database, ids: Iterable[int], now: datetime) -> None:
    """Count one read of each of these memories.

    It changes no version, history or feed: a screen shows the count when it next reads.
    """
    unique_ids = sorted(set(ids))
    if not unique_ids:
        return
    async with writing(db):
        for at in range(0, len(unique_ids), BATCH_SIZE):
            await update_rows(
                db,
                memories,
                memories.c.id.in_(unique_ids[at : at + BATCH_SIZE]),
                access_count=memories.c.access_count + 1,
                accessed_at=now,
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptUpdate:
    """An update that replaced part of a session's prompt.

    `placements` hold, for each candidate memory, why it was or was not included.
    """

    id: int
    session_id: int
    query: str
    injected: str
    tokens: int
    placements: tuple[dict[str, Any], ...]
    at: datetime


async def insert_update(
    db: Database,
    session_id: int,
    injected: str,
    placements: Sequence[Placement],
    *,
    query: str,
    tokens: int,
    now: datetime,
) -> PromptUpdate:
    """Record a prompt update, and the memories that it added."""
    update = await _updates.store(
        db,
        session_id=session_id,
        query=query,
        injected=injected,
        tokens=tokens,
        placements=[_placement_json(each) for each in placements],
        at=now,
    )
    await add_exposures(db, session_id, placements, retelling=update.id)
    return update


async def last_update(db: Database, session_id: int) -> PromptUpdate | None:
    """Return the last prompt update of a session, or None."""
    return await _updates.last(db, retellings.c.session_id == session_id)


async def updates_of(db: Database, session_id: int) -> list[PromptUpdate]:
    """Return all prompt updates of a session, oldest first."""
    return await _updates.oldest(db, retellings.c.session_id == session_id)


def _placement_json(each: Placement) -> dict[str, Any]:
    return {
        "memory_id": each.memory.id,
        "version": each.memory.version,
        "position": each.position,
        "why": each.why,
    }


_prompts: Final = Rows(prompts, reader(SessionPrompt))
_updates: Final = Rows(retellings, reader(PromptUpdate))
