"""Queries on relationships, and the traversal of the graph from an entity."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.graph.entity import EvidenceSource, Relationship, RelationshipKind
from lamplighter.domain.memory.memory import Reach
from lamplighter.repository.graph import rows
from lamplighter.repository.graph.entities import Place, is_current, within
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import NUMBER
from lamplighter.repository.store.statements import Page, Statement, count_by, equal_to
from lamplighter.repository.store.tables import entities, relationships

ENTITY: Final = rows.RELATIONSHIP
STEPS_EACH: Final = 2
"""The maximum steps of a traversal for each entity that it may return.

An entity that is reachable by paths of different lengths takes one step per length.
"""

_ROW: Final = relationships.c
_FIND: Final = Statement(
    sa.select(relationships).where(
        _ROW.project == sa.bindparam("place"),
        _ROW.kind == sa.bindparam("of"),
        _ROW.named_source_id == sa.bindparam("source", type_=NUMBER),
        _ROW.named_target_id == sa.bindparam("target", type_=NUMBER),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationshipFilter:
    """Filter for relationships; None matches all. `entity` is either end."""

    kind: RelationshipKind | None = None
    entity: int | None = None
    project: str | None = None
    reach: Reach | None = None
    current: bool | None = True


async def get(db: Database, number: int, reach: Reach | None = None) -> Relationship | None:
    """Return one relationship within reach."""
    return await rows.relationship_rows.one(db, _ROW.id == number, *within(reach, _ROW))


async def page(
    db: Database,
    selection: RelationshipFilter,
    *,
    limit: int,
    position: Sequence[Any] | None = None,
) -> Page[Relationship]:
    """Return one page of relationships, the newest first."""
    return await rows.relationship_rows.page(
        db, *_conditions(selection), limit=limit, position=position
    )


async def count(db: Database, selection: RelationshipFilter) -> int:
    """Return the number of relationships."""
    return await db.count_rows(relationships, *_conditions(selection))


async def count_by_entity(
    db: Database, ids: Collection[int], reach: Reach | None = None
) -> dict[int, int]:
    """Return the number of current relationships by entity, without entities that have none."""
    current = [*is_current(_ROW), *within(reach, _ROW)]
    ends = sa.union_all(
        *(
            sa.select(end.label("entity_id")).where(end.in_(ids), *current)
            for end in (_ROW.source_id, _ROW.target_id)
        )
    )
    return await count_by(db, ends.subquery().c.entity_id)


def _conditions(selection: RelationshipFilter) -> list[Any]:
    clauses = within(selection.reach, _ROW)
    clauses += equal_to(_ROW, kind=selection.kind, project=selection.project)
    if selection.entity is not None:
        clauses.append((_ROW.source_id == selection.entity) | (_ROW.target_id == selection.entity))
    if selection.current is not None:
        now = sa.and_(*is_current(_ROW))
        clauses.append(now if selection.current else ~now)
    return clauses


async def find(
    db: Database, project: str, kind: RelationshipKind, named_source: int, named_target: int
) -> Any:
    """Return the row of a relationship by the entities that its evidence names, or None."""
    return await db.fetch_one(
        _FIND(place=project, of=kind, source=named_source, target=named_target)
    )


async def insert(
    db: Database,
    kind: RelationshipKind,
    named: tuple[int, int],
    ends: tuple[int, int],
    place: Place,
    source: EvidenceSource,
    *,
    now: datetime,
    act: int | None = None,
    **more: Any,
) -> Any:
    """Insert a relationship between entities, as named and as merged, and return its row."""
    values = {
        "project": place.project,
        "scope": place.scope,
        "kind": kind,
        "source": source,
        "named_source_id": named[0],
        "named_target_id": named[1],
        "source_id": ends[0],
        "target_id": ends[1],
        "valid_from": now,
        **more,
    }
    return await rows.insert(db, relationships, values, now=now, act=act)


async def of_entities(
    db: Database, ids: Collection[int], reach: Reach | None = None, *, limit: int
) -> list[Relationship]:
    """Return current relationships that start or end at some entities, highest confidence first."""
    ends = _ROW.source_id.in_(ids) | _ROW.target_id.in_(ids)
    return await _fetch(db, [ends], reach, limit=limit)


async def among(
    db: Database, ids: Collection[int], reach: Reach | None = None, *, limit: int
) -> list[Relationship]:
    """Return the current relationships between some entities, highest confidence first."""
    both = [_ROW.source_id.in_(ids), _ROW.target_id.in_(ids)]
    return await _fetch(db, both, reach, limit=limit)


async def _fetch(
    db: Database, conditions: Sequence[Any], reach: Reach | None, *, limit: int
) -> list[Relationship]:
    query = sa.select(relationships).where(*conditions, *is_current(_ROW), *within(reach, _ROW))
    query = query.order_by(_ROW.confidence.desc(), _ROW.id).limit(limit)
    return await rows.relationship_rows.fetch(db, query)


async def reachable(
    db: Database, center: int, reach: Reach | None = None, *, depth: int, limit: int
) -> dict[int, int]:
    """Return the entities within `depth` steps of an entity, each with its distance.

    The nearest come first. Relationships are followed both ways, one query for all depths. For hubs
    with thousands of neighbors the result is incomplete (STEPS_EACH).
    """
    asked: dict[str, Any] = {"center": center, "depth": depth, "most": limit}
    asked["steps"] = STEPS_EACH * limit
    if reach is not None:
        asked["project"] = reach.project
    query = WALK if reach is None else WALK_WITHIN
    return {row["id"]: row["depth"] for row in await db.fetch_all(query(**asked))}


def _traversal(reach: Reach | None) -> Statement:
    center, depth, steps, most = (
        sa.bindparam(name, type_=NUMBER) for name in ("center", "depth", "steps", "most")
    )
    start = sa.select(center.label("id"), sa.literal_column("0", NUMBER).label("depth"))
    near = start.cte("near", recursive=True)
    edge = relationships.alias("edge")
    other = edge.c.source_id + edge.c.target_id - near.c.id
    step = (
        sa.select(other, near.c.depth + sa.literal_column("1", NUMBER))
        .select_from(near.join(edge, edge.c.id.in_(_some_edges(near, reach, steps))))
        .where(near.c.depth < depth)
    )
    near = near.union(step)
    # both databases stop the recursion at the limit of the outer query
    walked = sa.select(near.c.id, near.c.depth).limit(steps).subquery()
    nearest = sa.func.min(walked.c.depth)
    query = sa.select(walked.c.id, nearest.label("depth")).group_by(walked.c.id)
    return Statement(query.order_by(nearest, walked.c.id).limit(most), long=True)


def _some_edges(near: sa.CTE, reach: Reach | None, most: sa.BindParameter[int]) -> Any:
    """Return the relationships of an entity, at most as many as a traversal can use."""
    queries = []
    for end in ("source_id", "target_id"):
        edge = relationships.alias()
        query = (
            sa.select(edge.c.id)
            .where(edge.c[end] == near.c.id, *is_current(edge.c), *within(reach, edge.c))
            .limit(most)
            .correlate(near)
            .subquery()
        )
        queries.append(sa.select(query.c.id))
    return sa.union_all(*queries)


_ANY: Any = sa.bindparam("project", type_=sa.Text())
WALK: Final = _traversal(None)
WALK_WITHIN: Final = _traversal(Reach(_ANY))


async def delete_with(db: Database, number: int, *, now: datetime, act: int | None) -> int:
    """Delete an entity and its relationships; return the number of rows."""
    ends = (_ROW.source_id == number) | (_ROW.target_id == number)
    query = sa.select(relationships).where(ends, _ROW.deleted_at.is_(None)).order_by(_ROW.id)
    found = await db.fetch_all(query)
    for row in found:
        await rows.update(db, relationships, row, {"deleted_at": now}, now=now, act=act)
    row = await rows.get(db, entities, number)
    await rows.update(db, entities, row, {"deleted_at": now}, now=now, act=act)
    return len(found) + 1
