"""The queries of the command line: answered by the web process, or by a database opened for one.

Both call the same function, and the answer is JSON in both cases: the output is the same.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from lamplighter.config.settings import Settings
from lamplighter.repository import Database
from lamplighter.serve.local import reading
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

    async def ask(db: Database) -> bytes:
        services = ServicesFile(settings.services)
        here = QueryContext(settings, db, services, partial(_open_semantic, settings, db))
        return await answer(here, query, options)

    return json.loads(reading.run(settings, ask))


def _open_semantic(
    settings: Settings, db: Database
) -> "AbstractContextManager[SemanticSearch | None]":
    from lamplighter.serve.semantic import finder

    return finder.open_finder(settings, db)
