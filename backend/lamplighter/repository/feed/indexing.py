"""What is written into the index of the search, in the transaction of its row."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import SimpleNamespace
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from lamplighter.domain.memory.knowledge import own_title
from lamplighter.domain.memory.memory import Memory
from lamplighter.domain.search import scope_terms
from lamplighter.domain.search.ranking import size_of
from lamplighter.domain.search.search import Layer
from lamplighter.domain.search.terms import terms as terms_of
from lamplighter.domain.search.utterance import said_by
from lamplighter.domain.services.event import Event
from lamplighter.domain.sessions.session import OUTSIDE, Session, Trigger
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import NUMBER, Named, OneOf
from lamplighter.repository.store.index_schema import NEIGHBOURS
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

AT_ONCE: Final = 100
"""How many waiting rows one write indexes."""


AROUND_TERMS: Final = 100
"""How much of each neighbour counts: a page beside a line is to leave the line found."""

LAST_POSITION: Final = 16_383
COLUMNS: Final = (*FIELDS, "scope", "size")


@dataclass(frozen=True, slots=True)
class Entry:
    """What the index holds of one row: its terms, with spaces between them."""

    id: int
    title: str
    text: str
    keys: str
    scope: str
    around: str = ""

    @property
    def size(self) -> float:
        """How long it is."""
        return size_of((self.title, self.text, self.keys, self.around))

    @property
    def is_page(self) -> bool:
        """Whether it is so long that it says itself what it is about: it needs no neighbours."""
        return self.text.count(" ") >= AROUND_TERMS

    @property
    def said(self) -> str:
        """What its neighbours are found by too."""
        return " ".join(f"{self.title} {self.text}".split()[:AROUND_TERMS])


def of_memory(memory: Memory) -> Entry:
    """Return what the index holds of a memory."""
    names = (memory.service, memory.topic_key, said_by(memory), *memory.tags)
    keys = " ".join(filter(None, names))
    return _entry(
        memory.id + (0 if memory.active else ASIDE),
        own_title(memory),
        memory.observation,
        keys,
        scope_terms.of_memory(memory),
    )


def of_session(session: Session) -> Entry:
    """Return what the index holds of a session that has a summary."""
    keys = " ".join((session.agent or "", *(session.services or ())))
    number = session.id + BASES[Layer.SESSION]
    return _entry(number, "", session.summary, keys, scope_terms.of_session(session))


def of_event(event: Event) -> Entry:
    """Return what the index holds of an event."""
    number = event.id + BASES[Layer.EVENT]
    return _entry(number, "", event.text, event.service or "", scope_terms.of_event(event))


async def written(db: Database, memory: Memory) -> None:
    """Take in a memory that was just written, where something that is searched changed."""
    if await db.fetch_all(_NOTED(id=memory.id)):
        await put_memories(db, [memory])


async def summarized(db: Database, session: Session) -> None:
    """Take in a session whose summary was just written."""
    entry = of_session(session)
    if await db.fetch_all(_NOTED(id=entry.id)) and session.summary:
        await put(db, entry)


async def put_memories(db: Database, several: Sequence[Memory]) -> None:
    """Put memories into the index, each with its neighbours of the same session beside it."""
    entries: dict[int, Entry] = {each.id: of_memory(each) for each in several}
    others = [each if entry.id >= ASIDE else each + ASIDE for each, entry in entries.items()]
    await db.execute(_REMOVE(ids=str(others)))
    of: dict[int, list[int]] = {}
    for each in several:
        if each.session_id is not None:
            of.setdefault(each.session_id, []).append(each.id)
    loose = await _loose(db, of)
    made = [
        entries[each.id] for each in several if each.session_id is None or each.session_id in loose
    ]
    for session, ids in of.items():
        if session in loose:
            continue
        made += await _beside(db, session, {each: entries[each] for each in ids})
    await put_all(db, made)


async def _loose(db: Database, wanted: Iterable[int]) -> set[int]:
    """Return those sessions that hold what was said outside of any: nothing there is beside."""
    ids = list(wanted)
    rows = await db.fetch_all(_LOOSE(ids=str(ids))) if ids else []
    return {row["id"] for row in rows}


async def put_all(db: Database, entries: Sequence[Entry]) -> None:
    """Put entries into the index; of many PostgreSQL is told at once."""
    if not db.notifies or len(entries) == 1:
        for entry in entries:
            await put(db, entry)
    elif entries:
        rows = [{**_values(each), "vector": _literal(sa.literal(vector(each)))} for each in entries]
        await db.execute_many(_upsert(), rows)


async def put(db: Database, entry: Entry) -> None:
    """Put one entry into the index, in the place of what it held."""
    if db.notifies:
        await db.execute(_put_vector()(**_values(entry), vector=vector(entry)))
    else:
        await db.execute(_PUT(**_values(entry)))


def _values(entry: Entry) -> dict[str, Any]:
    return {"id": entry.id, **{name: getattr(entry, name) for name in COLUMNS}}


async def _beside(db: Database, session: int, fresh: Mapping[int, Entry]) -> list[Entry]:
    """Return memories of a session and those near them, each with what its neighbors say.

    Only of transcripts: what says who speaks. Facts of one session have nothing in common.
    """
    rows = await db.fetch_all(_NEAR(session=session, first=min(fresh), last=max(fresh)))
    turns = {row["id"] for row in rows if said_by(SimpleNamespace(**dict(row))) is not None}
    order = sorted(row["id"] for row in rows)
    held = await stored(db, [each for each in order if each not in fresh])
    known = {**{entry.id % STEP: entry for entry in held}, **fresh}
    order = [each for each in order if each in known]
    made = []
    for at, number in enumerate(order):
        near = range(max(0, at - NEIGHBOURS), min(len(order), at + NEIGHBOURS + 1))
        if not any(order[other] in fresh for other in near):
            continue
        beside = (known[order[other]] for other in near if other != at and order[other] in turns)
        around = " ".join(each.said for each in beside if each.id < ASIDE)
        around = around if number in turns and not known[number].is_page else ""
        if number in fresh or around != known[number].around:
            made.append(replace(known[number], around=around))
    return made


async def stored(db: Database, ids: Sequence[int]) -> list[Entry]:
    """Return what the index holds of some memories."""
    if not ids:
        return []
    wanted = [*ids, *(each + ASIDE for each in ids)]
    rows = await db.fetch_all(_STORED(ids=str(wanted)))
    return [
        Entry(**{name: row[name] for name in ("id", "title", "text", "keys", "scope", "around")})
        for row in rows
    ]


def vector(entry: Entry) -> str:
    """Return an entry as PostgreSQL's `tsvector` writes it; its terms hold nothing to quote."""
    places: dict[str, list[str]] = {}
    at = 0
    for letter, text in zip("ABCD", (getattr(entry, name) for name in FIELDS), strict=True):
        for term in text.split():
            at += 1
            places.setdefault(term, []).append(f"{min(at, LAST_POSITION)}{letter}")
        at += 1  # no phrase reaches from one field into the next
    words = (f"'{term}':{','.join(found)}" for term, found in places.items())
    return " ".join((*words, *(f"'={term}'" for term in entry.scope.split())))


def _entry(number: int, title: str, text: str, keys: str, scope: Iterable[str]) -> Entry:
    title, text, keys = (" ".join(terms_of(each)) for each in (title, text, keys))
    return Entry(number, title, text, keys, " ".join(dict.fromkeys(scope)))


def _upserting(made: Any, *, vector: bool) -> Any:
    columns = (*COLUMNS, *(("vector",) if vector else ()))
    target = sa.table("terms", *(sa.column(name) for name in ("id", *columns)))
    insert = made(target)
    fresh = {name: insert.excluded[name] for name in columns}
    return insert.on_conflict_do_update(index_elements=["id"], set_=fresh)


def _putting(upsert: Any, *, vector: bool) -> Statement:
    given: dict[str, Any] = {name: sa.bindparam(name, type_=_TYPES[name]) for name in _TYPES}
    if vector:
        given["vector"] = _literal(sa.bindparam("vector", type_=sa.Text))
    return Statement(upsert.values(given))


def _literal(text: Any) -> Any:
    return sa.cast(sa.cast(text, sa.Text), _TSVECTOR)


@cache
def _upsert() -> Any:
    from sqlalchemy.dialects import postgresql  # it takes long to load, and SQLite needs none of it

    return _upserting(postgresql.insert, vector=True)


@cache
def _put_vector() -> Statement:
    return _putting(_upsert(), vector=True)


def _near(way: Any, order: Any) -> Any:
    inner = sa.select(*_SPOKEN).where(_OF_SESSION, way).order_by(order).limit(2 * NEIGHBOURS)
    return sa.select(inner.subquery())


_TSVECTOR: Final = Named("TSVECTOR")
_TYPES: Final[dict[str, Any]] = {
    "id": NUMBER,
    **dict.fromkeys((*FIELDS, "scope"), sa.Text),
    "size": sa.Double,
}
_PUT: Final = _putting(_upserting(sqlite.insert, vector=False), vector=False)
_IDS: Final = sa.bindparam("ids", type_=sa.Text)
_NUMBER: Final = sa.bindparam("id", type_=NUMBER)
_FIRST: Final = sa.bindparam("first", type_=NUMBER)
_LAST: Final = sa.bindparam("last", type_=NUMBER)
_REMOVE: Final = Statement(sa.delete(terms).where(OneOf(terms.c.id, _IDS)))
_NOTED: Final = Statement(
    sa.delete(unindexed).where(unindexed.c.id == _NUMBER).returning(unindexed.c.id)
)
_SPOKEN: Final = (memories.c.id, memories.c.session_id, memories.c.title, memories.c.observation)
_OF_SESSION: Final = sa.func.coalesce(memories.c.session_id, sa.literal_column("0")) == (
    sa.bindparam("session", type_=NUMBER)
)
_NEAR: Final = Statement(
    sa.union_all(
        _near(memories.c.id < _FIRST, memories.c.id.desc()),
        sa.select(*_SPOKEN).where(_OF_SESSION, memories.c.id >= _FIRST, memories.c.id <= _LAST),
        _near(memories.c.id > _LAST, memories.c.id.asc()),
    )
)
_LOOSE: Final = Statement(
    sa.select(sessions.c.id)
    .where(OneOf(sessions.c.id, _IDS))
    .where(sessions.c.trigger == Trigger.CLIENT)
    .where(sessions.c.external_id.startswith(OUTSIDE, autoescape=True))
)
_STORED: Final = Statement(sa.select(terms).where(OneOf(terms.c.id, _IDS)))
