"""The search for the command line: with or without a running server."""

import asyncio
from contextlib import suppress
from typing import Final

from lamplighter import clock
from lamplighter.config.settings import Settings
from lamplighter.domain.errors import Unavailable
from lamplighter.domain.search.search import SearchRequest, SearchResults
from lamplighter.repository import Database
from lamplighter.repository.search import backlog
from lamplighter.serve import home, semantic
from lamplighter.serve.commands.access import run_in_database
from lamplighter.usecases.search.session_search import find

CATCHING_SECONDS: Final = 5.0
PREPARING_SECONDS: Final = 5.0
SECONDS: Final = 2.0


def search(settings: Settings, wanted: SearchRequest) -> SearchResults:
    """Search all that is known; who asks by hand waits for what is not indexed yet."""

    async def ask(db: Database) -> SearchResults:
        await backlog.catch_up(db, wanted.layers, seconds=CATCHING_SECONDS)
        near = semantic.semantic_finder(settings, db)
        if near is not None:
            near.within = SECONDS  # the model has to be loaded for this one search
        try:
            if near is not None:
                with suppress(TimeoutError, Unavailable):
                    await asyncio.wait_for(near.prepare(), PREPARING_SECONDS)
            return await find(db, wanted, now=clock.now(), near=near, seconds=SECONDS)
        finally:
            if near is not None:
                near.close()

    home.prepare(settings)
    return asyncio.run(run_in_database(settings, ask))
