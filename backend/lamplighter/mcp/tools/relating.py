"""The tools that show how memories hang together: in time, and by what was recorded of them."""

from collections.abc import Mapping
from typing import Any

from lamplighter.domain.client_offers import AROUND_USUALLY
from lamplighter.domain.graph import MEMORY, Graph
from lamplighter.domain.service import Services
from lamplighter.mcp.desk import Place
from lamplighter.mcp.tools.shown import NOTES, line, values
from lamplighter.repository import reading, timeline
from lamplighter.usecases import walls
from lamplighter.usecases.graph import graph_of
from lamplighter.usecases.toolbox import Answer, Use

NOT_KEPT = (
    "Edges are links between memories, topic keys, the services that memories name, and what "
    "services.yaml says they depend on. People, tools and decisions are no nodes yet."
)


def mem_timeline(place: Place) -> Use:
    """Return what tells which memories stand before and after one."""
    desk = place.desk

    async def use(given: Mapping[str, Any]) -> Answer:
        project = place.project(given)
        async with reading(desk.db):
            focus = await walls.found(desk.db, project, given["id"])
            around = await timeline.around(
                desk.db,
                focus,
                before=given.get("before", AROUND_USUALLY),
                after=given.get("after", AROUND_USUALLY),
            )
        before, after = (
            [each for each in side if walls.finds(project, each)]
            for side in (around.before, around.after)
        )
        lines = [NOTES, *map(line, before), f"> {line(focus)}", *map(line, after)]
        found = {
            "note": NOTES,
            "before": [values(each) for each in before],
            "focus": values(focus),
            "after": [values(each) for each in after],
        }
        return Answer(text="\n".join(lines), found=found)

    return use


def mem_graph(place: Place) -> Use:
    """Return what tells how things hang together."""
    desk = place.desk

    async def use(given: Mapping[str, Any]) -> Answer:
        seen = place.speaker.caller.may("services:read")
        graph = await graph_of(
            desk.db,
            place.project(given),
            given.get("about", ""),
            depth=given.get("depth", 1),
            services=desk.services() if seen else Services(),
        )
        return Answer(text="\n".join(_lines(graph)), found=_values(graph))

    return use


def _lines(graph: Graph) -> list[str]:
    lines = [NOTES, *map(line, graph.memories)]
    lines += [str(each) for each in graph.nodes if each.what != MEMORY and not graph.edges]
    lines += [f"- {each}" for each in graph.edges]
    if graph.more:
        lines.append("There is more: ask about one of these.")
    return [*lines, NOT_KEPT]


def _values(graph: Graph) -> dict[str, Any]:
    held = {str(each.id): values(each) for each in graph.memories}
    return {
        "note": NOTES,
        "nodes": [
            {"kind": each.what, "name": each.name, **_memory(held, each.what, each.name)}
            for each in graph.nodes
        ],
        "edges": [
            {"from": str(each.source), "what": each.what, "to": str(each.target)}
            for each in graph.edges
        ],
        "more": graph.more,
        "limits": NOT_KEPT,
    }


def _memory(held: Mapping[str, dict[str, Any]], what: str, name: str) -> dict[str, Any]:
    return {"memory": held[name]} if what == MEMORY else {}
