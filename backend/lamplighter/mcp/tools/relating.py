"""The tools that show how memories hang together: in time, and by what was recorded of them."""

from collections.abc import Mapping
from typing import Any

from lamplighter.domain.search.graph import MEMORY, SESSION, Graph, Node, node_of, session_node
from lamplighter.domain.services.service import Services
from lamplighter.domain.sessions.markers import defused
from lamplighter.domain.sessions.session import Session
from lamplighter.domain.text import one_line, shortened
from lamplighter.formats.client_tools import AROUND_USUALLY
from lamplighter.mcp.client_context import Place
from lamplighter.mcp.tools.rendering import (
    NOTES,
    SHOWN_CHARS,
    line,
    session_line,
    session_values,
    values,
)
from lamplighter.repository import reading
from lamplighter.repository.memory import knowledge
from lamplighter.usecases.access import project_wall
from lamplighter.usecases.memory.graph import graph_of
from lamplighter.usecases.sessions.toolbox import Answer, Use

NOT_KEPT = (
    "Only what was recorded: links between memories, topic keys, the services that memories name "
    "and depend on, and which session brought what. People and tools are no nodes."
)


def mem_timeline(place: Place) -> Use:
    """Return what tells which memories stand before and after one."""
    desk = place.desk

    async def use(given: Mapping[str, Any]) -> Answer:
        project = place.project(given)
        async with reading(desk.db):
            focus = await project_wall.found(desk.db, project, given["id"])
            around = await knowledge.around(
                desk.db,
                focus,
                before=given.get("before", AROUND_USUALLY),
                after=given.get("after", AROUND_USUALLY),
            )
        before, after = (
            [each for each in side if project_wall.finds(project, each)]
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
    lines = [NOTES, *map(line, graph.memories), *map(session_line, graph.sessions)]
    bare = [each for each in graph.nodes if each.what not in (MEMORY, SESSION)]
    lines += [defused(str(each)) for each in bare if not graph.edges]
    lines += [defused(f"- {each}") for each in graph.edges]
    if graph.more:
        lines.append("There is more: ask about one of these.")
    return [*lines, NOT_KEPT]


def _values(graph: Graph) -> dict[str, Any]:
    held: dict[Node, dict[str, Any]] = {
        **{node_of(each): {"memory": values(each)} for each in graph.memories},
        **{session_node(each): _session(each) for each in graph.sessions},
    }
    return {
        "note": NOTES,
        "nodes": [
            {"kind": each.what, "name": defused(each.name), **held.get(each, {})}
            for each in graph.nodes
        ],
        "edges": [
            {
                "from": defused(str(each.source)),
                "what": each.what,
                "to": defused(str(each.target)),
            }
            for each in graph.edges
        ],
        "more": graph.more,
        "limits": NOT_KEPT,
    }


def _session(session: Session) -> dict[str, Any]:
    shown = session_values(session)
    return {"session": {**shown, "summary": shortened(one_line(shown["summary"]), SHOWN_CHARS)}}
