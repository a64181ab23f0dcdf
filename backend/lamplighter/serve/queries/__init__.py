"""The queries of the command line: answered by the web process, or from a database opened for one.

Both call the same function, and the answer is JSON in both cases: the output is the same. Each
module of this package answers one kind of question with few imports: without a web process a
command loads it, and a person waits for it.
"""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from inspect import iscoroutinefunction, isfunction
from typing import TYPE_CHECKING, Any

from lamplighter.assets import newest_revision
from lamplighter.config.settings import Settings
from lamplighter.domain.errors import Busy, Unavailable
from lamplighter.repository import Database
from lamplighter.repository.store import driver
from lamplighter.repository.store.database import revision_of
from lamplighter.serve import home_lock
from lamplighter.serve.home_lock import JOURNAL
from lamplighter.serve.local import read_identity

if TYPE_CHECKING:
    from lamplighter.serve.services_file import ServicesFile
    from lamplighter.usecases.search.semantic import SemanticSearch

Query = Callable[..., Awaitable[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class QueryContext:
    """The context of a query.

    `services` returns the services file, `semantic` opens the semantic search.
    """

    settings: Settings
    db: Database
    services: "Callable[[], ServicesFile]"
    semantic: "Callable[[], AbstractContextManager[SemanticSearch | None]]"


async def answer(here: QueryContext, query: str, options: Mapping[str, Any]) -> bytes:
    """Return the answer to a query as JSON."""
    return json.dumps(await _find(query)(here, **options)).encode()


def _find(query: str) -> Query:
    """Return a query by its name, "module.function": a public coroutine function of this package.

    Raises ValueError.
    """
    module, _, function = query.partition(".")
    name = f"{__name__}.{module}"
    if module.isidentifier() and find_spec(name) is not None:
        declared = vars(import_module(name)).get(function)
        own = isfunction(declared) and declared.__module__ == name
        if own and iscoroutinefunction(declared) and not function.startswith("_"):
            return declared
    raise ValueError(f"Unknown query: {query}")


def run(settings: Settings, query: str, options: Mapping[str, Any]) -> Any:
    """Answer a query from the database; raises the errors of the query, and Busy."""
    reply = asyncio.run(_answer_if_ready(settings, query, options))
    if reply is None:
        from lamplighter.serve import home  # first start, update, or an interrupted restore

        home.prepare(settings)
        reply = asyncio.run(_answer(settings, query, options))
        assert reply is not None
    return json.loads(reply)


def _services(settings: Settings) -> "ServicesFile":
    from lamplighter.serve.services_file import ServicesFile

    return ServicesFile(settings.services)


def _open_semantic(
    settings: Settings, db: Database
) -> "AbstractContextManager[SemanticSearch | None]":
    if settings.vectors == "off":
        return nullcontext()
    from lamplighter.serve.semantic import finder

    return finder.open_finder(settings, db)


async def _is_newest(db: Database) -> bool:
    with suppress(Exception):  # each driver has its own error for a missing table
        return await revision_of(db) == newest_revision()
    return False


def _cannot_use(settings: Settings, error: Exception) -> Unavailable:
    from lamplighter.repository.upkeep import migrate  # its message names the database

    return migrate.cannot_use(settings.database_url, error)


async def _answer_if_ready(
    settings: Settings, query: str, options: Mapping[str, Any]
) -> bytes | None:
    """Answer a query; None if the home is incomplete, or its database has another version."""
    if (settings.home / JOURNAL).exists() or not os.access(settings.home, os.W_OK | os.X_OK):
        return None
    return await _answer(settings, query, options, only_if_ready=True)


async def _answer(
    settings: Settings, query: str, options: Mapping[str, Any], *, only_if_ready: bool = False
) -> bytes | None:
    """Answer a query from the database, opened without the preparations of a server."""
    with home_lock.shared(settings.home):
        db = Database(settings.database_url)
        db.home_id = read_identity(settings.home)  # whose notebook is read
        try:
            await db.connect()
        except (driver.Error, OSError) as error:
            if only_if_ready and not isinstance(error.__cause__, TimeoutError):
                return None
            raise _cannot_use(settings, error) from error
        try:
            if only_if_ready and not await _is_newest(db):
                return None
            services, semantic = partial(_services, settings), partial(_open_semantic, settings, db)
            here = QueryContext(settings, db, services, semantic)
            return await answer(here, query, options)
        except (driver.OperationalError, TimeoutError) as error:
            from lamplighter.usecases.outages import describe_failed_command

            raise Busy(describe_failed_command(error)) from error
        finally:
            await db.disconnect()
