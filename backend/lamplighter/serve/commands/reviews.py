"""What waits for a person, for the command line: with or without a running server."""

import asyncio
from typing import Any, Final

from lamplighter.config.settings import Settings
from lamplighter.domain.memory.review import ReviewState
from lamplighter.repository import Database, reading
from lamplighter.repository.memory import reviews
from lamplighter.repository.memory.reviews import Filter
from lamplighter.serve import home
from lamplighter.serve.commands.access import within

LISTED: Final = 200


def waiting(settings: Settings) -> tuple[list[dict[str, Any]], int]:
    """Return the reviews that wait the longest as JSON, and how many wait in all."""
    home.prepare(settings)
    return asyncio.run(within(settings, _waiting))


async def _waiting(db: Database) -> tuple[list[dict[str, Any]], int]:
    wanted = Filter(state=ReviewState.OPEN)
    async with reading(db):
        found = await reviews.page(db, wanted, limit=LISTED)
        items = await reviews.as_json(db, found.items)
        return items, await reviews.count(db, wanted)
