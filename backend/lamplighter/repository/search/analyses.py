"""Analyses of observations, and the memories of a group that share most terms with a text."""

import json
from collections import deque
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import sqlalchemy as sa

from lamplighter.domain.change import ChangeOp
from lamplighter.domain.memory.memory import OPERATIONAL, Candidate, Category, Memory, MemoryId
from lamplighter.domain.relate import Analysis, Lexicon, analyze
from lamplighter.domain.relate.nearest import TermIndex, lookup_terms
from lamplighter.domain.text import content_hash
from lamplighter.repository.store.changes import last_seq
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import InIdList
from lamplighter.repository.store.statements import Statement, prepare_insert
from lamplighter.repository.store.tables import analyses, changes, memories
from lamplighter.repository.store.unreadable import fields_of, from_fields, is_readable, readable

MEMORY: Final = "memory"
STALE_BATCH_SIZE: Final = 500
MAX_FOLLOWED: Final = 500
CHANGES: Final = "changes"
"""The key of the changes beside the groups: both are forgotten together."""

LIKELY_TERMS: Final = 30
_decode: Final = msgspec.json.Decoder(Analysis).decode
_encode: Final = msgspec.json.Encoder().encode

GroupKey = tuple[str | None, Category]


def _stale(lexicon: str | sa.BindParameter[str]) -> sa.ColumnElement[bool]:
    """Whether a memory has no analysis of its current text by this lexicon."""
    return sa.or_(
        analyses.c.memory_id.is_(None),
        analyses.c.lexicon != lexicon,
        analyses.c.observation != memories.c.content_hash,
    )


_ACTIVE: Final = (
    sa.select(
        memories.c.id,
        memories.c.service,
        memories.c.observation,
        memories.c.content_hash,
        analyses.c.lexicon,
        analyses.c.observation.label("of"),
        analyses.c.terms,
    )
    .select_from(memories.outerjoin(analyses, analyses.c.memory_id == memories.c.id))
    .where(memories.c.active == 1)
)
_OF_GROUP: Final = _ACTIVE.where(memories.c.category == sa.bindparam("category")).where(
    memories.c.service.is_not_distinct_from(sa.bindparam("service"))
)
_GROUP: Final = Statement(
    _OF_GROUP.where(memories.c.id > sa.bindparam("newest")).order_by(memories.c.id)
)
_AGAIN: Final = Statement(
    _OF_GROUP.where(InIdList(memories.c.id, sa.bindparam("ids", type_=sa.Text)))
)
_RECENT_CHANGES: Final = (
    sa.select(changes.c.seq, changes.c.entity, changes.c.entity_id, changes.c.op)
    .where(changes.c.seq > sa.bindparam("seq"))
    .order_by(changes.c.seq)
    .limit(sa.bindparam("most"))
    .subquery()
)
# new in the feed; a row written directly is not in the feed, but is the newest
_CHANGED: Final = Statement(
    sa.select(
        sa.literal(0).label("seq"),
        sa.literal("").label("entity"),
        sa.func.coalesce(sa.func.max(memories.c.id), 0).label("entity_id"),
        sa.literal("").label("op"),
    ).union_all(sa.select(*_RECENT_CHANGES.c))
)
_RELATED: Final = Statement(
    sa.select(
        analyses.c.lexicon, analyses.c.observation.label("of"), analyses.c.analysis, *memories.c
    )
    .select_from(memories.outerjoin(analyses, analyses.c.memory_id == memories.c.id))
    .where(
        # separate index lookups; the group is checked afterward
        sa.or_(
            InIdList(memories.c.id, sa.bindparam("ids", type_=sa.Text)),
            memories.c.content_hash == sa.bindparam("hash"),
            # a row written directly to the database has no hash yet
            sa.and_(memories.c.content_hash == "", memories.c.observation == sa.bindparam("said")),
        )
    )
    .order_by(memories.c.id),
    tuples=True,
)
_PUT: Final = prepare_insert(analyses, "memory_id", "lexicon", "observation", "terms", "analysis")
_UNANALYZED: Final = Statement(
    _ACTIVE.where(sa.or_(*(memories.c.category == each for each in OPERATIONAL)))
    .where(_stale(sa.bindparam("lexicon")))
    .where(memories.c.id > sa.bindparam("newest"))
    .order_by(memories.c.id)
    .limit(sa.bindparam("most"))
)


@dataclass(frozen=True, slots=True)
class AnalyzedRow:
    """The unconverted row of a memory: most rows turn out to be unrelated to the candidate.

    `analysis` is None for an analysis of another text or by another lexicon.
    """

    values: Sequence[Any]
    analysis: Analysis | None

    @property
    def id(self) -> MemoryId:
        """The ID of the memory."""
        return MemoryId(self.values[_ID])

    @property
    def active(self) -> bool:
        """Whether the memory is active."""
        return bool(self.values[_IS_ACTIVE])

    @property
    def service(self) -> str | None:
        """The service of the memory."""
        service: str | None = self.values[_SERVICE]
        return service

    @property
    def observation(self) -> str:
        """The text of the memory."""
        return str(self.values[_OBSERVATION])

    def memory(self) -> Memory | None:
        """Return the memory; None if the row cannot be read."""
        fields = fields_of(self.values)
        return from_fields(fields) if is_readable(fields) else None


_ID, _SERVICE, _CATEGORY, _OBSERVATION, _IS_ACTIVE = (
    memories.c.keys().index(name) for name in ("id", "service", "category", "observation", "active")
)


@dataclass(slots=True)
class GroupIndex:
    """The index of a group in this process, and the last change that the index includes.

    `newest` is the highest ID up to which the index includes all memories of the group. `unread`
    are memories that the lexicon has not analyzed yet; each call analyzes some of them.
    """

    lexicon: str
    index: TermIndex = field(default_factory=TermIndex)
    unread: set[int] = field(default_factory=set)
    newest: int = 0
    seq: int = 0

    def add(self, number: int, found: Iterable[str]) -> None:
        """Add a memory that is newer than all others, or that changed."""
        self.newest = max(self.newest, number)
        self.index.add(number, found)


@dataclass(slots=True)
class GroupChanges:
    """The changes of memories after `seq` that the indexes of all groups have to include.

    `newest` is the highest ID of a memory, `external` the highest one that `put` did not add to
    its index. `changed` holds the latest changes with the IDs of their memories, `dropped` is the
    last change that it no longer holds.
    """

    seq: int
    newest: int = 0
    external: int = 0
    dropped: int = 0
    changed: deque[tuple[int, int]] = field(default_factory=deque)

    def note(self, seq: int, memory_id: int) -> None:
        """Add a change of a memory; forget the oldest one if there are too many."""
        self.changed.append((seq, memory_id))
        if len(self.changed) > MAX_FOLLOWED:
            self.dropped, _ = self.changed.popleft()


async def put(db: Database, memory: Memory, analysis: Analysis) -> None:
    """Store the analysis of a new observation, with the version of its lexicon."""
    await db.execute(_PUT(**_row(memory.id, memory.observation, analysis)))
    cached = db.groups.get((memory.service, memory.category))
    if cached is None or cached.lexicon == analysis.lexicon:
        changes_read: GroupChanges | None = db.groups.get(CHANGES)
        if changes_read is not None and memory.id == changes_read.newest + 1:
            changes_read.newest = memory.id
        if cached is not None:
            cached.add(memory.id, lookup_terms(analysis))


async def fetch_related(
    db: Database, ids: Sequence[int], candidate: Candidate, lexicon: Lexicon
) -> list[AnalyzedRow]:
    """Return the rows of some memories, and of those with the same text, with their analyses."""
    rows = await db.fetch_all(
        _RELATED(
            ids=json.dumps(ids),
            hash=content_hash(candidate.observation),
            said=candidate.observation,
        )
    )
    group = (candidate.service, candidate.category)
    analyzed = []
    for by, of, analysis, *values in rows:
        if (values[_SERVICE], values[_CATEGORY]) != group or type(values[_OBSERVATION]) is not str:
            continue
        fresh = by == lexicon.version and of == content_hash(values[_OBSERVATION])
        analyzed.append(AnalyzedRow(values, _decode(analysis) if fresh else None))
    return analyzed


async def find_related(
    db: Database, candidate: Candidate, terms: Iterable[str], lexicon: Lexicon, *, limit: int
) -> list[tuple[Memory, Analysis | None]]:
    """Return active memories of a candidate's group that may be related, with their analyses.

    Those that share most of the `terms` terms come first, then those without a current analysis;
    without terms, only those with the same text. Nothing is written or cached: the query may run at
    any time, beside a writer.
    """
    likely_terms = sorted(terms, key=lambda term: (-len(term), term))[:LIKELY_TERMS]
    spaced = " " + sa.func.coalesce(analyses.c.terms, "") + " "
    has = [spaced.contains(f" {term} ", autoescape=True) for term in likely_terms]
    shared = [sa.case((each, 1), else_=0) for each in has]
    same = sa.or_(
        memories.c.content_hash == content_hash(candidate.observation),
        sa.and_(memories.c.content_hash == "", memories.c.observation == candidate.observation),
    )
    score = sa.case((same, LIKELY_TERMS + 1), else_=sum(shared, sa.literal(0)))
    rows = (
        sa.select(
            memories,
            analyses.c.lexicon.label("by"),
            analyses.c.observation.label("of"),
            analyses.c.analysis,
            score.label("score"),
            (_stale(lexicon.version) if likely_terms else sa.false()).label("stale"),
        )
        .select_from(memories.outerjoin(analyses, analyses.c.memory_id == memories.c.id))
        .where(memories.c.active == 1)
        .where(memories.c.category == candidate.category)
        .where(memories.c.service.is_not_distinct_from(candidate.service))
        .subquery("scored")
    )
    query = (
        sa.select(*(column for column in rows.c if column.name not in ("score", "stale")))
        .where(sa.or_(rows.c.score > 0, rows.c.stale))
        .order_by(rows.c.score.desc(), rows.c.confidence.desc(), rows.c.id)
        .limit(limit)
    )
    found = await db.fetch_all(query)
    return [_with_analysis(row, lexicon) for row in readable(found)]


def _with_analysis(row: Any, lexicon: Lexicon) -> tuple[Memory, Analysis | None]:
    by, of, analysis = (row[name] for name in ("by", "of", "analysis"))
    memory = from_fields(row)
    fresh = by == lexicon.version and of == content_hash(memory.observation)
    return memory, _decode(analysis) if fresh else None


async def nearest(
    db: Database, group: GroupKey, terms: Iterable[str], lexicon: Lexicon, *, limit: int
) -> list[MemoryId]:
    """Return the active memories of a group that share most of these terms.

    The index of a group is cached and follows the feed: changes by other processes are read first.
    Call it within `writing`.
    """
    known = await _current_index(db, group, lexicon)
    return [MemoryId(number) for number in known.index.search(terms, limit)]


def drop_from_index(db: Database, group: GroupKey, numbers: Iterable[int]) -> None:
    """Remove memories from a group's index that are inactive, in another group or deleted."""
    known = db.groups.get(group)
    if known is not None:
        _drop(known, numbers)


async def remove(db: Database, ids: Sequence[int]) -> None:
    """Remove the analyses of deleted memories, because they contain the texts."""
    await db.execute(sa.delete(analyses).where(analyses.c.memory_id.in_(ids)))


async def list_unanalyzed(db: Database, lexicon: Lexicon, *, newest: int, limit: int) -> list[Any]:
    """Return active operational memories that this lexicon has not analyzed yet, ordered by ID."""
    return await db.fetch_all(_UNANALYZED(lexicon=lexicon.version, newest=newest, most=limit))


async def store(db: Database, rows: Sequence[Any], found: Mapping[int, Analysis]) -> None:
    """Store the analyses of rows that `list_unanalyzed` returned."""
    await remove(db, list(found))
    given = [_row(row["id"], row["observation"], found[row["id"]]) for row in rows]
    await db.execute_many(sa.insert(analyses), given)
    for row in rows:
        if row["content_hash"] != (true := content_hash(row["observation"])):
            statement = sa.update(memories).where(memories.c.id == row["id"])
            await db.execute(statement.values(content_hash=true))  # row was written directly


def _row(number: int, observation: str, analysis: Analysis) -> dict[str, Any]:
    return {
        "memory_id": number,
        "lexicon": analysis.lexicon,
        "observation": content_hash(observation),
        "terms": " ".join(sorted(lookup_terms(analysis))),
        "analysis": _encode(analysis).decode(),
    }


async def _current_index(db: Database, group: GroupKey, lexicon: Lexicon) -> GroupIndex:
    feed = await _follow(db)
    cached: GroupIndex | None = db.groups.get(group)
    if cached is None or cached.lexicon != lexicon.version or cached.seq < feed.dropped:
        cached = db.groups[group] = GroupIndex(lexicon.version)
        await _add_rows(db, group, cached, lexicon)
    else:
        changed = {number for seq, number in feed.changed if seq > cached.seq}
        again = changed.union(sorted(cached.unread)[:STALE_BATCH_SIZE])
        if again or feed.external > cached.newest:
            await _add_rows(db, group, cached, lexicon, also=again)
    cached.newest, cached.seq = max(cached.newest, feed.newest), feed.seq
    return cached


async def _follow(db: Database) -> GroupChanges:
    """Read the changes since the last call, by this process and by others."""
    feed: GroupChanges | None = db.groups.get(CHANGES)
    if feed is None:
        feed = db.groups[CHANGES] = GroupChanges(await last_seq(db))
    newest, *heard = await db.fetch_all(_CHANGED(seq=feed.seq, most=MAX_FOLLOWED + 1))
    heard.sort(key=lambda each: each["seq"])
    missed = bool(heard) and heard[0]["seq"] != feed.seq + 1  # some were already pruned
    memory_changes = [each for each in heard if each["entity"] == MEMORY]
    if (
        missed
        or len(heard) > MAX_FOLLOWED
        or any(each["op"] == ChangeOp.BATCH for each in memory_changes)
    ):
        db.groups.clear()
        return await _follow(db)
    for each in memory_changes:
        if each["op"] != ChangeOp.CREATED:
            feed.note(each["seq"], each["entity_id"])
    if newest["entity_id"] > feed.newest:
        feed.newest = feed.external = newest["entity_id"]
    feed.seq = heard[-1]["seq"] if heard else feed.seq
    return feed


async def _add_rows(
    db: Database,
    group: GroupKey,
    index: GroupIndex,
    lexicon: Lexicon,
    *,
    also: Set[int] = frozenset(),
) -> None:
    service, category = group
    rows = await db.fetch_all(_GROUP(category=category, service=service, newest=index.newest))
    if also:
        again = _AGAIN(category=category, service=service, ids=json.dumps(sorted(also)))
        newer = {row["id"] for row in rows}  # may have been changed since, too
        rows = [*(row for row in await db.fetch_all(again) if row["id"] not in newer), *rows]
    rows = readable(rows)
    _drop(index, also - {row["id"] for row in rows})
    stale = [row for row in rows if not _is_fresh(row, lexicon)]
    fresh = {
        row["id"]: analyze(row["observation"], lexicon, service=row["service"])
        for row in stale[:STALE_BATCH_SIZE]
    }
    if fresh:
        await store(db, stale[:STALE_BATCH_SIZE], fresh)
    index.unread.difference_update(also)  # another task may have read them meanwhile
    index.unread.update(row["id"] for row in stale)
    index.unread.difference_update(fresh)
    for row in rows:
        if row["id"] in fresh:
            index.add(row["id"], lookup_terms(fresh[row["id"]]))
        elif row["terms"] is not None:
            index.add(row["id"], row["terms"].split(" "))


def _drop(index: GroupIndex, numbers: Iterable[int]) -> None:
    """Remove memories that are inactive, in another group or deleted."""
    for number in numbers:
        index.index.drop(number)
        index.unread.discard(number)


def _is_fresh(row: Any, lexicon: Lexicon) -> bool:
    of = row["content_hash"] or content_hash(row["observation"])
    return bool(row["lexicon"] == lexicon.version and row["of"] == of)
