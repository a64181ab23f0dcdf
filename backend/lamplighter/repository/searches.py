"""Queries on what was looked for among the memories while sessions ran."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from lamplighter.repository.database import Database
from lamplighter.repository.tables_work import searches


async def insert(
    db: Database,
    session_id: int | None,
    tool: str,
    query: str,
    hits: Sequence[Mapping[str, Any]],
    now: datetime,
) -> None:
    """Keep that a session looked for something, and what was found, best first."""
    values = {"session_id": session_id, "tool": tool, "query": query, "hits": list(hits), "at": now}
    await db.execute(sa.insert(searches).values(**values))
