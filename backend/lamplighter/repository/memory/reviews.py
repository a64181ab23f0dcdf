"""Reviews: cases that need a person's decision, and their resolutions."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.change import ChangeOp
from lamplighter.domain.memory.memory import GENERAL, InactiveReason, Memory, MemoryId
from lamplighter.domain.memory.review import (
    DELETION,
    OF_ONE_MEMORY,
    Resolution,
    Review,
    ReviewKind,
    ReviewState,
)
from lamplighter.domain.text import comparison_key
from lamplighter.formats import serialize
from lamplighter.repository.memory import memories
from lamplighter.repository.store import changes
from lamplighter.repository.store.database import Database, home_of
from lamplighter.repository.store.dialect import InIdList
from lamplighter.repository.store.statements import (
    Fetch,
    Key,
    Page,
    PublishedRows,
    Statement,
    equal_to,
    in_order,
    newest_value,
    values_of,
)
from lamplighter.repository.store.tables import memories as memories_table
from lamplighter.repository.store.tables import notebook_reviews, reader, reviews

ENTITY: Final = "review"
_REOPENED: Final[dict[str, Any]] = {
    "state": ReviewState.OPEN,
    "resolution": None,
    "resolved_by": None,
    "resolved_at": None,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewFilter:
    """Filter for reviews; None matches all. `service` "general" means NULL.

    `finds` is a project that finds only the reviews of its own and of global memories.
    """

    state: ReviewState | None = None
    service: str | None = None
    kind: ReviewKind | None = None
    session: int | None = None
    finds: str | None = None


async def insert(
    db: Database,
    kind: ReviewKind,
    old: Memory,
    new_id: MemoryId,
    *,
    text: str,
    reason: str,
    session_id: int | None,
    now: datetime,
) -> Review:
    """Open a review of two memories; an open review of the same pair is returned instead.

    The review of a failed verification is about one memory and a claim.
    """
    held = await _open_case(db, kind, (old.id, new_id), text)
    if held is not None:
        return held
    values = {
        "kind": kind,
        "state": ReviewState.OPEN,
        "old_id": old.id,
        "new_id": new_id,
        "service": old.service,
        "category": old.category,
        "reason": reason,
        "said": text,
        "session_id": session_id,
        "created_at": now,
    }
    return await _rows.insert(db, values, now=now)


async def propose(db: Database, memory: Memory, text: str, reason: str, *, now: datetime) -> None:
    """Open a review of a relationship that a model found in a memory."""
    kind, number = ReviewKind.RELATIONSHIP, memory.id
    await insert(db, kind, memory, number, text=text, reason=reason, session_id=None, now=now)


async def get(db: Database, number: int) -> Review | None:
    """Return one review."""
    return await _rows.get(db, number)


async def open_for(db: Database, one: MemoryId, other: MemoryId) -> Review | None:
    """Return the open review of a pair of memories, in either order."""
    return await _rows.first(
        db,
        reviews.c.state == ReviewState.OPEN,
        reviews.c.kind.not_in(OF_ONE_MEMORY),
        reviews.c.old_id.in_([one, other]),
        reviews.c.new_id.in_([one, other]),
    )


async def open_twin(db: Database, review: Review) -> Review | None:
    """Return the open review of the same case as `review`."""
    pair = review.old_id, review.new_id
    return await _open_case(db, review.kind, pair, review.observation)


async def _open_case(
    db: Database, kind: ReviewKind, pair: tuple[MemoryId, MemoryId], claim: str
) -> Review | None:
    if kind not in OF_ONE_MEMORY:
        return await open_for(db, *pair)
    return await _rows.one(
        db,
        reviews.c.state == ReviewState.OPEN,
        reviews.c.kind == kind,
        reviews.c.old_id == pair[0],
        reviews.c.said == claim,
    )


async def judged_claims(db: Database, memory_id: MemoryId) -> list[Review]:
    """Return the resolved reviews of failed verifications of a memory, newest first."""
    return await _rows.newest(
        db,
        reviews.c.state == ReviewState.RESOLVED,
        reviews.c.kind == ReviewKind.VERIFICATION,
        reviews.c.old_id == memory_id,
    )


async def open_claims(db: Database, memory_id: MemoryId) -> list[int]:
    """Return the IDs of the open reviews of failed verifications of a memory."""
    return await values_of(
        db,
        reviews.c.id,
        reviews.c.state == ReviewState.OPEN,
        reviews.c.kind == ReviewKind.VERIFICATION,
        reviews.c.old_id == memory_id,
    )


async def of_files(db: Database, ids: Collection[int]) -> list[Review]:
    """Return the reviews of memories that were changed in a file too, oldest first."""
    return await _rows.oldest(db, reviews.c.kind == ReviewKind.FILE, reviews.c.old_id.in_(ids))


async def of_facts(db: Database, ids: Sequence[int]) -> list[Review]:
    """Return the reviews of facts that contradict a memory, by the IDs of the facts."""
    return await _rows.oldest(db, reviews.c.kind == ReviewKind.FACT, reviews.c.new_id.in_(ids))


async def relationships_in(db: Database, project: str) -> list[Review]:
    """Return the reviews of relationships that memories of a project state, oldest first."""
    return await _rows.oldest(
        db,
        reviews.c.kind == ReviewKind.RELATIONSHIP,
        reviews.c.old_id.in_(
            sa.select(memories_table.c.id).where(memories_table.c.project == project)
        ),
    )


async def confirmed_in(db: Database, ids: Sequence[int]) -> list[Review]:
    """Return the reviews of relationships that a person confirmed, by the stating memories."""
    return await _rows.fetch(db, _CONFIRMED(ids=json.dumps(list(ids))))


_CONFIRMED: Final = Statement(
    sa.select(reviews)
    .where(reviews.c.kind == ReviewKind.RELATIONSHIP, reviews.c.resolution == Resolution.KEEP_NEW)
    .where(InIdList(reviews.c.old_id, sa.bindparam("ids", type_=sa.Text)))
    .order_by(reviews.c.id)
)


async def of_claim_after(db: Database, review: Review) -> list[Review]:
    """Return later reviews of a review's claim, oldest first, without those closed as gone."""
    return await _rows.oldest(
        db,
        reviews.c.kind == review.kind,
        reviews.c.old_id == review.old_id,
        reviews.c.said == review.observation,
        reviews.c.id > review.id,
        reviews.c.resolution.is_distinct_from(Resolution.GONE),
    )


async def with_reason(db: Database, reason: str) -> list[Review]:
    """Return the reviews of relationships whose reason ends with `reason`, oldest first."""
    return await _rows.oldest(
        db, reviews.c.kind == ReviewKind.RELATIONSHIP, reviews.c.reason.endswith(reason)
    )


async def between(db: Database, one: MemoryId, others: Sequence[MemoryId]) -> list[Review]:
    """Return the reviews of a memory and any of some others, oldest first."""
    pairs = [
        (mine == one) & its.in_(others)
        for mine, its in (
            (reviews.c.old_id, reviews.c.new_id),
            (reviews.c.new_id, reviews.c.old_id),
        )
    ]
    return await _rows.oldest(db, sa.or_(*pairs))


async def compatible_among(db: Database, ids: Sequence[MemoryId]) -> set[frozenset[MemoryId]]:
    """Return the pairs of these memories that a person judged compatible.

    A judgment no longer counts if the text of either memory has changed since.
    """
    query = (
        sa.select(reviews.c.old_id, reviews.c.new_id, reviews.c.resolved_at)
        .where(reviews.c.resolution.in_([Resolution.BOTH, Resolution.DISMISS]))
        .where(reviews.c.old_id.in_(ids))
        .where(reviews.c.new_id.in_(ids))
    )
    pairs: set[frozenset[MemoryId]] = set()
    for row in await db.fetch_all(query):
        pair = [MemoryId(row["old_id"]), MemoryId(row["new_id"])]
        if await _normalized_texts(db, pair) == await _normalized_texts(
            db, pair, at=row["resolved_at"]
        ):
            pairs.add(frozenset(pair))
    return pairs


async def rejected_among(db: Database, ids: Sequence[MemoryId]) -> set[MemoryId]:
    """Return those of these memories that a person superseded by a memory that is active."""
    aside, preferred = memories_table.alias("aside"), memories_table.alias("kept")
    decided = [
        (reviews.c.resolution == resolution) & (aside.c.id == other) & (preferred.c.id == one)
        for resolution, one, other in (
            (Resolution.KEEP_OLD, reviews.c.old_id, reviews.c.new_id),
            (Resolution.KEEP_NEW, reviews.c.new_id, reviews.c.old_id),
        )
    ]
    query = (
        sa.select(aside.c.id)
        .distinct()
        .select_from(reviews, aside, preferred)
        .where(sa.or_(*decided))
        .where(reviews.c.old_id.in_(ids) | reviews.c.new_id.in_(ids))
        .where(aside.c.id.in_(ids), aside.c.inactive_reason == InactiveReason.SUPERSEDED)
        .where(preferred.c.active == 1)
    )
    return {MemoryId(row["id"]) for row in await db.fetch_all(query)}


async def page(
    db: Database, selection: ReviewFilter, *, limit: int, position: Sequence[Any] | None = None
) -> Page[Review]:
    """Return one page of reviews: open reviews oldest first, other lists newest first."""
    key = Key(reviews.c.id, descending=selection.state is not ReviewState.OPEN)
    query = sa.select(reviews).where(*_conditions(selection))
    return await in_order(db, query, key, _rows.read, limit=limit, position=position)


async def count(db: Database, selection: ReviewFilter) -> int:
    """Return the number of reviews."""
    return await db.count_rows(reviews, *_conditions(selection))


async def newest(db: Database, selection: ReviewFilter) -> datetime | None:
    """Return when the newest matching review was opened."""
    return await newest_value(db, reviews.c.created_at, *_conditions(selection))


_WAITING_PAGES: Final = Statement(
    sa.select(notebook_reviews.c.pages, notebook_reviews.c.created_at)
    .where(notebook_reviews.c.home == sa.bindparam("home", type_=sa.Text()))
    .where(notebook_reviews.c.resolution.is_(None))
    .order_by(notebook_reviews.c.id)
)


async def waiting_pages(db: Database) -> tuple[int, datetime | None]:
    """Return the number of notebook pages that need review, and since when."""
    return await db.fetch(waiting_pages_fetch(home_of(db)))


def waiting_pages_fetch(home: str) -> Fetch[tuple[int, datetime | None]]:
    """Build the fetch of the number of pages of a home that need review, and since when."""

    def read(found: Sequence[Sequence[Any]]) -> tuple[int, datetime | None]:
        row = next(iter(found[0]), None)
        pages = len(row["pages"]["open"]) if row is not None else 0
        return (pages, row["created_at"]) if row is not None and pages else (0, None)

    return Fetch([_WAITING_PAGES(home=home)], read)


async def resolve(
    db: Database, review: Review, resolution: Resolution, *, by: str, now: datetime
) -> Review:
    """Record the resolution of a review."""
    values = {
        "state": ReviewState.RESOLVED,
        "resolution": resolution,
        "resolved_by": by,
        "resolved_at": now,
    }
    return await _rows.change(db, review.id, values, now=now)


async def reopen(db: Database, review: Review, *, now: datetime) -> Review:
    """Reopen a review."""
    return await _rows.change(db, review.id, _REOPENED, now=now)


async def close_deleted(
    db: Database, ids: Sequence[MemoryId] | Sequence[int], *, now: datetime
) -> None:
    """Close the open reviews of deleted memories; call it when the rows are deleted."""
    gone = {
        "state": ReviewState.RESOLVED,
        "resolution": Resolution.GONE,
        "resolved_by": DELETION,
        "resolved_at": now,
    }
    for each in await _rows.oldest(db, _involving(ids)):
        await changes.blank_rows(db, ENTITY, [each.id])  # the feed entry contains memory text
        if each.state is ReviewState.OPEN:
            await _rows.change(db, each.id, gone, now=now)
        else:
            await _publish(db, each, ChangeOp.UPDATED, now=now)


async def ended_at(db: Database, memory_id: int, at: datetime) -> list[Review]:
    """Return the reviews of a memory that a deletion closed at a moment."""
    ended = (reviews.c.resolution == Resolution.GONE) & (reviews.c.resolved_at == at)
    return await _rows.oldest(db, _involving([memory_id]), ended)


async def set_end(db: Database, review_id: int, at: datetime, *, now: datetime) -> None:
    """Change the closing time of a review."""
    await _rows.change(db, review_id, {"resolved_at": at}, now=now)


async def count_rewording(
    db: Database, before: Memory | None, after: Memory, *, by: int | None, now: datetime
) -> None:
    """Change the version of each open review of a memory whose text changed, except `by`.

    A decision on the earlier text is then refused as stale.
    """
    if before is None or before.observation == after.observation:
        return
    for each in await _rows.oldest(
        db, reviews.c.state == ReviewState.OPEN, reviews.c.id != (by or 0), _involving([after.id])
    ):
        await _rows.change(db, each.id, {"state": each.state}, now=now)


async def reopen_restored(db: Database, ids: Sequence[int], *, now: datetime) -> None:
    """Reopen the reviews that a deletion closed, if both memories exist again."""
    for each in await _rows.oldest(db, _involving(ids)):
        both = await memories.existing_ids(db, [each.old_id, each.new_id])
        gone = each.resolution is Resolution.GONE and each.resolved_by == DELETION
        ended = gone and len(both) == len({each.old_id, each.new_id})
        waits = ended and await open_twin(db, each) is None
        if waits:
            await reopen(db, each, now=now)
        else:
            await _publish(db, each, ChangeOp.UPDATED, now=now)


async def blank_texts(db: Database, ids: Sequence[int], *, now: datetime) -> None:
    """Blank the texts of permanently deleted memories in reviews.

    The case and its resolution stay.
    """
    values = {
        "reason": "",
        "said": sa.case((reviews.c.new_id.in_(ids), ""), else_=reviews.c.said),
    }
    for each in await _rows.oldest(db, _involving(ids)):
        await changes.blank_rows(db, ENTITY, [each.id])
        await _rows.change(db, each.id, values, now=now)


def _involving(ids: Sequence[int]) -> sa.ColumnElement[bool]:
    return reviews.c.old_id.in_(ids) | reviews.c.new_id.in_(ids)


async def as_json(db: Database, found: Sequence[Review]) -> list[dict[str, Any]]:
    """Return reviews as JSON, each with the current state of both memories."""
    sides = dict.fromkeys(number for each in found for number in (each.old_id, each.new_id))
    beside = await memories.by_ids(db, list(sides))
    return [
        serialize.review(each, beside.get(each.old_id), beside.get(each.new_id)) for each in found
    ]


async def _normalized_texts(
    db: Database, ids: Sequence[MemoryId], *, at: datetime | None = None
) -> list[str | None]:
    held = [await memories.get(db, number, at=at) for number in ids]
    return [None if each is None else comparison_key(each.observation) for each in held]


def _conditions(selection: ReviewFilter) -> list[sa.ColumnElement[bool]]:
    same = {"state": selection.state, "kind": selection.kind, "session_id": selection.session}
    clauses = equal_to(reviews.c, **same)
    if selection.service is not None:
        service = None if selection.service == GENERAL else selection.service
        clauses.append(reviews.c.service.is_not_distinct_from(service))
    if visible := memories.visible_to(selection.finds, memories_table.c):
        ids = sa.select(memories_table.c.id).where(*visible)
        clauses += [reviews.c.old_id.in_(ids), reviews.c.new_id.in_(ids)]
    return clauses


async def _publish(db: Database, each: Review, op: ChangeOp, *, now: datetime) -> Review:
    [row] = await as_json(db, [each])
    await changes.append(db, ENTITY, each.id, op, now=now, version=each.version, row=row)
    return each


_rows: Final = PublishedRows(reviews, reader(Review), _publish)
