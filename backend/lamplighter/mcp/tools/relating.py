"""The tools that show relations of memories: in time, and by recorded links."""

from dataclasses import replace
from typing import Any

from lamplighter.domain.errors import NotFound
from lamplighter.domain.graph.entity import EvidenceSource
from lamplighter.domain.memory.memory import Reach
from lamplighter.domain.search.graph import (
    MEMORY,
    SESSION,
    Edge,
    Graph,
    Node,
    memory_node,
    session_node,
)
from lamplighter.domain.services.service import Services
from lamplighter.domain.sessions.session import Session
from lamplighter.domain.text import escape_markers, one_line, shorten
from lamplighter.formats.tools.table import ExplainDecision, ShowGraph, ShowTimeline
from lamplighter.mcp.client_context import SpeakerContext
from lamplighter.mcp.tools.rendering import (
    NOTES,
    SHOWN_CHARS,
    line,
    session_line,
    session_values,
    values,
)
from lamplighter.repository import Database, reading
from lamplighter.repository.memory import knowledge
from lamplighter.usecases.access import project_wall
from lamplighter.usecases.graph.view import DecisionCase, GraphView, find_entity, graph_around, why
from lamplighter.usecases.memory.graph import graph_of
from lamplighter.usecases.sessions.toolbox import ToolOutput, implements

RECORDED_ONLY = (
    "The graph contains only recorded relations: links between memories, topic keys, "
    "services and their dependencies, the session of each memory, and the entities and "
    "relationships that memories state."
)


@implements(ShowTimeline)
async def mem_timeline(place: SpeakerContext, arguments: ShowTimeline) -> ToolOutput:
    """Return the memories before and after a memory."""
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
    structured = {
        "note": NOTES,
        "before": [values(each) for each in before],
        "focus": values(focus),
        "after": [values(each) for each in after],
    }
    return ToolOutput(text="\n".join(lines), structured=structured)


@implements(ShowGraph)
async def mem_graph(place: SpeakerContext, arguments: ShowGraph) -> ToolOutput:
    """Return the relationships of entities."""
    here = place.context
    with_services = place.speaker.caller.may("services:read")
    project = place.project(arguments)
    async with reading(here.db):
        stated = await _stated(here.db, project, arguments, declared=with_services)
        try:
            graph = await graph_of(
                here.db,
                project,
                arguments.about,
                depth=arguments.depth,
                services=here.services() if with_services else Services(),
            )
        except NotFound:
            if stated is None:
                raise
            graph = Graph()
    if stated is not None:
        graph = _joined(graph, stated)
    return ToolOutput(text="\n".join(_lines(graph)), structured=_values(graph))


@implements(ExplainDecision)
async def mem_why(place: SpeakerContext, arguments: ExplainDecision) -> ToolOutput:
    """Return the reasons of a decision."""
    reach = Reach(place.project(arguments))
    cases = await why(place.context.db, arguments.question, reach=reach)
    lines = [line for case in cases for line in _decision_lines(case)]
    decisions = [
        {
            "decision": escape_markers(case.decision.name),
            "rationale": escape_markers(case.rationale),
            "decided_by": [escape_markers(each.name) for each in case.decided_by],
            "concerns": [escape_markers(each.name) for each in case.concerns],
            "memories": [values(each) for each in case.memories],
        }
        for case in cases
    ]
    return ToolOutput(
        text="\n".join([NOTES, *lines] if lines else ["No decision matches."]),
        structured={"note": NOTES, "decisions": decisions},
    )


def _decision_lines(case: DecisionCase) -> list[str]:
    by = ", ".join(each.name for each in case.decided_by)
    head = f"Decision: {case.decision.name}{f' (decided by {by})' if by else ''}"
    reason = f"Rationale: {case.rationale or 'not recorded'}"
    return [escape_markers(head), escape_markers(reason), *map(line, case.memories)]


async def _stated(
    db: Database, project: str, arguments: ShowGraph, *, declared: bool
) -> GraphView | None:
    """Return the entities around a name; None without an entity of this name.

    Without `declared`, relationships of the services file are left out.
    """
    if not arguments.about.strip():
        return None
    reach = Reach(project)
    name = arguments.about.strip()
    if name.removeprefix("#").isdigit():
        return None  # a number is a memory, not an entity
    try:
        center = await find_entity(db, name, reach=reach)
    except NotFound:
        return None
    graph_view = await graph_around(db, center, reach, depth=arguments.depth)
    if declared:
        return graph_view
    edges = [each for each in graph_view.edges if each.source is not EvidenceSource.SERVICES]
    ends = {end for each in edges for end in (each.source_id, each.target_id)} | {center.id}
    nodes = [each for each in graph_view.nodes if each.id in ends]
    return replace(graph_view, nodes=nodes, edges=edges)


def _joined(graph: Graph, stated: GraphView) -> Graph:
    """Combine recorded relations with statements of memories."""
    nodes = {each.id: Node(each.kind.value, each.name) for each in stated.nodes}
    edges = [
        Edge(nodes[each.source_id], each.kind.value.replace("_", " "), nodes[each.target_id])
        for each in stated.edges
        if {each.source_id, each.target_id} <= nodes.keys()
    ]
    return replace(
        graph,
        nodes=tuple(dict.fromkeys((*graph.nodes, *nodes.values()))),
        edges=tuple(dict.fromkeys((*graph.edges, *edges))),
        more=graph.more or stated.more,
    )


def _lines(graph: Graph) -> list[str]:
    lines = [NOTES, *map(line, graph.memories), *map(session_line, graph.sessions)]
    bare = [each for each in graph.nodes if each.what not in (MEMORY, SESSION)]
    lines += [escape_markers(str(each)) for each in bare if not graph.edges]
    lines += [escape_markers(f"- {each}") for each in graph.edges]
    if graph.more:
        lines.append("The result is incomplete. Query one of these nodes for more.")
    return [*lines, RECORDED_ONLY]


def _values(graph: Graph) -> dict[str, Any]:
    details: dict[Node, dict[str, Any]] = {
        **{memory_node(each): {"memory": values(each)} for each in graph.memories},
        **{session_node(each): _session(each) for each in graph.sessions},
    }
    return {
        "note": NOTES,
        "nodes": [
            {"kind": each.what, "name": escape_markers(each.name), **details.get(each, {})}
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
