"""Project isolation gives the same result for a row as in a query."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import product

import pytest
import sqlalchemy as sa

from lamplighter.domain.memory.memory import GLOBAL, PROJECT, Candidate, Category, Reach
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import memories
from lamplighter.repository.store.tables import memories as table

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
CHOICE = Candidate(
    category=Category.DECISION, service=None, observation="", tier=0, session_id=None
)


@pytest.mark.parametrize(("project", "found"), [("ops", 4), ("shop", 4), ("nowhere", 3)])
async def test_reach_gives_the_same_result_for_a_row_and_in_a_query(
    db: Database, project: str, found: int
) -> None:
    async with writing(db):
        rows = [
            await memories.insert(
                db, replace(CHOICE, project=name, scope=scope, observation=name + scope), now=NOON
            )
            for name, scope in product(("ops", "shop", "lantern"), (PROJECT, GLOBAL))
        ]
    reach = Reach(project)

    query = sa.select(table.c.id).where(reach.condition(table.c)).order_by(table.c.id)
    asked = [row["id"] for row in await db.fetch_all(query)]

    assert asked == [row.id for row in rows if reach.holds(row)]
    assert len(asked) == found
