"""The knowledge graph for the command line: with or without a running server."""

from typing import TYPE_CHECKING, Any

from lamplighter.formats import serialize
from lamplighter.repository import reading
from lamplighter.usecases.graph import view

if TYPE_CHECKING:
    from lamplighter.serve.queries import QueryContext


async def graph(
    here: "QueryContext", *, name: str, depth: int, project: str | None
) -> dict[str, Any]:
    """Return the entities around one, nearest first, and the relationships between them."""
    async with reading(here.db):
        center = await view.find_entity(here.db, name, project=project)
        graph_view = await view.graph_around(here.db, center, depth=depth)
    return {
        "center": center.id,
        "nodes": [
            {**serialize.entity(each), "depth": graph_view.depths[each.id]}
            for each in graph_view.nodes
        ],
        "edges": [serialize.relationship(each) for each in graph_view.edges],
        "more": graph_view.more,
    }


async def why(here: "QueryContext", *, question: str, project: str | None) -> list[dict[str, Any]]:
    """Return the decisions that a question is about, with their rationale and memories."""
    return [each.as_json() for each in await view.why(here.db, question, project=project)]
