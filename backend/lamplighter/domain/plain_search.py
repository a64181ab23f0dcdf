"""What was found as plain values: for JSON, for scripts, for tests."""

from typing import Any

from lamplighter.domain import plain
from lamplighter.domain.event import Event
from lamplighter.domain.memory import Memory
from lamplighter.domain.search import Found, Results
from lamplighter.domain.session import Session


def results(found: Results) -> dict[str, Any]:
    """Return what was found as plain values."""
    return {
        "items": [_hit(each) for each in found.found],
        "terms": list(found.terms),
        "partial": found.partial,
        "missing": list(found.missing),
        "layers": [each.value for each in found.layers],
        "filters": list(found.filters),
    }


def _hit(each: Found) -> dict[str, Any]:
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


def _row(row: Memory | Session | Event) -> dict[str, Any]:
    if isinstance(row, Memory):
        return plain.memory(row)
    return plain.session(row) if isinstance(row, Session) else plain.event(row)
