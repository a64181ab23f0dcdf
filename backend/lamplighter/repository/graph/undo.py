"""Undo of an operator's changes of the graph: exact, or refused."""

from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.errors import Conflict
from lamplighter.repository.graph import rows
from lamplighter.repository.graph.entities import follow_merges
from lamplighter.repository.graph.rows import PUBLISHED, Values
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import UTCDateTime, moment
from lamplighter.repository.store.tables import (
    aliases,
    entities,
    graph_evidence,
    graph_steps,
    relationships,
)

_TABLES: Final = {each.name: each for each in (entities, aliases, relationships)}


async def undo(db: Database, act_id: int, *, now: datetime) -> int:
    """Undo the changes of an act, and return the number of rows; call it within `writing`.

    Raises Conflict naming the row that changed since.
    """
    query = sa.select(graph_steps).where(graph_steps.c.act_id == act_id)
    steps = await db.fetch_all(query.order_by(graph_steps.c.id.desc()))
    for step in steps:
        table = _TABLES[step["table_name"]]
        row: Any = await db.fetch_one(sa.select(table).where(table.c.id == step["row_id"]))
        after = _decoded(table, step["after"])
        if row is None or any(row[name] != value for name, value in after.items()):
            raise Conflict(f"Nothing was undone. {_label(table, step, row)} was changed since.")
        if step["before"] is None:
            await _require_unused(db, table, row)
            await rows.remove(db, table, row, now=now)
        else:
            await rows.update(db, table, row, _decoded(table, step["before"]), now=now, act=None)
            if "merged_into" in after:
                await follow_merges(db, row["id"])
    return len(steps)


async def _require_unused(db: Database, table: sa.Table, row: Any) -> None:
    """Raise Conflict if a later row refers to a new entity."""
    if table is not entities:
        return
    ends = (relationships.c.named_source_id, relationships.c.named_target_id)
    users = (
        sa.select(relationships.c.id).where(sa.or_(*(end == row["id"] for end in ends))),
        sa.select(graph_evidence.c.id).where(graph_evidence.c.entity_id == row["id"]),
        sa.select(aliases.c.id).where(aliases.c.entity_id == row["id"]),
        sa.select(entities.c.id).where(entities.c.merged_into == row["id"]),
    )
    for query in users:
        if await db.fetch_one(query.limit(1)) is not None:
            raise Conflict(
                f"Nothing was undone. Entity {row['id']} ({row['name']}) is in use: a later "
                f"relationship, name or memory refers to it."
            )


def _label(table: sa.Table, step: Any, row: Any) -> str:
    name = "" if row is None or "name" not in row else f" ({row['name']})"
    return f"{PUBLISHED.get(table.name, 'name').capitalize()} {step['row_id']}{name}"


def _decoded(table: sa.Table, image: Values) -> dict[str, Any]:
    return {
        name: moment(value) if value and isinstance(table.c[name].type, UTCDateTime) else value
        for name, value in image.items()
    }
