"""A permanently deleted memory leaves no text behind."""

import pytest
from acting import marked
from examples import LATER, held, rows, session

from lamplighter.repository import Database
from lamplighter.usecases.memory import bulk, curate, journal
from lamplighter.usecases.memory.bulk import BulkAction

TABLES = ("memories", "history", "changes", "reviews", "markers", "analyses", "trash")


async def words_kept(db: Database) -> str:
    return str([await rows(db, table) for table in TABLES])


@pytest.mark.parametrize("many", [False, True])
async def test_purged_observation_is_quoted_nowhere(db: Database, many: bool) -> None:
    await marked(db, await session(db), "[MEMORY:timing:web] Takes 60s to start after restart")
    for number in (888, 9777):
        claim = f"[MEMORY:timing:web] Takes {number}s to start after restart"
        await marked(db, await session(db), claim, now=LATER)
    old, gone, stays = sorted(await held(db), key=lambda each: each.id)
    assert "888" in gone.observation
    reasons = [row["reason"] for row in await rows(db, "history") if row["memory_id"] == old.id]
    assert len([each for each in reasons if "888" in each]) == 1

    if many:
        await bulk.apply_action(db, [gone.id], BulkAction(action="delete"), now=LATER)
    else:
        await curate.delete(db, gone.id, version=None, now=LATER)

    assert "888" in await words_kept(db)
    await journal.purge(db, gone.id, now=LATER)

    assert "888" not in await words_kept(db)
    left = {row["memory_id"]: row["text"] for row in await rows(db, "markers")}
    assert left[gone.id] == ""
    assert "9777" in left[stays.id]
    assert [row for row in await rows(db, "history") if "9777" in row["reason"]] != []
