"""The notebook page of each memory."""

import json
from collections.abc import Sequence
from typing import Final

import sqlalchemy as sa

from lamplighter.repository.store.database import Database, home_of
from lamplighter.repository.store.dialect import AmongIds
from lamplighter.repository.store.statements import Statement
from lamplighter.repository.store.tables import notebook_lines

_PATHS: Final = Statement(
    sa.select(notebook_lines.c.memory_id, notebook_lines.c.path)
    .where(notebook_lines.c.home == sa.bindparam("home", type_=sa.Text))
    .where(AmongIds(notebook_lines.c.memory_id, sa.bindparam("ids", type_=sa.Text))),
    long=True,
)


async def paths_of(db: Database, ids: Sequence[int]) -> dict[int, str]:
    """Return the page that states each of these memories."""
    rows = await db.fetch_all(_PATHS(home=home_of(db), ids=json.dumps(list(ids))))
    return {row["memory_id"]: row["path"] for row in rows}
