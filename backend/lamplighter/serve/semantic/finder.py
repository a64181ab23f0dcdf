"""The semantic finder of memories, if it is installed and turned on."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from lamplighter import embedding
from lamplighter.config.settings import Settings

if TYPE_CHECKING:
    from lamplighter.repository import Database
    from lamplighter.usecases.search.semantic import SemanticSearch

SEARCH_SECONDS: Final = 2.0


def why_not(settings: Settings) -> str:
    """Return why semantic search is unavailable, empty if it is available; loads nothing."""
    if settings.vectors == "off":
        return "LAMPLIGHTER_VECTORS is off"
    missing = embedding.unavailable_reason()
    return f"{missing} ({embedding.EXTRA})" if missing else ""


def semantic_finder(settings: Settings, db: "Database") -> "SemanticSearch | None":
    """Return the semantic finder, None if semantic search is unavailable."""
    model = None if why_not(settings) else embedding.installed_model()
    if model is None:
        return None
    from lamplighter.usecases.search.semantic import SemanticSearch  # not needed without a model

    return SemanticSearch(db, model)


@contextmanager
def open_finder(settings: Settings, db: "Database") -> "Iterator[SemanticSearch | None]":
    """Open the semantic finder for one search."""
    near = semantic_finder(settings, db)
    if near is None:
        yield None
        return
    near.within = SEARCH_SECONDS  # the model is loaded for this one search
    try:
        yield near
    finally:
        near.close()
