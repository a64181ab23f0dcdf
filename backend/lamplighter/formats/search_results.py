"""Search results as plain JSON."""

from typing import Any

from lamplighter.domain.memory.memory import Memory
from lamplighter.domain.search.search import NotebookText, SearchResult, SearchResults
from lamplighter.domain.services.event import Event
from lamplighter.domain.sessions.session import Session
from lamplighter.formats import serialize


def search_results(results: SearchResults) -> dict[str, Any]:
    """Return search results as JSON values."""
    return {
        "items": [_search_result(each) for each in results.results],
        "terms": list(results.terms),
        "partial": results.partial,
        "missing": list(results.missing),
        "layers": [each.value for each in results.layers],
        "filters": list(results.filters),
    }


def _search_result(each: SearchResult) -> dict[str, Any]:
    return {
        "layer": each.layer.value,
        "rank": each.rank,
        "score": each.score,
        "method": each.method.value,
        "reasons": [{"what": reason.what, "score": reason.score} for reason in each.reasons],
        "text": each.text,
        "spans": [list(span) for span in each.spans],
        each.layer.value: _row(each.row),
    }


def _row(row: Memory | Session | NotebookText | Event) -> dict[str, Any]:
    match row:
        case Memory():
            return serialize.memory(row)
        case Session():
            return serialize.session(row)
        case NotebookText():
            return serialize.notebook_text(row)
    return serialize.event(row)
