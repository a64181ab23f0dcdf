"""The tools that show how memories hang together: in time, and by what was recorded of them."""

from typing import Any

from lamplighter.domain.search.graph import MEMORY, SESSION, Graph, Node, memory_node, session_node
from lamplighter.domain.services.service import Services
from lamplighter.domain.sessions.markers import escape_markers
from lamplighter.domain.sessions.session import Session
from lamplighter.domain.text import one_line, shorten
from lamplighter.formats.tools.table import ShowGraph, ShowTimeline
from lamplighter.mcp.client_context import SpeakerContext
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
from lamplighter.usecases.sessions.toolbox import ToolOutput, implements

RECORDED_ONLY = (
    "The graph contains only recorded relations: links between memories, topic keys, "
    "services and their dependencies, and the session of each memory. People and "
    "tools are not nodes."
)


@implements(ShowTimeline)
async def mem_timeline(place: SpeakerContext, arguments: ShowTimeline) -> ToolOutput:
    """Tell which memories stand before and after one."""
    here = place.context
    project = place.project(arguments)
    async with reading(here.db):
        focus = await project_wall.get_visible(here.db, project, arguments.id)
        around = await knowledge.around(
            here.db,
            focus,
            before=arguments.before,
            after=arguments.after,
        )
    before, after = (
        [each for each in side if project_wall.is_visible(project, each)]
        for side in (around.before, around.after)
    )
    lines = [NOTES, *map(line, before), f"> {line(focus)}", *map(line, after)]
    found = {
        "note": NOTES,
        "before": [values(each) for each in before],
        "focus": values(focus),
        "after": [values(each) for each in after],
    }
    return ToolOutput(text="\n".join(lines), structured=found)


@implements(ShowGraph)
async def mem_graph(place: SpeakerContext, arguments: ShowGraph) -> ToolOutput:
    """Tell how things hang together."""
    here = place.context
    seen = place.speaker.caller.may("services:read")
    graph = await graph_of(
        here.db,
        place.project(arguments),
        arguments.about,
        depth=arguments.depth,
        services=here.services() if seen else Services(),
    )
    return ToolOutput(text="\n".join(_lines(graph)), structured=_values(graph))


def _lines(graph: Graph) -> list[str]:
    lines = [NOTES, *map(line, graph.memories), *map(session_line, graph.sessions)]
    bare = [each for each in graph.nodes if each.what not in (MEMORY, SESSION)]
    lines += [escape_markers(str(each)) for each in bare if not graph.edges]
    lines += [escape_markers(f"- {each}") for each in graph.edges]
    if graph.more:
        lines.append("The result is incomplete. Query one of these nodes for more.")
    return [*lines, RECORDED_ONLY]


def _values(graph: Graph) -> dict[str, Any]:
    held: dict[Node, dict[str, Any]] = {
        **{memory_node(each): {"memory": values(each)} for each in graph.memories},
        **{session_node(each): _session(each) for each in graph.sessions},
    }
    return {
        "note": NOTES,
        "nodes": [
            {"kind": each.what, "name": escape_markers(each.name), **held.get(each, {})}
            for each in graph.nodes
        ],
        "edges": [
            {
                "from": escape_markers(str(each.source)),
                "what": each.what,
                "to": escape_markers(str(each.target)),
            }
            for each in graph.edges
        ],
        "more": graph.more,
        "limits": RECORDED_ONLY,
    }


def _session(session: Session) -> dict[str, Any]:
    shown = session_values(session)
    return {"session": {**shown, "summary": shorten(one_line(shown["summary"]), SHOWN_CHARS)}}
