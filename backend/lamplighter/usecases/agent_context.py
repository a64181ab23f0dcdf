"""What a client is told: its last sessions and what it knows of what it is about (agentops-memory).

`<memory:sessions>` and `<memory:context>`, as AgentOps' clients expect them.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from lamplighter.domain.agent import CONTEXT_LIMIT, project_of
from lamplighter.domain.markers import defused
from lamplighter.domain.memory import Memory
from lamplighter.domain.search import Layer, Method, Wanted
from lamplighter.domain.session import Session
from lamplighter.domain.text import one_line
from lamplighter.repository import Database, reading, recency
from lamplighter.usecases import clients
from lamplighter.usecases.search import find

QUERY_CHARS: Final = 500
CONTENT_CHARS: Final = 300
SESSIONS: Final = 3
CUT: Final = "..."


@dataclass(frozen=True, slots=True)
class Told:
    """One memory that a client is told, how it was found, and its words cut to size."""

    memory: Memory
    method: Method
    score: float
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentContext:
    """What a client is told: as text, and the rows it is made of."""

    text: str
    sessions: tuple[Session, ...] = ()
    told: tuple[Told, ...] = ()


async def agent_context(
    db: Database,
    project: str,
    query: str = "",
    *,
    limit: int = CONTEXT_LIMIT,
    now: datetime,
) -> AgentContext:
    """Return what a client of a project is told: the best for its query, then the newest.

    The query is cut to 500 characters, each content to 300.
    """
    project = project_of(project)
    async with reading(db):
        sessions = await clients.recent(db, project, limit=SESSIONS)
        told = await _found(db, project, one_line(query)[:QUERY_CHARS], limit, now=now)
        held = [each.memory.id for each in told]
        if len(told) < limit:
            newest = await recency.newest(db, project, without=held, limit=limit - len(told))
            told += [Told(each, Method.RECENT, 0.0, _cut(each.observation)) for each in newest]
    return AgentContext(text=rendered(sessions, told), sessions=tuple(sessions), told=tuple(told))


def rendered(sessions: list[Session], told: list[Told]) -> str:
    """Return both blocks as text; empty where there is nothing to tell."""
    lines = []
    if sessions:
        said = (f"- {defused(one_line(each.summary))}" for each in sessions)
        lines += ["<memory:sessions>", *said, "</memory:sessions>"]
    if told:
        lines += ["<memory:context>", *map(_line, told), "</memory:context>"]
    return "\n".join([*lines, ""]) if lines else ""


async def _found(
    db: Database, project: str, query: str, limit: int, *, now: datetime
) -> list[Told]:
    if not query or limit < 1:
        return []
    wanted = Wanted(query=query, layers=(Layer.MEMORY,), project=project, plain=True, limit=limit)
    results = await find(db, wanted, now=now)
    return [
        Told(each.row, each.method, each.score, _cut(each.row.observation))
        for each in results.found
        if isinstance(each.row, Memory)
    ]


def _line(each: Told) -> str:
    memory = replace(each.memory, observation=each.content)
    title = f"{one_line(memory.title)}: " if memory.title else ""
    return f"- [{memory.category}] {defused(title + one_line(memory.observation))}"


def _cut(text: str) -> str:
    return text if len(text) <= CONTENT_CHARS else text[:CONTENT_CHARS] + CUT
