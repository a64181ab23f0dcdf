"""The graph around a memory, a service, a topic or a session, or the outline of a project."""

from dataclasses import dataclass, field
from typing import Final

from lamplighter.domain.actions.policy import quote_name
from lamplighter.domain.errors import NotFound
from lamplighter.domain.memory.memory import Memory, MemoryId
from lamplighter.domain.search.graph import (
    BROUGHT,
    DEPENDS_ON,
    IN,
    MEMORY,
    PROJECT,
    SERVICE,
    TOPIC,
    Edge,
    Graph,
    Node,
    memory_edges,
    memory_node,
    session_node,
)
from lamplighter.domain.services.service import Services, is_same_service
from lamplighter.domain.sessions.session import Session
from lamplighter.repository import Database, reading
from lamplighter.repository.clients import client_sessions
from lamplighter.repository.memory import memories
from lamplighter.repository.search import graph as rows
from lamplighter.repository.sessions import sessions
from lamplighter.usecases.access.project_wall import is_visible

MAX_NODES: Final = 60
STEP_LIMIT: Final = 20
RECENT_SESSIONS: Final = 5


async def graph_of(
    db: Database, project: str, about: str, *, depth: int, services: Services
) -> Graph:
    """Return the graph within `depth` steps of its center; raises NotFound.

    Of other projects it contains only global memories. `services` are those whose dependencies the
    caller may see.
    """
    async with reading(db):
        drawn = _GraphBuilder(db=db, project=project, services=services)
        if not about.strip():
            await _outline(drawn)
            return drawn.graph()
        frontier = await _find_center(drawn, about.strip())
        for _ in range(depth):
            frontier = [each for one in frontier for each in await _step(drawn, one)]
        return drawn.graph()


@dataclass(kw_only=True)
class _GraphBuilder:
    """A graph under construction, with at most `MAX_NODES` nodes."""

    db: Database
    project: str
    services: Services
    nodes: dict[Node, None] = field(default_factory=dict)
    edges: dict[Edge, None] = field(default_factory=dict)
    memories: dict[int, Memory] = field(default_factory=dict)
    begun: dict[Node, Session] = field(default_factory=dict)
    more: bool = False

    def add(self, node: Node) -> bool:
        """Add a node; return whether it is new."""
        if node in self.nodes:
            return False
        if len(self.nodes) >= MAX_NODES:
            self.more = True
            return False
        self.nodes[node] = None
        return True

    def join(self, edge: Edge, far: Node) -> list[Node]:
        """Add an edge and the node at its far end; return that node if it is new."""
        new = self.add(far)
        if far in self.nodes:
            self.edges[edge] = None
        return [far] if new else []

    def graph(self) -> Graph:
        """Return the completed graph."""
        held = [self.memories[int(each.name)] for each in self.nodes if each.what == MEMORY]
        return Graph(
            nodes=tuple(self.nodes),
            edges=tuple(self.edges),
            memories=tuple(held),
            sessions=tuple(self.begun[each] for each in self.nodes if each in self.begun),
            more=self.more,
        )


async def _find_center(builder: _GraphBuilder, about: str) -> list[Node]:
    """Find the center: a memory ID, then a service, a topic, a session's external ID."""
    if about.isascii() and about.removeprefix("#").isdigit():
        memory = await memories.get(builder.db, MemoryId(int(about.removeprefix("#")[:15])))
        if memory is None or not is_visible(builder.project, memory):
            raise NotFound(f"Memory {about} not found in the project {builder.project}.")
        return _add_memory(builder, memory)
    declared = builder.services.find(about)
    kept = await rows.of_service(builder.db, builder.project, about, limit=1)
    if declared is not None or kept:
        name = declared.name if declared else kept[0].service or about
        builder.add(Node(SERVICE, name))
    elif await rows.of_topic(builder.db, builder.project, about.lower(), limit=1):
        builder.add(Node(TOPIC, about.lower()))
    elif session := await client_sessions.by_external_id(builder.db, about, builder.project):
        builder.begun[session_node(session)] = session
        builder.add(session_node(session))
    else:
        raise NotFound(
            f"{quote_name(about)} not found in the project {builder.project}: no service, "
            f"topic or session has this name. Use mem_search to search memories."
        )
    return list(builder.nodes)


async def _step(builder: _GraphBuilder, node: Node) -> list[Node]:
    match node.what:
        case "memory":
            return await _around_memory(builder, builder.memories[int(node.name)])
        case "service":
            found = await rows.of_service(builder.db, builder.project, node.name, limit=STEP_LIMIT)
            return _dependencies(builder, node) + _add_memories(builder, found)
        case "topic":
            found = await rows.of_topic(builder.db, builder.project, node.name, limit=STEP_LIMIT)
            return _add_memories(builder, found)
        case "session":
            return await _add_session_memories(builder, node)
    return []


async def _add_session_memories(builder: _GraphBuilder, node: Node) -> list[Node]:
    """Add the memories that a session saved."""
    number = builder.begun[node].id
    found = await rows.of_session(builder.db, builder.project, number, limit=STEP_LIMIT)
    new = _add_memories(builder, found)
    for memory in found:
        builder.join(Edge(node, BROUGHT, memory_node(memory)), memory_node(memory))
    return new


def _add_memories(builder: _GraphBuilder, found: list[Memory]) -> list[Node]:
    builder.more = builder.more or len(found) >= STEP_LIMIT
    new = [node for memory in found for node in _add_memory(builder, memory)]
    for memory in found:
        for edge in memory_edges(memory):
            if edge.source in builder.nodes and edge.target in builder.nodes:
                builder.edges[edge] = None
    return new


def _add_memory(builder: _GraphBuilder, memory: Memory) -> list[Node]:
    builder.memories[memory.id] = memory
    return [memory_node(memory)] if builder.add(memory_node(memory)) else []


async def _around_memory(builder: _GraphBuilder, memory: Memory) -> list[Node]:
    here, new = memory_node(memory), []
    for edge in memory_edges(memory):
        new += builder.join(edge, edge.target if edge.source == here else edge.source)
    new += await _session_of(builder, memory)
    for link in await rows.links_of(builder.db, [memory.id], limit=STEP_LIMIT):
        other = link.target if link.source == memory.id else link.source
        held = await memories.get(builder.db, MemoryId(other))
        if held is None or not is_visible(builder.project, held):
            continue
        builder.memories[held.id] = held
        ends = Node(MEMORY, str(link.source)), Node(MEMORY, str(link.target))
        new += builder.join(Edge(ends[0], link.what.replace("_", " "), ends[1]), memory_node(held))
    return new


async def _session_of(builder: _GraphBuilder, memory: Memory) -> list[Node]:
    """Add the session that saved a memory, unless it belongs to another project."""
    session = None
    if memory.session_id is not None:
        session = await sessions.get(builder.db, memory.session_id)
    if session is None or not is_visible(builder.project, session):
        return []
    there = session_node(session)
    builder.begun[there] = session
    return builder.join(Edge(there, BROUGHT, memory_node(memory)), there)


def _dependencies(builder: _GraphBuilder, node: Node) -> list[Node]:
    new: list[Node] = []
    for service in builder.services:
        here = Node(SERVICE, service.name)
        for name in service.depends_on:
            there = Node(SERVICE, name)
            if is_same_service(service.name, node.name):
                new += builder.join(Edge(node, DEPENDS_ON, there), there)
            elif is_same_service(name, node.name):
                new += builder.join(Edge(here, DEPENDS_ON, node), here)
    return new


async def _outline(builder: _GraphBuilder) -> None:
    """Add the services and topics of a project's memories, and its last sessions."""
    here = Node(PROJECT, builder.project)
    builder.add(here)
    for service, count in await rows.count_by_service(builder.db, builder.project, limit=MAX_NODES):
        if service is not None:
            there = Node(SERVICE, service)
            builder.join(Edge(here, _format_count(count, "about"), there), there)
    for topic, count in await rows.count_by_topic(builder.db, builder.project, limit=MAX_NODES):
        there = Node(TOPIC, topic)
        builder.join(Edge(here, _format_count(count, "of"), there), there)
    for session in await client_sessions.newest(builder.db, builder.project, limit=RECENT_SESSIONS):
        there = session_node(session)
        builder.begun[there] = session
        builder.join(Edge(here, IN, there), there)


def _format_count(count: int, how: str) -> str:
    return f"{IN} {count} {'memory' if count == 1 else 'memories'} {how}"
