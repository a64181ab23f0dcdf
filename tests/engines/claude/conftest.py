"""A session context whose engine is the real CLI, on a fresh SQLite file."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from cli_sessions import Sessions

from contexts import session_context
from lamplighter import clock
from lamplighter.mcp.session_server import SessionServer
from lamplighter.repository import Database, writing
from lamplighter.repository.upkeep import leases
from messages_api import MessagesApi

MODELS = {1: "claude-haiku-4-5", 2: "claude-sonnet-4-5", 3: "claude-sonnet-4-5"}


@pytest.fixture
def url(sqlite: str) -> str:
    """Return the address of a fresh SQLite file: these tests are about the CLI."""
    return sqlite


@pytest.fixture
async def sessions(db: Database, tmp_path: Path) -> AsyncIterator[Sessions]:
    async with writing(db):
        leader = await leases.acquire(
            db, pid=1, engine="claude", interval_seconds=60, dry_run=False, now=clock.now()
        )
    here = session_context(db, tmp_path, epoch=leader.epoch, models=MODELS)
    with MessagesApi() as api:
        async with SessionServer() as server:
            yield Sessions(here, api, server)
