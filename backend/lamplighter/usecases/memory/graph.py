"""The graph around something: a memory, a service, a topic, a session, or a project in outline."""

from dataclasses import dataclass, field
from typing import Final

from lamplighter.domain.actions.policy import quoted
from lamplighter.domain.errors import NotFound
from lamplighter.domain.memory.memory import Memory, MemoryId
from lamplighter.domain.search.graph import (
    DEPENDS_ON,
    IN,
    MEMORY,
    PROJECT,
    SAID,
    SERVICE,
    TOPIC,
    Edge,
    Graph,
    Node,
    edges_of,
    node_of,
    session_node,
)
from lamplighter.domain.services.service import Services, fold
from lamplighter.domain.sessions.session import Session
from lamplighter.repository import Database, reading
from lamplighter.repository.clients import client_sessions
from lamplighter.repository.memory import memories
from lamplighter.repository.search import graph as rows
from lamplighter.repository.sessions import sessions
from lamplighter.usecases.access.project_wall import finds

MOST: Final = 60
A_STEP: Final = 20
LATELY: Final = 5


async def graph_of(
    db: Database, project: str, about: str, *, depth: int, services: Services
) -> Graph:
    """Return what hangs together with something, so many steps from it; raises NotFound.

    Of other projects only what is global is there. `services` are those whose
    dependencies the asker may see.
    """
    async with reading(db):
        drawn = _Drawing(db=db, project=project, services=services)
        if not about.strip():
            await _outline(drawn)
            return drawn.graph()
        frontier = await _centre(drawn, about.strip())
        for _ in range(depth):
            frontier = [each for one in frontier for each in await _step(drawn, one)]
        return drawn.graph()


@dataclass(kw_only=True)
class _Drawing:
    """A graph that is being drawn, up to so many nodes."""

    db: Database
    project: str
    services: Services
    nodes: dict[Node, None] = field(default_factory=dict)
    edges: dict[Edge, None] = field(default_factory=dict)
    known: dict[int, Memory] = field(default_factory=dict)
    begun: dict[Node, Session] = field(default_factory=dict)
    more: bool = False

    def add(self, node: Node) -> bool:
        """Add a node; says whether it is new."""
        if node in self.nodes:
            return False
        if len(self.nodes) >= MOST:
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
        held = [self.known[int(each.name)] for each in self.nodes if each.what == MEMORY]
        return Graph(
            nodes=tuple(self.nodes),
            edges=tuple(self.edges),
            memories=tuple(held),
            sessions=tuple(self.begun[each] for each in self.nodes if each in self.begun),
            more=self.more,
        )


async def _centre(drawn: _Drawing, about: str) -> list[Node]:
    """Find what is meant: a memory's number, then a service, a topic, a session's own name."""
    if about.isascii() and about.removeprefix("#").isdigit():
        memory = await memories.get(drawn.db, MemoryId(int(about.removeprefix("#")[:15])))
        if memory is None or not finds(drawn.project, memory):
            raise NotFound(f"There is no memory {about} in the project {drawn.project}.")
        return _seen(drawn, memory)
    declared = drawn.services.find(about)
    kept = await rows.about(drawn.db, drawn.project, about, limit=1)
    if declared is not None or kept:
        name = declared.name if declared else kept[0].service or about
        drawn.add(Node(SERVICE, name))
    elif await rows.under(drawn.db, drawn.project, about.lower(), limit=1):
        drawn.add(Node(TOPIC, about.lower()))
    elif session := await client_sessions.of(drawn.db, about, drawn.project):
        drawn.begun[session_node(session)] = session
        drawn.add(session_node(session))
    else:
        raise NotFound(
            f"Nothing goes by {quoted(about)} in the project {drawn.project}: "
            "no service, no topic and no session. mem_search finds memories by words."
        )
    return list(drawn.nodes)


async def _step(drawn: _Drawing, node: Node) -> list[Node]:
    match node.what:
        case "memory":
            return await _around_memory(drawn, drawn.known[int(node.name)])
        case "service":
            found = await rows.about(drawn.db, drawn.project, node.name, limit=A_STEP)
            return _dependencies(drawn, node) + _held(drawn, found)
        case "topic":
            found = await rows.under(drawn.db, drawn.project, node.name, limit=A_STEP)
            return _held(drawn, found)
        case "session":
            return await _brought(drawn, node)
    return []


async def _brought(drawn: _Drawing, node: Node) -> list[Node]:
    """Draw what a session brought: memories that came together."""
    number = drawn.begun[node].id
    found = await rows.of_session(drawn.db, drawn.project, number, limit=A_STEP)
    new = _held(drawn, found)
    for memory in found:
        drawn.join(Edge(node, SAID, node_of(memory)), node_of(memory))
    return new


def _held(drawn: _Drawing, found: list[Memory]) -> list[Node]:
    drawn.more = drawn.more or len(found) >= A_STEP
    new = [node for memory in found for node in _seen(drawn, memory)]
    for memory in found:
        for edge in edges_of(memory):
            if edge.source in drawn.nodes and edge.target in drawn.nodes:
                drawn.edges[edge] = None
    return new


def _seen(drawn: _Drawing, memory: Memory) -> list[Node]:
    drawn.known[memory.id] = memory
    return [node_of(memory)] if drawn.add(node_of(memory)) else []


async def _around_memory(drawn: _Drawing, memory: Memory) -> list[Node]:
    here, new = node_of(memory), []
    for edge in edges_of(memory):
        new += drawn.join(edge, edge.target if edge.source == here else edge.source)
    new += await _session_of(drawn, memory)
    for link in await rows.links_of(drawn.db, [memory.id], limit=A_STEP):
        other = link.target if link.source == memory.id else link.source
        held = await memories.get(drawn.db, MemoryId(other))
        if held is None or not finds(drawn.project, held):
            continue
        drawn.known[held.id] = held
        ends = Node(MEMORY, str(link.source)), Node(MEMORY, str(link.target))
        new += drawn.join(Edge(ends[0], link.what.replace("_", " "), ends[1]), node_of(held))
    return new


async def _session_of(drawn: _Drawing, memory: Memory) -> list[Node]:
    """Draw the session that brought a memory, unless it is another project's."""
    session = None
    if memory.session_id is not None:
        session = await sessions.get(drawn.db, memory.session_id)
    if session is None or not finds(drawn.project, session):
        return []
    there = session_node(session)
    drawn.begun[there] = session
    return drawn.join(Edge(there, SAID, node_of(memory)), there)


def _dependencies(drawn: _Drawing, node: Node) -> list[Node]:
    new: list[Node] = []
    for service in drawn.services:
        here = Node(SERVICE, service.name)
        for name in service.depends_on:
            there = Node(SERVICE, name)
            if fold(service.name) == fold(node.name):
                new += drawn.join(Edge(node, DEPENDS_ON, there), there)
            elif fold(name) == fold(node.name):
                new += drawn.join(Edge(here, DEPENDS_ON, node), here)
    return new


async def _outline(drawn: _Drawing) -> None:
    """Draw the services and topics that a project's memories are about, and its last sessions."""
    here = Node(PROJECT, drawn.project)
    drawn.add(here)
    for service, count in await rows.outline(drawn.db, drawn.project, limit=MOST):
        if service is not None:
            there = Node(SERVICE, service)
            drawn.join(Edge(here, _counted(count, "about"), there), there)
    for topic, count in await rows.topics(drawn.db, drawn.project, limit=MOST):
        there = Node(TOPIC, topic)
        drawn.join(Edge(here, _counted(count, "of"), there), there)
    for session in await client_sessions.newest(drawn.db, drawn.project, limit=LATELY):
        there = session_node(session)
        drawn.begun[there] = session
        drawn.join(Edge(here, IN, there), there)


def _counted(count: int, how: str) -> str:
    return f"{IN} {count} {'memory' if count == 1 else 'memories'} {how}"
