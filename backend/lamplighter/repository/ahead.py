"""The lines that are chosen for a prompt before a memory: how many, and how long."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.context import Lines
from lamplighter.domain.memory import Memory, Trust
from lamplighter.repository.columns import stamp
from lamplighter.repository.database import Database
from lamplighter.repository.memories import Tellable, eligible
from lamplighter.repository.ordered import surest_first
from lamplighter.repository.paging import after
from lamplighter.repository.past import parts

_BRACKET: Final = "["
_MARKER: Final = len("[EVENT:")


async def lines(
    db: Database, memory: Memory, own: Tellable, before: Sequence[Tellable] = ()
) -> list[Lines]:
    """Return by service the lines before a memory in its `own` circle and in those `before`."""
    found: dict[str | None, Lines] = {}
    for rows in parts(own.at):
        ahead = [sa.and_(*eligible(own, rows.c), _precede(memory, rows.c))]
        ahead += [sa.and_(*eligible(each, rows.c)) for each in before]
        query = (
            sa.select(rows.c.service, *_sums(rows.c))
            .where(sa.or_(*ahead))
            .group_by(rows.c.service)
            .order_by(rows.c.service)
        )
        for row in await db.fetch_all(query):
            held = found.get(row["service"], Lines(row["service"], 0, 0, 0))
            found[row["service"]] = Lines(
                row["service"],
                held.count + int(row["count"]),
                held.chars + int(row["chars"]),
                held.doubtful + int(row["doubtful"]),
            )
    return list(found.values())


def _precede(memory: Memory, columns: Any) -> sa.ColumnElement[bool]:
    """Ask for those that stand before a memory in the order of choice."""
    turned = [replace(key, descending=not key.descending) for key in surest_first(columns)]
    ahead = after(turned, [memory.confidence, stamp(memory.updated_at), memory.id])
    # said beside it, for SQLite searches no index by alternatives
    return sa.and_(columns.confidence >= memory.confidence, ahead)


def _sums(columns: Any) -> list[sa.ColumnElement[Any]]:
    """Sum up what lines have at most: a marker in a text, of seven characters, grows by one."""
    length = sa.func.length(columns.observation)
    grown = sa.case((columns.observation.contains(_BRACKET), length // _MARKER), else_=0)
    doubtful = sa.case((columns.trust == Trust.UNVERIFIED.value, 1), else_=0)
    return [
        sa.func.count().label("count"),
        sa.func.sum(length + grown + sa.func.length(columns.category)).label("chars"),
        sa.func.sum(doubtful).label("doubtful"),
    ]
