"""Queries on the index for the terms of a search: bounded, and the same on both databases.

A late query is cancelled, in the database too.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.errors import Unavailable
from lamplighter.domain.memory.memory import Memory
from lamplighter.domain.search.query import ParsedQuery
from lamplighter.domain.search.ranking import WEIGHTS, CorpusStats, Fields
from lamplighter.domain.search.search import NotebookText, SearchLayer
from lamplighter.domain.search.terms import is_single
from lamplighter.domain.services.event import Event
from lamplighter.domain.sessions.session import Session
from lamplighter.repository.store.database import Database, writing
from lamplighter.repository.store.dialect import NUMBER, InIdList, PostgresType
from lamplighter.repository.store.driver import OperationalError, UnsoundDatabase
from lamplighter.repository.store.statements import Statement
from lamplighter.repository.store.tables import (
    BASES,
    FIELDS,
    INDEX,
    STEP,
    VOCABULARY,
    events,
    memories,
    notebook_texts,
    reader,
    sessions,
    term_totals,
    terms,
    unindexed,
)
from lamplighter.repository.store.unreadable import from_fields, readable

RANKED: Final = 60
ROUGHLY_RANKED: Final = 200
RANKED_EACH, RANKED_MORE = 2, 20
"""How many candidates get an exact score.

More for larger limits, and in PostgreSQL, whose rough order ignores how rare a word is.
"""

COUNTED: Final = 3_000
"""The approximate number of matches to read; more frequent terms only affect their order."""

NEWEST: Final = 400
"""The number of newest matches that are read for words in nearly every document."""

SMALL: Final = 5_000
"""Up to this many documents, the frequency of words is counted for every search."""

DRIFT: Final = 1.1
_TSQUERY, _TSVECTOR = PostgresType("TSQUERY"), PostgresType("TSVECTOR")
DAMAGED: Final = (
    "The search index is damaged. Stop Lamplighter and run `lamplighter migrate` to rebuild "
    "the index."
)


class DeadlineExceeded(Exception):
    """The time limit has passed; partial results stay valid."""


class Deadline:
    """The moment until which an answer is useful."""

    def __init__(self, seconds: float) -> None:
        self._until = _clock() + seconds

    @property
    def left(self) -> float:
        """The remaining seconds; 0 after the deadline."""
        return max(0.0, self._until - _clock())


@asynccontextmanager
async def time_limit(db: Database, deadline: Deadline) -> AsyncIterator[None]:
    """Read until a deadline; raises DeadlineExceeded. An open transaction continues afterwards."""
    if not deadline.left:
        raise DeadlineExceeded
    try:
        async with _bounded(db, deadline.left):
            yield
    except TimeoutError as error:
        raise DeadlineExceeded from error
    except OperationalError as error:
        if db.notifies and _was_cancelled(error):
            raise DeadlineExceeded from error
        raise


@asynccontextmanager
async def _bounded(db: Database, seconds: float) -> AsyncIterator[None]:
    if not db.notifies:  # interrupts the statement; the connection stays usable
        async with asyncio.timeout(seconds):
            yield
        return
    async with db.transaction(readonly=True):  # a savepoint inside another transaction
        await db.execute(f"SET LOCAL statement_timeout = {max(1, round(seconds * 1_000))}")
        yield


def _was_cancelled(error: OperationalError) -> bool:
    from asyncpg import QueryCanceledError  # a 3 MB import that SQLite does not need

    return isinstance(error.__cause__, QueryCanceledError)


def _clock() -> float:
    return asyncio.get_running_loop().time()


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchTerms:
    """The conditions of a match: any of `terms`, all `phrases`, none of `without`.

    Of each group of `scope`, any of its terms.
    """

    terms: tuple[str, ...] = ()
    phrases: tuple[tuple[str, ...], ...] = ()
    without: tuple[tuple[str, ...], ...] = ()
    scope: tuple[tuple[str, ...], ...] = ()


@dataclass(slots=True)
class TermCounts:
    """The number of documents with each term, as counted when `documents` documents existed."""

    documents: int = 0
    holding: dict[str, int] = field(default_factory=dict)


async def corpus(db: Database, found: ParsedQuery, scope: Sequence[str]) -> CorpusStats:
    """Return the size of the index, and the number of documents with each term of a query."""
    rows = await db.fetch_all(_TOTALS())
    documents = sum(row["documents"] for row in rows)
    size = sum(row["size"] for row in rows)
    all_terms = dict.fromkeys([*found.terms, *scope])
    counts = db.counts if isinstance(db.counts, TermCounts) else TermCounts()
    low, high = counts.documents / DRIFT, counts.documents * DRIFT
    if documents < SMALL or not low <= documents <= high or len(counts.holding) > SMALL:
        counts = TermCounts(documents)
        db.counts = counts
    missing = [each for each in all_terms if each not in counts.holding]
    if missing:
        counts.holding |= await _count_documents(db, missing, set(scope))
    parts = {row["part"]: row["documents"] for row in rows}
    return CorpusStats(documents, size / max(1, documents), counts.holding, parts)


@dataclass(frozen=True, slots=True)
class Document:
    """The index entry of a match."""

    number: int
    fields: Fields
    size: float


async def candidates(
    db: Database,
    matching: MatchTerms,
    *,
    base: int,
    expected: int,
    limit: int,
    conditions: Any = None,
) -> list[Document]:
    """Return matches in one part of the index: the best, or the newest of very many.

    They are enough to determine the `limit` best.
    """
    ranked = max(ROUGHLY_RANKED if db.notifies else RANKED, RANKED_EACH * limit + RANKED_MORE)
    mode = "few" if expected <= ranked else "some" if expected <= COUNTED else "many"
    if not matching.terms and mode == "some":
        mode = "newest"
    parts = _POSTGRES_QUERIES if db.notifies else _SQLITE_QUERIES
    values: dict[str, Any] = {"low": base, "high": base + STEP - 1}
    if db.notifies:
        values |= {
            "asked": _ts(matching),
            "ranked": _any_of(matching.terms) if matching.terms else "",
        }
    else:
        values |= {"asked": _fts(matching)}
    query = parts.prepared[mode]
    if conditions:
        query = parts.filtered(mode, base, conditions, anything=not values["asked"])
    if mode == "some":
        values["most"] = ranked
    rows = await _fetch(db, query(**values))
    return [
        Document(row["id"], (row["title"], row["text"], row["keys"], row["around"]), row["size"])
        for row in rows
    ]


async def _fetch(db: Database, query: Any) -> list[Any]:
    try:
        return list(await db.fetch_all(query))
    except UnsoundDatabase as error:
        if db.problem:
            raise
        raise Unavailable(DAMAGED) from error


async def _count_documents(db: Database, terms: Sequence[str], scope: set[str]) -> dict[str, int]:
    if not db.notifies:
        vocabulary = sa.table(VOCABULARY, sa.column("term"), sa.column("doc"))
        query = sa.select(vocabulary).where(vocabulary.c.term.in_(terms))
        counts = {row["term"]: int(row["doc"]) for row in await _fetch(db, query)}
    else:
        marked = {f"'={each}'" if each in scope else f"'{each}'": each for each in terms}
        asked = sa.func.unnest(sa.cast(list(marked), sa.ARRAY(sa.Text)))
        each = asked.table_valued(sa.column("term", sa.Text), name="asked").render_derived()
        holds = _TERMS.c.vector.op("@@")(sa.cast(each.c.term, _TSQUERY))
        count = sa.select(sa.func.count()).select_from(_TERMS).where(holds).scalar_subquery()
        rows = await db.fetch_all(sa.select(each.c.term, count.label("doc")))
        counts = {marked[row["term"]]: int(row["doc"]) for row in rows}
    return {each: counts.get(each, 0) for each in terms}


class _IndexQueries:
    """The queries for matches in one database, each variant prepared once."""

    def __init__(self, rows: Any, number: Any, rough: Any, matches: Any, *, hide: bool) -> None:
        self._rows, self._number, self._rough = rows, number, rough
        self._matches, self._hide = matches, hide
        self.prepared = {
            mode: Statement(self._asking(mode, matches), long=True)
            for mode in ("few", "some", "many", "newest")
        }

    def filtered(self, mode: str, base: int, conditions: Any, *, anything: bool) -> Statement:
        """Return the query with a further condition on the numbers of rows.

        With `anything` this is the only condition: no term must match.
        """
        matches = () if anything else (self._matches,)
        query = self._asking(mode, *matches, conditions(self._number - base))
        return Statement(query, long=True)

    def _asking(self, mode: str, *conditions: Any) -> sa.Select[Any]:
        """Select the rows to rank: all of few, the roughly best of some, the newest of many."""
        columns = [self._number.label("id"), *([self._rough] if mode == "some" else [])]
        query = sa.select(*columns).select_from(self._rows)
        query = query.where(self._number.between(_LOW, _HIGH), *conditions)
        most = COUNTED if mode in ("few", "some") else NEWEST
        found = self._ordered(query, hide=mode != "many").limit(most).subquery("found")
        if mode == "some":
            best = sa.select(found.c.id).order_by(found.c.rough, found.c.id.desc())
            found = best.limit(_MOST).subquery("best")
        held = [terms.c.id, *(terms.c[name] for name in FIELDS), terms.c.size]
        return sa.select(*held).join_from(found, terms, terms.c.id == found.c.id)

    def _ordered(self, query: Any, *, hide: bool) -> Any:
        if not (hide and self._hide):
            return query.order_by(self._number.desc())
        # otherwise PostgreSQL may scan all rows backward to reach the limit
        inner = query.cte("matching").prefix_with("MATERIALIZED", dialect="postgresql")
        return sa.select(*inner.c).order_by(inner.c.id.desc())


_LOW: Final = sa.bindparam("low", type_=NUMBER)
_HIGH: Final = sa.bindparam("high", type_=NUMBER)
_MOST: Final = sa.bindparam("most", type_=sa.Integer)
_QUERY: Final = sa.bindparam("asked", type_=sa.Text)


def _sqlite_queries() -> _IndexQueries:
    rows = sa.table(INDEX, sa.column("rowid", NUMBER), sa.column(INDEX))
    weights = [sa.literal_column(str(each), sa.Double) for each in (*WEIGHTS, 0)]
    rough: Any = sa.func.bm25(sa.literal_column(INDEX), *weights, type_=sa.Double)
    matches = rows.c[INDEX].op("MATCH", is_comparison=True)(_QUERY)
    return _IndexQueries(rows, rows.c.rowid, rough.label("rough"), matches, hide=False)


def _postgres_queries() -> _IndexQueries:
    query, ranked = (
        sa.cast(sa.cast(text, sa.Text), _TSQUERY)
        for text in (_QUERY, sa.bindparam("ranked", type_=sa.Text))
    )
    title, text, keys, around = (each / max(WEIGHTS) for each in WEIGHTS)  # PostgreSQL: at most 1
    weights: Any = sa.literal_column(f"'{{{around}, {keys}, {text}, {title}}}'::float4[]")
    rows = _TERMS.alias("vectors")
    vector: Any = rows.c.vector
    rough = (-sa.func.ts_rank(weights, vector, ranked, 1, type_=sa.Double)).label("rough")
    return _IndexQueries(rows, rows.c.id, rough, vector.op("@@")(query), hide=True)


_TERMS: Final = sa.table("terms", sa.column("id", NUMBER), sa.column("vector", _TSVECTOR))
_SQLITE_QUERIES: Final = _sqlite_queries()
_POSTGRES_QUERIES: Final = _postgres_queries()
_TOTALS: Final = Statement(sa.select(term_totals))


_TEXT_COLUMNS: Final = "{title text keys}"
"""The columns of a document's own text: its neighbors only affect the order of matches."""


def _fts(matching: MatchTerms) -> str:
    """Format the conditions of a match for FTS5; terms contain nothing that is syntax there."""
    every = [f"scope : ({' OR '.join(_quoted(each))})" for each in matching.scope]
    if matching.terms:
        marked = (f'"{each}"{" *" if is_single(each) else ""}' for each in matching.terms)
        every.append(f"{_TEXT_COLUMNS} : ({' OR '.join(marked)})")
    every += [f'{_TEXT_COLUMNS} : ("{" ".join(each)}")' for each in matching.phrases]
    text = " AND ".join(every)
    if matching.without:
        none = " OR ".join(f'"{" ".join(each)}"' for each in matching.without)
        text = f"({text}) NOT {_TEXT_COLUMNS} : ({none})"
    return text


def _ts(matching: MatchTerms) -> str:
    """Format the conditions of a match as a `tsquery`."""
    every = [_any_of([f"={each}" for each in group]) for group in matching.scope]
    if matching.terms:
        every.append(_any_of(matching.terms, of="ABC"))
    every += [f"({_phrase(each)})" for each in matching.phrases]
    every += [f"!({_phrase(each)})" for each in matching.without]
    return " & ".join(every)


def _any_of(terms: Sequence[str], of: str = "") -> str:
    marked = (f"'{each}'{_marks(each, of)}" for each in terms)
    return f"({' | '.join(marked)})"


def _marks(term: str, of: str) -> str:
    marks = f"{'*' if is_single(term) else ''}{of}"
    return f":{marks}" if marks else ""


def _phrase(terms: Sequence[str]) -> str:
    return " <-> ".join(f"'{each}':ABC" for each in terms)


def _quoted(terms: Sequence[str]) -> list[str]:
    return [f'"{each}"' for each in terms]


PARTS: Final = {base // STEP: SearchLayer(layer) for layer, base in BASES.items()}
_MEMORIES: Final = Statement(
    sa.select(memories).where(InIdList(memories.c.id, sa.bindparam("ids", type_=sa.Text))),
    long=True,
)

IndexedRow = Memory | Session | NotebookText | Event


def layer_of(number: int) -> SearchLayer:
    """Return the layer of a number in the index."""
    return PARTS.get(number // STEP, SearchLayer.MEMORY)


def memory_of(number: int) -> int:
    """Return the memory ID of a number in the index."""
    return number % STEP


async def fetch_rows(db: Database, numbers: Iterable[int]) -> dict[int, IndexedRow]:
    """Return the rows of some numbers in the index, without deleted or unreadable rows."""
    of: dict[SearchLayer, dict[int, int]] = {}
    for number in numbers:
        of.setdefault(layer_of(number), {})[number % STEP] = number
    found: dict[int, IndexedRow] = {}
    for layer, own in of.items():
        found |= {own[row.id]: row for row in await _fetch_layer(db, layer, list(own))}
    return found


async def _fetch_layer(db: Database, layer: SearchLayer, ids: list[int]) -> Iterable[IndexedRow]:
    if layer is SearchLayer.MEMORY:
        found = await db.fetch_all(_MEMORIES(ids=str(ids)))
        return [from_fields(row) for row in readable(found)]
    table, read = _READERS[layer]
    query = sa.select(table).where(table.c.id.in_(ids)).order_by(table.c.id)
    return [read(row) for row in await db.fetch_all(query)]


_READERS: Final[dict[SearchLayer, tuple[sa.Table, Callable[[Any], IndexedRow]]]] = {
    SearchLayer.SESSION: (sessions, reader(Session)),
    SearchLayer.EVENT: (events, reader(Event)),
    SearchLayer.PAGE: (notebook_texts, reader(NotebookText)),
}
_MOMENTS: Final = {
    SearchLayer.MEMORY: (memories.c.id, memories.c.updated_at),
    SearchLayer.SESSION: (sessions.c.id, sessions.c.started_at),
    SearchLayer.EVENT: (events.c.id, events.c.created_at),
    SearchLayer.PAGE: (notebook_texts.c.id, notebook_texts.c.updated_at),
}


def is_newer(layer: SearchLayer, at: datetime) -> Callable[[Any], sa.ColumnElement[bool]]:
    """Return a function that builds the condition for rows of a moment or later."""
    number, moment = _MOMENTS[layer]
    later = sa.select(number).where(moment >= at)
    return lambda each: each.in_(later)


_ANY_PENDING: Final = Statement(
    sa.select(unindexed.c.id)
    .where(unindexed.c.id.between(sa.bindparam("low"), sa.bindparam("high")))
    .limit(1)
)


async def has_pending(db: Database, layers: Sequence[SearchLayer] = tuple(SearchLayer)) -> bool:
    """Whether rows of some layers are waiting to be indexed."""
    for low, high in _ranges(layers):
        if await db.fetch_one(_ANY_PENDING(low=low, high=high)) is not None:
            return True
    return False


def _ranges(layers: Sequence[SearchLayer]) -> list[tuple[int, int]]:
    """Return the ranges of numbers of some layers, with adjacent ranges merged."""
    found: list[tuple[int, int]] = []
    for base in sorted(BASES[each] for each in layers):
        low = found.pop()[0] if found and found[-1][1] == base - 1 else base
        found.append((low, base + STEP - 1))
    return found


async def count_pending(db: Database, layers: Sequence[SearchLayer], *, most: int) -> int:
    """Return the number of waiting rows of some layers, counting at most `most`."""
    waiting = sa.select(unindexed.c.id).where(in_layers(layers)).limit(most).subquery()
    return await db.count_rows(waiting)


async def catch_up(
    db: Database,
    layers: Sequence[SearchLayer] = tuple(SearchLayer),
    *,
    seconds: float,
    write: Callable[[Database], AbstractAsyncContextManager[None]] = writing,
) -> int:
    """Index waiting rows in short writes until a time limit; return the number of rows.

    If nothing can be written now, the rows stay waiting.
    """
    deadline, count = Deadline(seconds), 0
    with suppress(OperationalError):
        while deadline.left and await has_pending(db, layers):
            from lamplighter.repository.search.pending import index_pending  # late: rarely needed

            async with write(db):
                count += await index_pending(db, layers)
    return count


async def catch_up_within(db: Database, layers: Sequence[SearchLayer], *, seconds: float) -> None:
    """Index waiting rows, and wait for that until a time limit: a task may be running already.

    A write that has not started by then is not cancelled; the next search finds its result.
    """
    if db.taking_in is None:
        if not await has_pending(db, layers):
            return
        db.taking_in = asyncio.create_task(catch_up(db, layers, seconds=seconds))
        db.taking_in.add_done_callback(partial(_finish_task, db))
    done, _ = await asyncio.wait({db.taking_in}, timeout=seconds)
    for each in done:
        each.result()


def _finish_task(db: Database, task: asyncio.Task[int]) -> None:
    db.taking_in = None
    if not task.cancelled():
        task.exception()  # marks the error as retrieved: the waiting task reports it


def in_layers(layers: Sequence[SearchLayer]) -> sa.ColumnElement[bool]:
    """Return the condition for the waiting rows of some layers."""
    ranges = (unindexed.c.id.between(BASES[each], BASES[each] + STEP - 1) for each in layers)
    return sa.or_(sa.false(), *ranges)
