"""The graph around something: a memory, a service, a topic, a session, or a project in outline."""

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
from lamplighter.domain.services.service import Services, normalize_service_name
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
    """Return what hangs together with something, so many steps from it; raises NotFound.

    Of other projects only what is global is there. `services` are those whose
    dependencies the asker may see.
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
    """A graph that is being drawn, up to so many nodes."""

    db: Database
    project: str
    services: Services
    nodes: dict[Node, None] = field(default_factory=dict)
    edges: dict[Edge, None] = field(default_factory=dict)
    memories: dict[int, Memory] = field(default_factory=dict)
    begun: dict[Node, Session] = field(default_factory=dict)
    more: bool = False

    def add(self, node: Node) -> bool:
        """Add a node; says whether it is new."""
        if node in self.nodes:
            return False
        if len(self.nodes) >= MAX_NODES:
            self.more = True
            return False
        self.nodes[node] = None
        return True

    def join(self, edge: Edge, far: Node) -> list[Node]:
        """Add an edge and the node at its far end; returns that node where it is new."""
        new = self.add(far)
        if far in self.nodes:
            self.edges[edge] = None
        return [far] if new else []

    def graph(self) -> Graph:
        """Return what was drawn."""
        held = [self.memories[int(each.name)] for each in self.nodes if each.what == MEMORY]
        return Graph(
            nodes=tuple(self.nodes),
            edges=tuple(self.edges),
            memories=tuple(held),
            sessions=tuple(self.begun[each] for each in self.nodes if each in self.begun),
            more=self.more,
        )


async def _find_center(drawn: _GraphBuilder, about: str) -> list[Node]:
    """Find what is meant: a memory's number, then a service, a topic, a session's own name."""
    if about.isascii() and about.removeprefix("#").isdigit():
        memory = await memories.get(drawn.db, MemoryId(int(about.removeprefix("#")[:15])))
        if memory is None or not is_visible(drawn.project, memory):
            raise NotFound(f"Memory {about} not found in the project {drawn.project}.")
        return _add_memory(drawn, memory)
    declared = drawn.services.find(about)
    kept = await rows.of_service(drawn.db, drawn.project, about, limit=1)
    if declared is not None or kept:
        name = declared.name if declared else kept[0].service or about
        drawn.add(Node(SERVICE, name))
    elif await rows.of_topic(drawn.db, drawn.project, about.lower(), limit=1):
        drawn.add(Node(TOPIC, about.lower()))
    elif session := await client_sessions.by_external_id(drawn.db, about, drawn.project):
        drawn.begun[session_node(session)] = session
        drawn.add(session_node(session))
    else:
        raise NotFound(
            f"{quote_name(about)} not found in the project {drawn.project}: no service, "
            f"topic or session has this name. Use mem_search to search memories."
        )
    return list(drawn.nodes)


async def _step(drawn: _GraphBuilder, node: Node) -> list[Node]:
    match node.what:
        case "memory":
            return await _around_memory(drawn, drawn.memories[int(node.name)])
        case "service":
            found = await rows.of_service(drawn.db, drawn.project, node.name, limit=STEP_LIMIT)
            return _dependencies(drawn, node) + _add_memories(drawn, found)
        case "topic":
            found = await rows.of_topic(drawn.db, drawn.project, node.name, limit=STEP_LIMIT)
            return _add_memories(drawn, found)
        case "session":
            return await _add_session_memories(drawn, node)
    return []


async def _add_session_memories(drawn: _GraphBuilder, node: Node) -> list[Node]:
    """Draw what a session brought: memories that came together."""
    number = drawn.begun[node].id
    found = await rows.of_session(drawn.db, drawn.project, number, limit=STEP_LIMIT)
    new = _add_memories(drawn, found)
    for memory in found:
        drawn.join(Edge(node, BROUGHT, memory_node(memory)), memory_node(memory))
    return new


def _add_memories(drawn: _GraphBuilder, found: list[Memory]) -> list[Node]:
    drawn.more = drawn.more or len(found) >= STEP_LIMIT
    new = [node for memory in found for node in _add_memory(drawn, memory)]
    for memory in found:
        for edge in memory_edges(memory):
            if edge.source in drawn.nodes and edge.target in drawn.nodes:
                drawn.edges[edge] = None
    return new


def _add_memory(drawn: _GraphBuilder, memory: Memory) -> list[Node]:
    drawn.memories[memory.id] = memory
    return [memory_node(memory)] if drawn.add(memory_node(memory)) else []


async def _around_memory(drawn: _GraphBuilder, memory: Memory) -> list[Node]:
    here, new = memory_node(memory), []
    for edge in memory_edges(memory):
        new += drawn.join(edge, edge.target if edge.source == here else edge.source)
    new += await _session_of(drawn, memory)
    for link in await rows.links_of(drawn.db, [memory.id], limit=STEP_LIMIT):
        other = link.target if link.source == memory.id else link.source
        held = await memories.get(drawn.db, MemoryId(other))
        if held is None or not is_visible(drawn.project, held):
            continue
        drawn.memories[held.id] = held
        ends = Node(MEMORY, str(link.source)), Node(MEMORY, str(link.target))
        new += drawn.join(Edge(ends[0], link.what.replace("_", " "), ends[1]), memory_node(held))
    return new


async def _session_of(drawn: _GraphBuilder, memory: Memory) -> list[Node]:
    """Draw the session that brought a memory, unless it is another project's."""
    session = None
    if memory.session_id is not None:
        session = await sessions.get(drawn.db, memory.session_id)
    if session is None or not is_visible(drawn.project, session):
        return []
    there = session_node(session)
    drawn.begun[there] = session
    return drawn.join(Edge(there, BROUGHT, memory_node(memory)), there)


def _dependencies(drawn: _GraphBuilder, node: Node) -> list[Node]:
    new: list[Node] = []
    for service in drawn.services:
        here = Node(SERVICE, service.name)
        for name in service.depends_on:
            there = Node(SERVICE, name)
            if normalize_service_name(service.name) == normalize_service_name(node.name):
                new += drawn.join(Edge(node, DEPENDS_ON, there), there)
            elif normalize_service_name(name) == normalize_service_name(node.name):
                new += drawn.join(Edge(here, DEPENDS_ON, node), here)
    return new


async def _outline(drawn: _GraphBuilder) -> None:
    """Draw the services and topics that a project's memories are about, and its last sessions."""
    here = Node(PROJECT, drawn.project)
    drawn.add(here)
    for service, count in await rows.count_by_service(drawn.db, drawn.project, limit=MAX_NODES):
        if service is not None:
            there = Node(SERVICE, service)
            drawn.join(Edge(here, _format_count(count, "about"), there), there)
    for topic, count in await rows.count_by_topic(drawn.db, drawn.project, limit=MAX_NODES):
        there = Node(TOPIC, topic)
        drawn.join(Edge(here, _format_count(count, "of"), there), there)
    for session in await client_sessions.newest(drawn.db, drawn.project, limit=RECENT_SESSIONS):
        there = session_node(session)
        drawn.begun[there] = session
        drawn.join(Edge(here, IN, there), there)


def _format_count(count: int, how: str) -> str:
    return f"{IN} {count} {'memory' if count == 1 else 'memories'} {how}"
