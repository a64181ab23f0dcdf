"""The state of the embeddings: how many memories have one."""

from typing import TYPE_CHECKING, Any

from lamplighter import embedding
from lamplighter.config.settings import Settings
from lamplighter.domain.search import semantic as rules
from lamplighter.domain.search.semantic import IndexProgress
from lamplighter.repository.search import embeddings
from lamplighter.repository.upkeep import migrate
from lamplighter.serve.semantic.finder import why_not

if TYPE_CHECKING:
    from lamplighter.serve.queries import QueryContext


async def read_progress(here: "QueryContext") -> dict[str, Any]:
    """Return the number of memories with embeddings."""
    return describe(here.settings, await embeddings.progress(here.db, embedding.NAME))


def describe(settings: Settings, index_progress: IndexProgress | None) -> dict[str, Any]:
    """Return the state of the embeddings as JSON, and as text."""
    reason = why_not(settings)
    return {
        "words": rules.judge_index(index_progress, why_not=reason).text,
        "progress": {
            "ready": not reason,
            "why_not": reason,
            "model": embedding.NAME,
            "kept": index_progress.indexed if index_progress else None,
            "total": index_progress.total if index_progress else None,
        },
    }


def progress(settings: Settings) -> IndexProgress | None:
    """Return the number of memories with embeddings, None if it cannot be read."""
    return migrate.read_current(
        settings.database_url, lambda db: embeddings.progress(db, embedding.NAME)
    )
