"""The state of the embeddings, for the command line: with or without a running server."""

from typing import Any

from lamplighter import embedding
from lamplighter.config.settings import Settings
from lamplighter.domain.search import semantic as rules
from lamplighter.domain.search.semantic import IndexProgress
from lamplighter.repository.search import embeddings
from lamplighter.serve import semantic
from lamplighter.serve.local.queries import QueryContext


async def read_progress(here: QueryContext) -> dict[str, Any]:
    """Return of how many memories there are embeddings."""
    return describe(here.settings, await embeddings.progress(here.db, embedding.NAME))


def describe(settings: Settings, found: IndexProgress | None) -> dict[str, Any]:
    """Return the state of the embeddings as JSON, and in words."""
    why_not = semantic.why_not(settings)
    return {
        "words": rules.judge_index(found, why_not=why_not).text,
        "progress": {
            "ready": not why_not,
            "why_not": why_not,
            "model": embedding.NAME,
            "kept": found.indexed if found else None,
            "total": found.total if found else None,
        },
    }
