"""Check results of a running home, stored by the same function that the supervisor uses."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from contexts import context
from lamplighter.config.services import load
from lamplighter.domain.services.series import CheckRun
from lamplighter.repository import Database
from lamplighter.repository.store.database import sqlite_url
from lamplighter.usecases.services import check_runs


def store_results(home: Path, runs: Sequence[CheckRun]) -> None:
    """Store results in the database of a home, also while a browser's event loop runs here."""
    with ThreadPoolExecutor(1) as aside:
        aside.submit(asyncio.run, _store(home, runs)).result(timeout=60)


async def _store(home: Path, runs: Sequence[CheckRun]) -> None:
    services = load(home / "services.yaml")
    async with Database(sqlite_url(home / "lamplighter.db")) as db:
        for first in range(0, len(runs), check_runs.AT_ONCE):
            some = runs[first : first + check_runs.AT_ONCE]
            await check_runs.record(context(db, datetime.now(UTC)), some, services)
