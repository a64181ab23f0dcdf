"""The graph: the recorded relations of memories, services and topics."""

from dataclasses import dataclass
from typing import Final

from lamplighter.domain.memory.memory import Memory
from lamplighter.domain.sessions.session import Session, Trigger

MEMORY: Final = "memory"
SERVICE: Final = "service"
TOPIC: Final = "topic"
PROJECT: Final = "project"
SESSION: Final = "session"

ABOUT: Final = "is about"
OF_TOPIC: Final = "holds"
DEPENDS_ON: Final = "depends on"
IN: Final = "has"
BROUGHT: Final = "brought"


@dataclass(frozen=True, slots=True)
class Node:
    """One node: its kind and name; for a memory its number."""

    what: str
    name: str

    def __str__(self) -> str:
        return f"{self.what} {self.name}"


@dataclass(frozen=True, slots=True)
class Edge:
    """The relation of two nodes."""

    source: Node
    what: str
    target: Node

    def __str__(self) -> str:
        return f"{self.source} {self.what} {self.target}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """Some nodes and their relations; `more` is whether the graph is incomplete.

    `memories` and `sessions` are those among the nodes.
    """

    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    memories: tuple[Memory, ...] = ()
    sessions: tuple[Session, ...] = ()
    more: bool = False


def memory_node(memory: Memory) -> Node:
    """Return the node of a memory."""
    return Node(MEMORY, str(memory.id))


def session_node(session: Session) -> Node:
    """Return the node of a session, by its client's name or by its number."""
    theirs = session.external_id if session.trigger is Trigger.CLIENT else None
    return Node(SESSION, theirs or str(session.id))


def memory_edges(memory: Memory) -> list[Edge]:
    """Return the edges from a memory to its service and its topic."""
    here = memory_node(memory)
    found = []
    if memory.service is not None:
        found.append(Edge(here, ABOUT, Node(SERVICE, memory.service)))
    if memory.topic_key is not None:
        found.append(Edge(Node(TOPIC, memory.topic_key), OF_TOPIC, here))
    return found
