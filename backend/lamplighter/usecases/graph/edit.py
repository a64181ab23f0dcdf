"""Edits of the graph by operators: create, change, delete, merge, unmerge; all can be undone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lamplighter.domain.errors import Conflict, Invalid, InvalidField, NotFound, expect_version
from lamplighter.domain.graph.entity import (
    EVERYWHERE,
    Entity,
    EntityKind,
    EvidenceSource,
    NamedEntity,
    Relationship,
    RelationshipKind,
    admit_name,
    admit_properties,
)
from lamplighter.domain.memory.memory import GLOBAL, PROJECT, Reach, clamp
from lamplighter.domain.text import normalize_project
from lamplighter.repository import Database
from lamplighter.repository.graph import entities, relationships, rows
from lamplighter.repository.graph.cache import GraphCache
from lamplighter.repository.graph.entities import Place
from lamplighter.repository.graph.rows import ENTITIES, RELATIONSHIPS, entity_of, relationship_of
from lamplighter.usecases.access.recording import recording
from lamplighter.usecases.context import Context


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityEdit:
    """An operator's edit of an entity; None leaves a field unchanged."""

    name: str | None = None
    kind: EntityKind | None = None
    properties: Mapping[str, str] | None = None
    aliases: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationshipEdit:
    """An operator's edit of a relationship; None leaves a field unchanged.

    `valid` False ends the relationship now, True makes the relationship valid again.
    """

    properties: Mapping[str, str] | None = None
    confidence: float | None = None
    valid: bool | None = None


async def get_entity(db: Database, number: int, reach: Reach | None = None) -> Entity:
    """Return an entity within reach; raises NotFound, also if it is deleted."""
    entity = await entities.get(db, number, reach)
    if entity is None or entity.deleted_at is not None:
        raise NotFound(f"Entity {number} not found.")
    return entity


async def get_relationship(db: Database, number: int, reach: Reach | None = None) -> Relationship:
    """Return a relationship within reach; raises NotFound, also if it is deleted."""
    found = await relationships.get(db, number, reach)
    if found is None or found.deleted_at is not None:
        raise NotFound(f"Relationship {number} not found.")
    return found


async def create_entity(here: Context, project: str, new: EntityKind, edit: EntityEdit) -> Entity:
    """Create an entity with its names; raises Conflict if a name is in use.

    An entity with this name that was deleted, or is no longer mentioned, is restored.
    """
    db, now = here.db, here.now()
    name = admit_name(here.redact(edit.name or ""))
    place = place_of(project)
    async with recording(db, "create", now=now, subject=f"entity {name}") as act:
        held = (await GraphCache(db).owners([name], place.project)).values()
        row = await rows.get(db, ENTITIES, next(iter(held))) if held else None
        if row is not None and row["project"] == place.project:
            entity = await _bring_back(db, row, new, now=now, act=act.id)
        else:
            named = NamedEntity(name, new)
            entity = await entities.insert(
                db, named, place, EvidenceSource.OPERATOR, now=now, act=act.id
            )
        entity = await _change(here, entity, edit, now=now, act=act.id)
        act.did()
        return entity


async def _bring_back(
    db: Database, row: Any, kind: EntityKind, *, now: datetime, act: int
) -> Entity:
    if entity_of(row).current or row["merged_into"] is not None:
        raise Conflict(f"The name {row['name']!r} belongs to entity {row['id']}.")
    values = {
        "kind": kind,
        "source": EvidenceSource.OPERATOR,
        "deleted_at": None,
        "valid_to": None,
    }
    return entity_of(await rows.update(db, ENTITIES, row, values, now=now, act=act))


async def edit_entity(
    here: Context, number: int, edit: EntityEdit, *, version: int | None
) -> Entity:
    """Change an entity; a former name stays an alias. Raises Stale, NotFound, Conflict."""
    db, now = here.db, here.now()
    async with recording(db, "edit", now=now, subject=f"entity {number}") as act:
        entity = expect_version(await get_entity(db, number), version)
        changed = await _change(here, entity, edit, now=now, act=act.id)
        if changed != entity or edit.aliases:
            act.did()
        return changed


async def _change(
    here: Context, entity: Entity, edit: EntityEdit, *, now: datetime, act: int
) -> Entity:
    values: dict[str, Any] = {}
    if edit.name is not None:
        values["name"] = admit_name(here.redact(edit.name))
    if edit.kind is not None:
        values["kind"] = edit.kind
    if edit.properties is not None:
        given = {name: here.redact(value) for name, value in edit.properties.items()}
        values["properties"] = admit_properties(given)
    names = [admit_name(here.redact(name), "aliases") for name in edit.aliases]
    for name in [*filter(None, [values.get("name")]), *names]:
        await entities.add_name(here.db, entity, name, EvidenceSource.OPERATOR, now=now, act=act)
    row = await rows.get(here.db, ENTITIES, entity.id)
    return entity_of(await rows.update(here.db, ENTITIES, row, values, now=now, act=act))


async def delete_entity(here: Context, number: int, *, version: int | None) -> None:
    """Delete an entity and its relationships; memories do not restore it."""
    db, now = here.db, here.now()
    async with recording(db, "delete", now=now, subject=f"entity {number}") as act:
        entity = expect_version(await get_entity(db, number), version)
        changed = await relationships.delete_with(db, entity.id, now=now, act=act.id)
        act.did(rows=changed)


async def merge(here: Context, number: int, into: int, *, version: int | None) -> Entity:
    """Merge an entity into another entity of its project and return that; raises Conflict.

    The names and relationships of the merged entity count as those of the target.
    """
    db, now = here.db, here.now()
    async with recording(db, "merge", now=now, subject=f"entity {number} into {into}") as act:
        entity = expect_version(await get_entity(db, number), version)
        target = await get_entity(db, into)
        if entity.merged_into is not None:
            raise Conflict(f"Entity {number} is already merged into entity {entity.merged_into}.")
        if (await entities.roots_of(db, [into]))[into] == number:
            raise Conflict(f"Entity {into} is, or is merged into, entity {number}.")
        if entity.project != target.project:
            raise Conflict(f"Entity {into} belongs to another project.")
        row = await rows.get(db, ENTITIES, number)
        await entities.set_merged(db, row, into, now=now, act=act.id)
        act.did()
        return target


async def unmerge(here: Context, number: int, *, version: int | None) -> Entity:
    """Separate a merged entity again; raises Conflict if it is not merged."""
    db, now = here.db, here.now()
    async with recording(db, "unmerge", now=now, subject=f"entity {number}") as act:
        entity = expect_version(await get_entity(db, number), version)
        if entity.merged_into is None:
            raise Conflict(f"Entity {number} is not merged.")
        row = await rows.get(db, ENTITIES, number)
        row = await entities.set_merged(db, row, None, now=now, act=act.id)
        act.did()
        return entity_of(row)


async def create_relationship(
    here: Context,
    ends: tuple[int, int],
    kind: RelationshipKind,
    edit: RelationshipEdit,
) -> Relationship:
    """Relate two entities; raises Invalid, NotFound, and Conflict if the relationship exists."""
    db, now = here.db, here.now()
    if ends[0] == ends[1]:
        raise Invalid(InvalidField("target_id", "must be another entity than source_id"))
    async with recording(db, "create", now=now, subject=f"relationship {kind}") as act:
        source, target = [await get_entity(db, each) for each in ends]
        place = _shared_place(source, target)
        row = await relationships.find(db, place.project, kind, *ends)
        if row is None:
            roots = await entities.roots_of(db, ends)
            row = await relationships.insert(
                db,
                kind,
                ends,
                (roots[ends[0]], roots[ends[1]]),
                place,
                EvidenceSource.OPERATOR,
                now=now,
                act=act.id,
                confidence=clamp(1.0 if edit.confidence is None else edit.confidence),
                properties=_properties(here, edit),
            )
        elif row["deleted_at"] is None and row["valid_to"] is None:
            raise Conflict(f"Relationship {row['id']} already says this.")
        else:
            again = {
                "source": EvidenceSource.OPERATOR,
                "deleted_at": None,
                "valid_to": None,
                "properties": _properties(here, edit),
            }
            row = await rows.update(db, RELATIONSHIPS, row, again, now=now, act=act.id)
        act.did()
        return relationship_of(row)


async def edit_relationship(
    here: Context, number: int, edit: RelationshipEdit, *, version: int | None
) -> Relationship:
    """Change a relationship and set its source to the operator; raises Stale, NotFound."""
    db, now = here.db, here.now()
    async with recording(db, "edit", now=now, subject=f"relationship {number}") as act:
        relationship = expect_version(await get_relationship(db, number), version)
        values: dict[str, Any] = {}
        if edit.properties is not None:
            values["properties"] = _properties(here, edit)
        if edit.confidence is not None:
            values["confidence"] = clamp(edit.confidence)
        if edit.valid is not None and edit.valid is (relationship.valid_to is not None):
            values["valid_to"] = None if edit.valid else now
        if not values:
            return relationship
        values["source"] = EvidenceSource.OPERATOR
        row = await rows.get(db, RELATIONSHIPS, number)
        row = await rows.update(db, RELATIONSHIPS, row, values, now=now, act=act.id)
        if row["version"] != relationship.version:
            act.did()
        return relationship_of(row)


async def delete_relationship(here: Context, number: int, *, version: int | None) -> None:
    """Delete a relationship; memories do not restore it. Raises Stale, NotFound."""
    db, now = here.db, here.now()
    async with recording(db, "delete", now=now, subject=f"relationship {number}") as act:
        expect_version(await get_relationship(db, number), version)
        row = await rows.get(db, RELATIONSHIPS, number)
        await rows.update(db, RELATIONSHIPS, row, {"deleted_at": now}, now=now, act=act.id)
        act.did()


def place_of(project: str) -> Place:
    """Return the place of an entity of a project; EVERYWHERE means every project."""
    folded = normalize_project(project)
    return Place(folded, GLOBAL if folded == EVERYWHERE else PROJECT)


def _shared_place(source: Entity, target: Entity) -> Place:
    """Return the place of a relationship: the project of its ends; raises Conflict for two."""
    projects = {source.project, target.project} - {EVERYWHERE}
    if len(projects) > 1:
        raise Conflict("The two entities belong to different projects.")
    return place_of(next(iter(projects), EVERYWHERE))


def _properties(here: Context, edit: RelationshipEdit) -> dict[str, str]:
    given = {name: here.redact(value) for name, value in (edit.properties or {}).items()}
    return admit_properties(given)
