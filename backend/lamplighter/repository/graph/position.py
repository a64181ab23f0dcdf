"""The position of the graph in the change feed."""

from dataclasses import asdict, dataclass, replace
from typing import Final

import sqlalchemy as sa

from lamplighter.repository.store import changes
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.statements import Statement
from lamplighter.repository.store.tables import graph_position, memories


@dataclass(frozen=True, slots=True)
class GraphPosition:
    """The last processed change, and the hash of the services that were read.

    While `memory_id` is set, the memories after it are still to be read for the first time.
    """

    seq: int
    memory_id: int | None = 0
    services: str = ""


_GET: Final = Statement(sa.select(graph_position))
_UPDATE: Final = Statement(
    sa.update(graph_position).returning(graph_position.c.id), ("seq", "memory_id", "services")
)


async def get(db: Database) -> GraphPosition:
    """Return the position; a new start if there is none, or if changes were missed."""
    row = await db.fetch_one(_GET())
    start = GraphPosition(await changes.last_seq(db))
    if row is None:
        return start
    held = GraphPosition(row["seq"], row["memory_id"], row["services"])
    if await changes.has_missed(db, held.seq):
        return replace(start, services=held.services)
    return held


async def save(db: Database, position: GraphPosition) -> None:
    """Store the position; call it within `writing`."""
    values = asdict(position)
    if await db.fetch_one(_UPDATE(**values)) is None:
        await db.execute(sa.insert(graph_position).values(id=1, **values))


async def memory_ids_after(db: Database, number: int, *, limit: int) -> list[int]:
    """Return the IDs of the next memories."""
    query = sa.select(memories.c.id).where(memories.c.id > number)
    return [row["id"] for row in await db.fetch_all(query.order_by(memories.c.id).limit(limit))]
