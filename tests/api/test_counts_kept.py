"""The number of matching memories is cached, and always matches the rows of the same response."""

import httpx2
import pytest

from lamplighter.api import row_counts
from lamplighter.api.row_counts import MatchCounts
from lamplighter.repository import Database, reading, writing
from lamplighter.repository.memory.memories import MemoryFilter
from living import Server

ROUNDS = 8
INSERT = (
    "INSERT INTO memories (category, observation, confidence, created_at, updated_at)"
    " VALUES ('timing', 'Another one', 0.7, '2026-01-01', '2026-01-01')"
)


def total(client: httpx2.Client, query: str = "") -> int:
    found = client.get(f"/api/v1/memories?{query}").json()
    assert found["total"] == len(found["items"])
    return int(found["total"])


def test_counts_include_writes_of_this_and_other_programs_at_once(
    own_server: Server, own_client: httpx2.Client
) -> None:
    """Also those of another program, which the change feed does not report."""
    wanted = {"category": "timing", "observation": "A disk fills up"}
    for number in range(ROUNDS):
        assert [total(own_client) for _ in range(3)] == [2 * number] * 3

        own_server.home.write(INSERT)
        assert [total(own_client) for _ in range(3)] == [2 * number + 1] * 3

        made = own_client.post("/api/v1/memories", json={**wanted, "observation": f"{number}"})
        assert made.status_code == 201
        assert total(own_client) == 2 * number + 2
    own_client.delete(f"/api/v1/memories/{made.json()['id']}")
    assert total(own_client) == 2 * ROUNDS - 1
    own_client.patch("/api/v1/memories/1", json={"active": False})
    assert (total(own_client, "state=active"), total(own_client, "state=inactive")) == (
        2 * ROUNDS - 2,
        1,
    )


async def insert(db: Database) -> None:
    async with writing(db):
        await db.execute(INSERT)


async def test_a_count_is_cached_only_if_the_data_version_is_unchanged(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts, everything = MatchCounts(), MemoryFilter()

    async def count(before: int, after: int, seq: int = 0) -> int:
        async with reading(db):
            return await counts.count(db, everything, before=before, after=after, seq=seq)

    assert await count(1, 1) == 0
    await insert(db)
    assert await count(1, 1) == 0  # the same state is asked for: it is kept
    assert await count(1, 2) == 1  # something was committed as the view was taken
    assert await count(1, 1) == 0  # and that count was not kept
    assert await count(2, 2) == 1
    await insert(db)
    assert await count(-1, -1) == 2  # the number cannot be read
    assert await count(2, 2, seq=7) == 2
    await insert(db)
    monkeypatch.setattr(row_counts, "KEPT_SECONDS", -1.0)
    assert await count(2, 2, seq=7) == 3
