"""Queries on entities and their names."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from lamplighter.domain.errors import Conflict
from lamplighter.domain.graph.entity import (
    EVERYWHERE,
    Entity,
    EntityKind,
    EvidenceSource,
    NamedEntity,
)
from lamplighter.domain.graph.names import fold_name
from lamplighter.domain.memory.memory import Reach
from lamplighter.repository.graph import rows
from lamplighter.repository.graph.rows import entity_of
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import InIdList
from lamplighter.repository.store.statements import Page, Statement, equal_to
from lamplighter.repository.store.tables import aliases, entities, relationships

MAX_MERGES = 100
_IDS: Final = sa.bindparam("ids", type_=sa.Text)
BY_IDS: Final = Statement(
    sa.select(entities).where(InIdList(entities.c.id, _IDS)).order_by(entities.c.id)
)
_MERGED: Final = Statement(
    sa.select(entities.c.id, entities.c.merged_into).where(
        InIdList(entities.c.id, _IDS), entities.c.merged_into.is_not(None)
    )
)
_HOLDER: Final = Statement(
    sa.select(aliases.c.entity_id).where(
        aliases.c.project == sa.bindparam("place"), aliases.c.folded == sa.bindparam("name")
    )
)


class Place(NamedTuple):
    """The place of an entity or a relationship: one project, or all projects."""

    project: str
    scope: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityFilter:
    """Filter for entities; None matches all. `reach` is the wall between projects."""

    q: str | None = None
    kind: EntityKind | None = None
    project: str | None = None
    reach: Reach | None = None
    current: bool | None = True


def within(reach: Reach | None, columns: Any) -> list[Any]:
    """Return the conditions for the rows that a caller may read; none without a reach."""
    return [] if reach is None else [reach.condition(columns)]


def is_current(columns: Any) -> list[Any]:
    """Return the conditions for entities and relationships that are currently in the graph."""
    ended = [columns.valid_to.is_(None), columns.deleted_at.is_(None)]
    return [*ended, columns.merged_into.is_(None)] if "merged_into" in columns else ended


async def get(db: Database, number: int, reach: Reach | None = None) -> Entity | None:
    """Return one entity within reach."""
    return await rows.entity_rows.one(db, entities.c.id == number, *within(reach, entities.c))


async def by_ids(db: Database, ids: Collection[int]) -> dict[int, Entity]:
    """Return entities by ID."""
    rows_found = await db.fetch_all(BY_IDS(ids=str(list(ids)))) if ids else []
    return {row["id"]: entity_of(row) for row in rows_found}


async def page(
    db: Database, selection: EntityFilter, *, limit: int, position: Sequence[Any] | None = None
) -> Page[Entity]:
    """Return one page of entities, the newest first."""
    return await rows.entity_rows.page(db, *_conditions(selection), limit=limit, position=position)


async def count(db: Database, selection: EntityFilter) -> int:
    """Return the number of entities."""
    return await db.count_rows(entities, *_conditions(selection))


def _conditions(selection: EntityFilter) -> list[Any]:
    clauses = within(selection.reach, entities.c)
    clauses += equal_to(entities.c, kind=selection.kind, project=selection.project)
    if selection.current is not None:
        now = sa.and_(*is_current(entities.c))
        clauses.append(now if selection.current else ~now)
    if selection.q:
        folded = aliases.c.folded.contains(fold_name(selection.q), autoescape=True)
        clauses.append(entities.c.id.in_(_named_so(folded)))
    return clauses


def _named_so(condition: sa.ColumnElement[bool]) -> sa.Select[Any]:
    """Select the entities with some names, and the entities that they are merged into."""
    owners = sa.select(aliases.c.entity_id.label("id")).where(condition)
    named, merged = owners.cte("named", recursive=True), entities.alias("merged")
    into = sa.select(merged.c.merged_into).join(named, merged.c.id == named.c.id)
    named = named.union(into.where(merged.c.merged_into.is_not(None)))
    return sa.select(named.c.id)


async def named(
    db: Database, names: Collection[str], project: str | None, reach: Reach | None = None
) -> dict[str, list[Entity]]:
    """Return entities by folded name, those of a project before global entities.

    If `project` is None, each project within reach counts. A merged entity is replaced by its merge
    target.
    """
    folded = {fold_name(name) for name in names} - {""}
    if not folded:
        return {}
    query = sa.select(aliases.c.folded, aliases.c.entity_id).where(aliases.c.folded.in_(folded))
    if project is not None:
        query = query.where(aliases.c.project.in_([project, EVERYWHERE]))
    found = await db.fetch_all(query.order_by(aliases.c.project.desc(), aliases.c.id))
    roots = await roots_of(db, [row["entity_id"] for row in found])
    held = await by_ids(db, set(roots.values()))
    result: dict[str, list[Entity]] = {}
    for row in found:
        entity = held[roots[row["entity_id"]]]
        visible = reach is None or entity.scope == "global" or entity.project == reach.project
        if visible and entity not in result.setdefault(row["folded"], []):
            result[row["folded"]].append(entity)
    return {name: some for name, some in result.items() if some}


async def names_of(db: Database, ids: Collection[int]) -> dict[int, list[str]]:
    """Return the sorted names of entities, including the names of merged entities."""
    members = await members_of(db, ids)
    owner = {each: root for root, some in members.items() for each in some}
    query = sa.select(aliases.c.entity_id, aliases.c.name).where(aliases.c.entity_id.in_(owner))
    found: dict[int, list[str]] = {number: [] for number in ids}
    for row in await db.fetch_all(query.order_by(aliases.c.name, aliases.c.id)):
        found[owner[row["entity_id"]]].append(row["name"])
    return found


async def insert(
    db: Database,
    new: NamedEntity,
    place: Place,
    source: EvidenceSource,
    *,
    now: datetime,
    act: int | None = None,
) -> Entity:
    """Insert an entity with its name; raises Conflict if another entity has the name."""
    values = {
        "project": place.project,
        "scope": place.scope,
        "kind": new.kind,
        "name": new.name,
        "source": source,
        "properties": dict(new.properties),
    }
    row = await rows.insert(db, entities, values, now=now, act=act)
    entity = entity_of(row)
    await add_name(db, entity, new.name, source, now=now, act=act)
    return entity


async def add_name(
    db: Database,
    entity: Entity,
    name: str,
    source: EvidenceSource,
    *,
    now: datetime,
    act: int | None = None,
) -> None:
    """Add a name to an entity; raises Conflict if another entity has the name."""
    holder = await db.fetch_val(_HOLDER(place=entity.project, name=fold_name(name)))
    if holder == entity.id:
        return
    if holder is not None:
        raise Conflict(f"The name {name!r} belongs to entity {holder}.")
    values = {
        "entity_id": entity.id,
        "project": entity.project,
        "name": name,
        "folded": fold_name(name),
        "source": source,
        "created_at": now,
    }
    await rows.insert(db, aliases, values, now=now, act=act)


async def roots_of(db: Database, ids: Collection[int]) -> dict[int, int]:
    """Return the final merge target of each entity: the entity itself if it is not merged."""
    roots = dict.fromkeys(ids, 0) | {each: each for each in ids}
    for _ in range(MAX_MERGES):
        pointed = await db.fetch_all(_MERGED(ids=str(list(set(roots.values())))))
        further = {row["id"]: row["merged_into"] for row in pointed}
        if not further:
            break
        roots = {each: further.get(root, root) for each, root in roots.items()}
    return roots


async def members_of(db: Database, ids: Collection[int]) -> dict[int, set[int]]:
    """Return each entity with all entities that were merged into it."""
    members = {each: {each} for each in ids}
    owner = {each: each for each in ids}
    frontier = list(ids)
    while frontier:
        query = sa.select(entities.c.id, entities.c.merged_into)
        rows_found = await db.fetch_all(query.where(entities.c.merged_into.in_(frontier)))
        frontier = []
        for row in rows_found:
            if row["id"] not in owner:
                owner[row["id"]] = owner[row["merged_into"]]
                members[owner[row["id"]]].add(row["id"])
                frontier.append(row["id"])
    return members


async def set_merged(
    db: Database, row: Any, into: int | None, *, now: datetime, act: int | None
) -> Any:
    """Merge an entity into another one, or undo its merge; its relationships follow."""
    changed = await rows.update(db, entities, row, {"merged_into": into}, now=now, act=act)
    await follow_merges(db, row["id"])
    return changed


async def follow_merges(db: Database, number: int) -> None:
    """Point the relationships of an entity and its merged entities to the merge target."""
    root = (await roots_of(db, [number]))[number]
    members = (await members_of(db, [number]))[number]
    for named_end, end in (("named_source_id", "source_id"), ("named_target_id", "target_id")):
        moved = sa.update(relationships).where(relationships.c[named_end].in_(members))
        await db.execute(moved.values({end: root}))
