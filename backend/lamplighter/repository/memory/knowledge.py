"""Queries on captured knowledge: duplicates, and how often a memory was repeated."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.memory.knowledge import MemoryTimeline
from lamplighter.domain.memory.memory import GLOBAL, Candidate, Category, Memory, MemoryId, Source
from lamplighter.domain.text import content_hash
from lamplighter.repository.memory.bulk import ids_as_json
from lamplighter.repository.memory.listing import lasts
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import NUMBER, InIdList, Json, JsonValue
from lamplighter.repository.store.statements import Statement, equal_to, update_rows
from lamplighter.repository.store.tables import KNOWLEDGE, history, memories
from lamplighter.repository.store.unreadable import fetch_memories, from_fields, readable

AT_MOST: Final = 20
"""The maximum rows of one hash to compare; nearly always their texts are equal."""


async def find_duplicate(db: Database, candidate: Candidate, *, start: datetime) -> Memory | None:
    """Return the newest active memory with the same text and project since `start`.

    Memories that rules captured must match in category and scope too: each rule captures
    separately.
    """
    caught = candidate.source in (Source.CAPTURED, Source.OWNER)
    text_hash = content_hash(candidate.observation)
    query = (
        sa.select(memories)
        .where(memories.c.content_hash == text_hash)
        .where(memories.c.project == candidate.project)
        .where(memories.c.category == candidate.category if caught else sa.text(KNOWLEDGE))
        .where(memories.c.scope == candidate.scope if caught else sa.true())
        .where(memories.c.active == 1)
        .where(memories.c.created_at > start)
        .order_by(memories.c.id.desc())
        .limit(AT_MOST)
    )
    found = [from_fields(row) for row in readable(await db.fetch_all(query))]
    # the text may have been edited in the database, without a new hash
    return next((each for each in found if content_hash(each.observation) == text_hash), None)


async def count_duplicate(db: Database, memory_id: MemoryId, *, now: datetime) -> None:
    """Count a repetition of a memory; its version and its history do not change."""
    again = memories.c.duplicate_count + 1
    await update_rows(
        db, memories, memories.c.id == memory_id, duplicate_count=again, last_seen_at=now
    )


ACTIVE_KNOWLEDGE: Final = f"active = 1 AND {KNOWLEDGE}"
"""The condition in the exact words of the indexes, which both databases require."""


async def newest_in_project(
    db: Database, project: str, *, without: Sequence[int] = (), limit: int, now: datetime
) -> list[Memory]:
    """Return the active knowledge of a project and all global knowledge, newest first."""
    others = memories.c.id.not_in(list(without)) & lasts(now)
    own = memories.c.project == project
    wide = memories.c.scope == GLOBAL
    found = [
        *await _fetch_newest(db, [own, others], limit),
        *await _fetch_newest(db, [wide, memories.c.project != project, others], limit),
    ]
    return sorted(found, key=lambda each: (each.updated_at, each.id), reverse=True)[:limit]


async def recent(
    db: Database,
    *,
    project: str | None = None,
    category: Category | None = None,
    scope: str | None = None,
    limit: int,
) -> list[Memory]:
    """Return the active knowledge that matches, newest first; None matches all."""
    chosen = equal_to(memories.c, project=project, category=category, scope=scope)
    return await _fetch_newest(db, chosen, limit)


async def _fetch_newest(
    db: Database, conditions: Sequence[sa.ColumnElement[bool]], limit: int
) -> list[Memory]:
    if limit < 1:
        return []
    query: sa.Select[Any] = (
        sa.select(memories)
        .where(sa.text(ACTIVE_KNOWLEDGE))
        .where(*conditions)
        .order_by(memories.c.updated_at.desc(), memories.c.id.desc())
    )
    return await fetch_memories(db, query, limit)


ACTIVE_UNINDEXED: Final = f"+active = 1 AND {KNOWLEDGE}"
"""Most memories are active: the plus sign keeps SQLite from an index on `active`."""


async def newest(
    db: Database,
    project: str | None,
    *,
    category: str | None = None,
    scope: str | None = None,
    tags: Sequence[str] = (),
    without: Sequence[str] = (),
    limit: int,
    now: datetime,
) -> list[Memory]:
    """Return the newest active knowledge of a project and all global knowledge, newest first.

    Each memory has all of `tags`, and no tag that starts with one of `without`.
    """
    chosen = equal_to(memories.c, category=category, scope=scope)
    query = sa.select(memories).where(sa.text(ACTIVE_UNINDEXED), lasts(now), *chosen)
    for tag in tags:
        query = query.where(_listed().contains(Json.written(tag), autoescape=True))
    for prefix in without:
        query = query.where(~_listed().contains(f'"{prefix}', autoescape=True))
    query = query.order_by(memories.c.id.desc())
    found = [
        each
        for places in _places(project)
        for each in await fetch_memories(db, query.where(*places), limit)
    ]
    return sorted(found, key=lambda each: each.id, reverse=True)[:limit]


def _places(project: str | None) -> list[list[sa.ColumnElement[bool]]]:
    """Return the conditions of each query, by its own index: the project, and global knowledge."""
    if project is None:
        return [[]]
    own = memories.c.project == project
    return [[own], [memories.c.scope == GLOBAL, memories.c.project != project]]


def _listed() -> Any:
    return sa.type_coerce(memories.c.tags, sa.Text)


async def of_project(db: Database, project: str, *, limit: int) -> list[Memory]:
    """Return knowledge of a project, active or not, oldest first."""
    query = (
        sa.select(memories)
        .where(sa.text(KNOWLEDGE))
        .where(memories.c.project == project)
        .order_by(memories.c.id)
    )
    return await fetch_memories(db, query, limit)


async def around(db: Database, focus: Memory, *, before: int, after: int) -> MemoryTimeline:
    """Return the active knowledge around a memory: of its session, else of its project.

    The order is by ID, which is the order of storage, independent of the clock.
    """
    number = memories.c.id
    earlier = await _near(db, focus, number < focus.id, number.desc(), before)
    later = await _near(db, focus, number > focus.id, number.asc(), after)
    return MemoryTimeline(tuple(reversed(earlier)), focus, tuple(later))


async def _near(
    db: Database, focus: Memory, side: sa.ColumnElement[bool], order: Any, limit: int
) -> list[Memory]:
    if limit < 1:
        return []
    of_session = memories.c.session_id == focus.session_id
    query = (
        sa.select(memories)
        .where(sa.text(KNOWLEDGE))
        .where(memories.c.active == 1)
        .where(side)
        .where(memories.c.project == focus.project if focus.session_id is None else of_session)
        .order_by(order)
    )
    return await fetch_memories(db, query, limit)


_TOPIC_KEY_HOLDER: Final = Statement(
    sa.select(memories.c.id)
    .where(sa.text(KNOWLEDGE))  # few rows have a key, and these are indexed
    .where(memories.c.topic_key == sa.bindparam("topic_key"))
    .where(memories.c.project == sa.bindparam("project"))
    .where(memories.c.scope == sa.bindparam("scope"))
    .where(memories.c.active == 1)
    .where(memories.c.id != sa.bindparam("other_than", type_=NUMBER))
    .order_by(memories.c.id.desc())
    .limit(1)
)


async def topic_key_holder(
    db: Database, keyed: Candidate | Memory, *, without: MemoryId | None = None
) -> MemoryId | None:
    """Return the active memory with the same topic key, project and scope.

    The newest of several; None without a topic key.
    """
    if keyed.topic_key is None:
        return None
    place = {"topic_key": keyed.topic_key, "project": keyed.project, "scope": keyed.scope}
    row = await db.fetch_one(_TOPIC_KEY_HOLDER(**place, other_than=without or 0))
    return None if row is None else MemoryId(row["id"])


async def taken_topic_keys(db: Database, entries: Sequence[int]) -> dict[MemoryId, MemoryId]:
    """Return the memories to which a topic key cannot return, each with the key's active memory.

    They would return to their state before these entries of the history.
    """
    rows = await db.fetch_all(_TAKEN_TOPIC_KEYS(ids=ids_as_json(entries)))
    return {MemoryId(row["id"]): MemoryId(row["holder"]) for row in rows}


_MINE: Final = memories.alias("mine")
_HOLDER: Final = memories.alias("holder")
_KEY: Final = {
    name: JsonValue(history.c.before, name, sa.Text) for name in ("topic_key", "project", "scope")
}
_WAS_ACTIVE: Final = JsonValue(history.c.before, "active", NUMBER, flag=True) == 1
_TAKEN_TOPIC_KEYS: Final = Statement(
    sa.select(_MINE.c.id, sa.func.max(_HOLDER.c.id).label("holder"))
    .select_from(history)
    .join(_MINE, _MINE.c.id == history.c.memory_id)
    .join(_HOLDER, sa.and_(*(_HOLDER.c[name] == value for name, value in _KEY.items())))
    .where(InIdList(history.c.id, sa.bindparam("ids", type_=sa.Text)), _WAS_ACTIVE)
    .where(_HOLDER.c.active == 1, _HOLDER.c.id != _MINE.c.id)
    .where(
        (_MINE.c.active == 0)
        | sa.or_(*(_MINE.c[name].is_distinct_from(value) for name, value in _KEY.items()))
    )
    .group_by(_MINE.c.id)
    .order_by(_MINE.c.id),
    long=True,
)
