"""The best results of a search are the same for every limit."""

import random
from datetime import UTC, datetime, timedelta
from typing import Final

from lamplighter.domain.memory.memory import Candidate, Category
from lamplighter.domain.search.search import SearchRequest
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import memories
from lamplighter.usecases.search.session_search import find

NOON: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)
LONG: Final = 10.0
WORDS: Final = ("restart", "slow", "disk", "full", "deploy", "sonarr", "jellyfin", "backup")


async def fill(db: Database, count: int, seed: int) -> None:
    chance = random.Random(seed)
    async with writing(db):
        for number in range(count):
            said = " ".join(chance.choices(WORDS, k=chance.randint(2, 9)))
            candidate = Candidate(
                category=Category.DECISION,
                service=chance.choice((None, "sonarr", "jellyfin", "plex", "backup-nas")),
                observation=f"{chance.choice(('', 'Ada: ', '[9 May] Ada Lund: '))}{said} {number}",
                tier=0,
                session_id=None,
            )
            await memories.insert(db, candidate, now=NOON - timedelta(days=chance.randint(0, 20)))


async def best(db: Database, query: str, limit: int, service: str | None = None) -> list[int]:
    wanted = SearchRequest(query=query, limit=limit, service=service, general=True)
    found = await find(db, wanted, now=NOON, seconds=LONG)
    return [each.row.id for each in found.results]


async def test_first_results_are_equal_for_every_limit(db: Database) -> None:
    """A row's own fields may raise its rank: enough rows are read to determine the first."""
    await fill(db, 50, seed=1)
    chance = random.Random(2)

    for _ in range(30):
        asked = " ".join(
            chance.choices([*WORDS, "plex", "yesterday", "backup-nas", "Ada", "Lund"], k=3)
        )
        for service in (None, "sonarr"):
            every = await best(db, asked, 50, service)
            assert await best(db, asked, 3, service) == every[:3], asked


async def test_search_returns_as_many_results_as_the_limit(db: Database) -> None:
    await fill(db, 260, seed=3)

    found = await best(db, "disk full deploy", 100)

    assert len(set(found)) == len(found) == 100
