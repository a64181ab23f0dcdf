"""The rows that the numbers of the index stand for."""

from collections.abc import Iterable
from typing import Final

import sqlalchemy as sa

from lamplighter.domain.event import Event
from lamplighter.domain.memory import Memory
from lamplighter.domain.search import Layer
from lamplighter.domain.session import Session
from lamplighter.repository.database import Database
from lamplighter.repository.events import from_row as event_of
from lamplighter.repository.memories import from_row as memory_from
from lamplighter.repository.prepared import Statement
from lamplighter.repository.readable import is_readable
from lamplighter.repository.sessions import from_row as session_of
from lamplighter.repository.tables import events, memories, sessions
from lamplighter.repository.tables_search import BASES, STEP
from lamplighter.repository.words import OneOf

PARTS: Final = {base // STEP: layer for layer, base in BASES.items()}
_MEMORIES: Final = Statement(
    sa.select(memories).where(OneOf(memories.c.id, sa.bindparam("ids", type_=sa.Text))), long=True
)

Row = Memory | Session | Event


def layer_of(number: int) -> Layer:
    """Return the layer that a number of the index is of."""
    return PARTS.get(number // STEP, Layer.MEMORY)


def memory_of(number: int) -> int:
    """Return the memory that a number of the index is of."""
    return number % STEP


async def rows(db: Database, numbers: Iterable[int]) -> dict[int, Row]:
    """Return the rows of some numbers of the index; of those that are gone or damaged none."""
    of: dict[Layer, dict[int, int]] = {}
    for number in numbers:
        of.setdefault(layer_of(number), {})[number % STEP] = number
    found: dict[int, Row] = {}
    for layer, own in of.items():
        found |= {own[row.id]: row for row in await _of(db, layer, list(own))}
    return found


async def _of(db: Database, layer: Layer, ids: list[int]) -> Iterable[Row]:
    if layer is Layer.MEMORY:
        found = await db.fetch_all(_MEMORIES(ids=str(ids)))
        return [memory_from(row) for row in found if is_readable(dict(row))]
    table = sessions if layer is Layer.SESSION else events
    query = sa.select(table).where(table.c.id.in_(ids)).order_by(table.c.id)
    read = session_of if layer is Layer.SESSION else event_of
    return [read(row) for row in await db.fetch_all(query)]
