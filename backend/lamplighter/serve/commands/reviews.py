"""What waits for a person, for the command line: with or without a running server."""

import asyncio
from typing import Any, Final

from lamplighter.config.settings import Settings
from lamplighter.domain.memory.review import ReviewState
from lamplighter.repository import Database, reading
from lamplighter.repository.memory import reviews
from lamplighter.repository.memory.reviews import ReviewFilter
from lamplighter.serve import home
from lamplighter.serve.commands.access import run_in_database

LIST_LIMIT: Final = 200


def list_open_reviews(settings: Settings) -> tuple[list[dict[str, Any]], int]:
    """Return the reviews that wait the longest as JSON, and how many wait in all."""
    home.prepare(settings)
    return asyncio.run(run_in_database(settings, _list_open))


async def _list_open(db: Database) -> tuple[list[dict[str, Any]], int]:
    wanted = ReviewFilter(state=ReviewState.OPEN)
    async with reading(db):
        found = await reviews.page(db, wanted, limit=LIST_LIMIT)
        items = await reviews.as_json(db, found.items)
        return items, await reviews.count(db, wanted)
