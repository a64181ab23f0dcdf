"""Rows of the knowledge graph: stored, published in the change feed, and changed by acts.

An act of an operator is stored as one step per row, with the changed columns before and after.
"""

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.change import ChangeOp
from lamplighter.domain.graph.entity import Entity, Relationship
from lamplighter.formats import serialize
from lamplighter.repository.store import changes
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import NUMBER, stamp
from lamplighter.repository.store.statements import Rows, Statement, prepare_insert
from lamplighter.repository.store.tables import (
    aliases,
    entities,
    graph_steps,
    reader,
    relationships,
)

Values = Mapping[str, Any]

ENTITIES: Final = entities
RELATIONSHIPS: Final = relationships
ENTITY: Final = "entity"
RELATIONSHIP: Final = "relationship"
PUBLISHED: Final = {"entities": ENTITY, "relationships": RELATIONSHIP}


entity_of: Final = reader(Entity)
relationship_of: Final = reader(Relationship)
entity_rows: Final = Rows(entities, entity_of)
relationship_rows: Final = Rows(relationships, relationship_of)


async def insert(
    db: Database, table: sa.Table, values: Values, *, now: datetime, act: int | None = None
) -> Any:
    """Insert a row and return it; call it within `writing`."""
    if table is not aliases:
        values = {"properties": {}, "created_at": now, "updated_at": now, "version": 1, **values}
    row: Any = await db.fetch_one(_inserting(table, *values)(**values))
    await _publish(db, table, row, ChangeOp.CREATED, now=now)
    await _record(db, act, table, row["id"], None, row)
    return row


async def update(
    db: Database, table: sa.Table, row: Any, values: Values, *, now: datetime, act: int | None
) -> Any:
    """Change columns of a row and return the row, the same row if nothing changes."""
    changed = {name: value for name, value in values.items() if row[name] != value}
    if not changed:
        return row
    fresh = changed if table is aliases else {**changed, "updated_at": now}
    after: Any = await db.fetch_one(_updating(table, *fresh)(number=row["id"], **fresh))
    await _publish(db, table, after, ChangeOp.UPDATED, now=now)
    before = {name: row[name] for name in changed}
    await _record(db, act, table, row["id"], before, {name: after[name] for name in changed})
    return after


@cache
def _inserting(table: sa.Table, *names: str) -> Statement:
    return prepare_insert(table, *names, returning=table)


@cache
def _updating(table: sa.Table, *names: str) -> Statement:
    statement = sa.update(table).where(table.c.id == sa.bindparam("number", type_=NUMBER))
    if table is not aliases:
        statement = statement.values(version=table.c.version + sa.literal_column("1"))
    return Statement(statement.returning(table), names)


async def remove(db: Database, table: sa.Table, row: Any, *, now: datetime) -> None:
    """Delete a row permanently, and blank its entries in the feed."""
    await db.execute(sa.delete(table).where(table.c.id == row["id"]))
    if (what := PUBLISHED.get(table.name)) is not None:
        version = row["version"] + 1
        await changes.blank_rows(db, what, [row["id"]])
        await changes.append(db, what, row["id"], ChangeOp.DELETED, now=now, version=version)


async def get(db: Database, table: sa.Table, number: int) -> Any:
    """Return one row by its number, or None."""
    return await db.fetch_one(sa.select(table).where(table.c.id == number))


async def _record(
    db: Database, act: int | None, table: sa.Table, number: int, before: Any, after: Any
) -> None:
    if act is None:
        return
    # of a new row, only operator decisions are compared: evidence may change the rest
    fixed = ("id", "version", "created_at", "updated_at", "valid_to", "confidence")
    if before is None:
        after = {each.name: after[each.name] for each in table.columns if each.name not in fixed}
    values = {"act_id": act, "table_name": table.name, "row_id": number}
    images = {"before": _encoded(before), "after": _encoded(after)}
    await db.execute(sa.insert(graph_steps).values(**values, **images))


def _encoded(values: Values | None) -> dict[str, Any] | None:
    if values is None:
        return None
    return {k: stamp(v) if isinstance(v, datetime) else v for k, v in values.items()}


async def _publish(db: Database, table: sa.Table, row: Any, op: ChangeOp, *, now: datetime) -> None:
    if table is aliases:
        return
    as_json = (
        serialize.entity(entity_of(row))
        if table is entities
        else serialize.relationship(relationship_of(row))
    )
    what, version = PUBLISHED[table.name], row["version"]
    await changes.append(db, what, row["id"], op, now=now, version=version, row=as_json)
