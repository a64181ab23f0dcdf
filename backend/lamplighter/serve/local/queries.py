"""The queries of the command line: answered by the web process, or by a database opened for one.

Both call the same function, and the answer is JSON in both cases: the output is the same.
"""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from lamplighter.config.settings import Settings
from lamplighter.domain.errors import Busy, LamplighterError
from lamplighter.repository import Database
from lamplighter.repository.store import driver
from lamplighter.repository.upkeep import migrate
from lamplighter.serve import home_lock
from lamplighter.serve.home_lock import JOURNAL
from lamplighter.serve.local.address import IDENTITY
from lamplighter.serve.services_file import ServicesFile

if TYPE_CHECKING:
    from lamplighter.usecases.search.semantic import SemanticSearch

QUERIES: Final = frozenset(
    {
        "activity.list_events",
        "activity.list_sessions",
        "tokens.list_logins",
        "tokens.list_tokens",
        "approvals.get_approval",
        "services.read_series",
        "services.list_services",
        "services.list_signals",
        "approvals.list_approvals",
        "audit.audit_topic",
        "prompt.preview",
        "inclusion.explain",
        "history.list_changes",
        "services.list_incidents",
        "services.get_incident",
        "services.replay_incident",
        "services.status",
        "graph.graph",
        "graph.why",
        "memories.list_memories",
        "memories.read_memory",
        "trash.list_trash",
        "reviews.list_open_reviews",
        "search.search",
        "vectors.read_progress",
    }
)
"""Modules of `serve.queries`, and their functions that may be asked for."""

Query = Callable[..., Awaitable[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class QueryContext:
    """What a query is answered from. `semantic` opens the semantic search."""

    settings: Settings
    db: Database
    services: ServicesFile
    semantic: "Callable[[], AbstractContextManager[SemanticSearch | None]]"


async def answer(here: QueryContext, query: str, options: Mapping[str, Any]) -> bytes:
    """Return the answer to a query as JSON."""
    if query not in QUERIES:
        raise ValueError(f"Unknown query: {query}")
    module, _, function = query.partition(".")
    found: Query = getattr(import_module(f"lamplighter.serve.queries.{module}"), function)
    return json.dumps(await found(here, **options)).encode()


def run(settings: Settings, query: str, options: Mapping[str, Any]) -> Any:
    """Answer a query from the database; raises what the query raises, and Busy."""

    if not _is_ready(settings):
        from lamplighter.serve import home  # a first start, an update or a restore that was cut off

        home.prepare(settings)
    return json.loads(asyncio.run(_answer(settings, query, options)))


def _open_semantic(
    settings: Settings, db: Database
) -> "AbstractContextManager[SemanticSearch | None]":
    from lamplighter.serve.semantic import finder

    return finder.open_finder(settings, db)


def _is_ready(settings: Settings) -> bool:
    """Whether the home is whole and its database is of this version."""
    if (settings.home / JOURNAL).exists() or not os.access(settings.home, os.W_OK | os.X_OK):
        return False
    try:
        return migrate.revision_of(settings.database_url) == migrate.head()
    except LamplighterError:
        return False


def _identity(settings: Settings) -> str:
    """Return the identity of the home, whose notebook is read; empty before it has one."""
    path = settings.home / IDENTITY
    return path.read_text().strip() if path.exists() else ""


async def _answer(settings: Settings, query: str, options: Mapping[str, Any]) -> bytes:
    """Answer a query from the database: opened as it is, without what a server prepares."""
    with home_lock.shared(settings.home):
        db = Database(settings.database_url)
        db.home_id = _identity(settings)
        try:
            await db.connect()
        except driver.OperationalError as error:
            raise migrate.cannot_use(settings.database_url, error) from error
        try:
            services = ServicesFile(settings.services)
            here = QueryContext(settings, db, services, partial(_open_semantic, settings, db))
            return await answer(here, query, options)
        except (driver.OperationalError, TimeoutError) as error:
            raise Busy(f"The database is not available ({error}). Try again.") from error
        finally:
            await db.disconnect()
