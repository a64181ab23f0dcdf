"""The entries of the search index, written in the transaction of their row."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import SimpleNamespace
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from lamplighter.domain.memory.knowledge import custom_title
from lamplighter.domain.memory.memory import Memory
from lamplighter.domain.search.ranking import size_of, utterance_speaker
from lamplighter.domain.search.search import NotebookText, SearchLayer
from lamplighter.domain.search.terms import event_terms, memory_terms, page_terms, session_terms
from lamplighter.domain.search.terms import terms as terms_of
from lamplighter.domain.services.event import Event
from lamplighter.domain.sessions.session import MANUAL_SAVE_PREFIX, Session, Trigger
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import NUMBER, InIdList, PostgresType
from lamplighter.repository.store.index_schema import NEIGHBORS
from lamplighter.repository.store.statements import Statement
from lamplighter.repository.store.tables import (
    ASIDE,
    BASES,
    FIELDS,
    STEP,
    memories,
    sessions,
    terms,
    unindexed,
)

BATCH_SIZE: Final = 100
"""The number of pending rows that one write indexes."""


AROUND_TERMS: Final = 100
"""The indexed terms of each neighbor: a page must not outweigh the line beside it."""

LAST_POSITION: Final = 16_383
COLUMNS: Final = (*FIELDS, "scope", "size")


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """The index entry of one row: its terms, separated by spaces."""

    id: int
    title: str
    text: str
    keys: str
    scope: str
    around: str = ""

    @property
    def size(self) -> float:
        """The length of the entry."""
        return size_of((self.title, self.text, self.keys, self.around))

    @property
    def is_page(self) -> bool:
        """Whether a text is long enough to be indexed without its neighbors."""
        return self.text.count(" ") >= AROUND_TERMS

    @property
    def beginning(self) -> str:
        """The first terms, which are also indexed with the neighbors."""
        return " ".join(f"{self.title} {self.text}".split()[:AROUND_TERMS])


def memory_entry(memory: Memory) -> IndexEntry:
    """Build the index entry of a memory."""
    names = (memory.service, memory.topic_key, utterance_speaker(memory), *memory.tags)
    keys = " ".join(filter(None, names))
    return _entry(
        memory.id + (0 if memory.active else ASIDE),
        custom_title(memory),
        memory.observation,
        keys,
        memory_terms(memory),
    )


def session_entry(session: Session) -> IndexEntry:
    """Build the index entry of a session that has a summary."""
    keys = " ".join((session.agent or "", *(session.services or ())))
    number = session.id + BASES[SearchLayer.SESSION]
    return _entry(number, "", session.summary, keys, session_terms(session))


def event_entry(event: Event) -> IndexEntry:
    """Build the index entry of an event."""
    number = event.id + BASES[SearchLayer.EVENT]
    return _entry(number, "", event.text, event.service or "", event_terms(event))


def page_entry(page: NotebookText, home: str) -> IndexEntry:
    """Build the index entry of a page of a home."""
    number = page.id + BASES[SearchLayer.PAGE]
    return _entry(number, page.title, page.text, page.path, page_terms(page, home))


async def index_changed_memory(db: Database, memory: Memory, *, new: bool = False) -> None:
    """Index a memory that was just written, if a searched column changed."""
    if await db.fetch_all(_CLEAR_UNINDEXED(id=memory.id)):
        await index_memories(db, [memory], new=new)


async def index_changed_session(db: Database, session: Session) -> None:
    """Index a session whose summary was just written."""
    entry = session_entry(session)
    if await db.fetch_all(_CLEAR_UNINDEXED(id=entry.id)) and session.summary:
        await put(db, entry)


async def index_memories(db: Database, several: Sequence[Memory], *, new: bool = False) -> None:
    """Index memories, each with its neighbors of the same session; `new` ones have no entries."""
    entries: dict[int, IndexEntry] = {each.id: memory_entry(each) for each in several}
    if not new:
        others = [each if entry.id >= ASIDE else each + ASIDE for each, entry in entries.items()]
        await db.execute(_REMOVE(ids=str(others)))
    of: dict[int, list[int]] = {}
    for each in several:
        if each.session_id is not None:
            of.setdefault(each.session_id, []).append(each.id)
    loose = await _placeholder_sessions(db, of)
    made = [
        entries[each.id] for each in several if each.session_id is None or each.session_id in loose
    ]
    for session, ids in of.items():
        if session in loose:
            continue
        made += await _with_neighbors(db, session, {each: entries[each] for each in ids})
    await put_all(db, made)


async def _placeholder_sessions(db: Database, numbers: Iterable[int]) -> set[int]:
    """Return the sessions that only collect memories saved outside a session: no neighbors."""
    ids = list(numbers)
    rows = await db.fetch_all(_PLACEHOLDER_SESSIONS(ids=str(ids))) if ids else []
    return {row["id"] for row in rows}


async def put_all(db: Database, entries: Sequence[IndexEntry]) -> None:
    """Index entries; PostgreSQL receives several in one statement."""
    if not db.notifies or len(entries) == 1:
        for entry in entries:
            await put(db, entry)
    elif entries:
        rows = [
            {**_values(each), "vector": _literal(sa.literal(as_tsvector(each)))} for each in entries
        ]
        await db.execute_many(_upsert(), rows)


async def put(db: Database, entry: IndexEntry) -> None:
    """Write one entry to the index, replacing the stored entry."""
    if db.notifies:
        await db.execute(_put_vector()(**_values(entry), vector=as_tsvector(entry)))
    else:
        await db.execute(_PUT(**_values(entry)))


def _values(entry: IndexEntry) -> dict[str, Any]:
    return {"id": entry.id, **{name: getattr(entry, name) for name in COLUMNS}}


async def _with_neighbors(
    db: Database, session: int, fresh: Mapping[int, IndexEntry]
) -> list[IndexEntry]:
    """Return the entries of memories and of those near them, each with its neighbors' terms.

    Only entries of transcripts, which name a speaker, get neighbors: other facts of one session are
    unrelated.
    """
    rows = await db.fetch_all(_NEIGHBORS(session=session, first=min(fresh), last=max(fresh)))
    turns = {
        row["id"] for row in rows if utterance_speaker(SimpleNamespace(**dict(row))) is not None
    }
    order = sorted(row["id"] for row in rows)
    held = await stored_entries(db, [each for each in order if each not in fresh])
    entries = {**{entry.id % STEP: entry for entry in held}, **fresh}
    order = [each for each in order if each in entries]
    made = []
    for at, number in enumerate(order):
        near = range(max(0, at - NEIGHBORS), min(len(order), at + NEIGHBORS + 1))
        if not any(order[other] in fresh for other in near):
            continue
        beside = (entries[order[other]] for other in near if other != at and order[other] in turns)
        around = " ".join(each.beginning for each in beside if each.id < ASIDE)
        around = around if number in turns and not entries[number].is_page else ""
        if number in fresh or around != entries[number].around:
            made.append(replace(entries[number], around=around))
    return made


async def stored_entries(db: Database, ids: Sequence[int]) -> list[IndexEntry]:
    """Return the index entries of some memories."""
    if not ids:
        return []
    wanted = [*ids, *(each + ASIDE for each in ids)]
    rows = await db.fetch_all(_STORED(ids=str(wanted)))
    return [
        IndexEntry(
            **{name: row[name] for name in ("id", "title", "text", "keys", "scope", "around")}
        )
        for row in rows
    ]


def as_tsvector(entry: IndexEntry) -> str:
    """Format an entry as a PostgreSQL `tsvector`; the terms need no quoting."""
    places: dict[str, list[str]] = {}
    at = 0
    for letter, text in zip("ABCD", (getattr(entry, name) for name in FIELDS), strict=True):
        for term in text.split():
            at += 1
            places.setdefault(term, []).append(f"{min(at, LAST_POSITION)}{letter}")
        at += 1  # a phrase never spans two fields
    words = (f"'{term}':{','.join(found)}" for term, found in places.items())
    return " ".join((*words, *(f"'={term}'" for term in entry.scope.split())))


def _entry(number: int, title: str, text: str, keys: str, scope: Iterable[str]) -> IndexEntry:
    title, text, keys = (" ".join(terms_of(each)) for each in (title, text, keys))
    return IndexEntry(number, title, text, keys, " ".join(dict.fromkeys(scope)))


def _build_upsert(made: Any, *, vector: bool) -> Any:
    columns = (*COLUMNS, *(("vector",) if vector else ()))
    target = sa.table("terms", *(sa.column(name) for name in ("id", *columns)))
    insert = made(target)
    fresh = {name: insert.excluded[name] for name in columns}
    return insert.on_conflict_do_update(index_elements=["id"], set_=fresh)


def _build_put(upsert: Any, *, vector: bool) -> Statement:
    given: dict[str, Any] = {name: sa.bindparam(name, type_=_TYPES[name]) for name in _TYPES}
    if vector:
        given["vector"] = _literal(sa.bindparam("vector", type_=sa.Text))
    return Statement(upsert.values(given))


def _literal(text: Any) -> Any:
    return sa.cast(sa.cast(text, sa.Text), _TSVECTOR)


@cache
def _upsert() -> Any:
    from sqlalchemy.dialects import postgresql  # slow import, not needed for SQLite

    return _build_upsert(postgresql.insert, vector=True)


@cache
def _put_vector() -> Statement:
    return _build_put(_upsert(), vector=True)


def _select_neighbors(way: Any, order: Any) -> Any:
    inner = (
        sa.select(*_NEIGHBOR_COLUMNS).where(_OF_SESSION, way).order_by(order).limit(2 * NEIGHBORS)
    )
    return sa.select(inner.subquery())


_TSVECTOR: Final = PostgresType("TSVECTOR")
_TYPES: Final[dict[str, Any]] = {
    "id": NUMBER,
    **dict.fromkeys((*FIELDS, "scope"), sa.Text),
    "size": sa.Double,
}
_PUT: Final = _build_put(_build_upsert(sqlite.insert, vector=False), vector=False)
_IDS: Final = sa.bindparam("ids", type_=sa.Text)
_NUMBER: Final = sa.bindparam("id", type_=NUMBER)
_FIRST: Final = sa.bindparam("first", type_=NUMBER)
_LAST: Final = sa.bindparam("last", type_=NUMBER)
_REMOVE: Final = Statement(sa.delete(terms).where(InIdList(terms.c.id, _IDS)))
_CLEAR_UNINDEXED: Final = Statement(
    sa.delete(unindexed).where(unindexed.c.id == _NUMBER).returning(unindexed.c.id)
)
_NEIGHBOR_COLUMNS: Final = (
    memories.c.id,
    memories.c.session_id,
    memories.c.title,
    memories.c.observation,
)
_OF_SESSION: Final = sa.func.coalesce(memories.c.session_id, sa.literal_column("0")) == (
    sa.bindparam("session", type_=NUMBER)
)
_NEIGHBORS: Final = Statement(
    sa.union_all(
        _select_neighbors(memories.c.id < _FIRST, memories.c.id.desc()),
        sa.select(*_NEIGHBOR_COLUMNS).where(
            _OF_SESSION, memories.c.id >= _FIRST, memories.c.id <= _LAST
        ),
        _select_neighbors(memories.c.id > _LAST, memories.c.id.asc()),
    )
)
_PLACEHOLDER_SESSIONS: Final = Statement(
    sa.select(sessions.c.id)
    .where(InIdList(sessions.c.id, _IDS))
    .where(sessions.c.trigger == Trigger.CLIENT)
    .where(sessions.c.external_id.startswith(MANUAL_SAVE_PREFIX, autoescape=True))
)
_STORED: Final = Statement(sa.select(terms).where(InIdList(terms.c.id, _IDS)))
