"""Agents, configured and discovered, with their activity, identity and context."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from lamplighter import telemetry
from lamplighter.domain.access.access import Caller
from lamplighter.domain.clients import agent_block
from lamplighter.domain.clients.agent import CONTEXT_LIMIT, MOST_CONTEXT, Agent, find_agent
from lamplighter.domain.clients.agent_block import CONTENT_CHARS as CONTENT_CHARS
from lamplighter.domain.clients.agent_block import QUERY_CHARS as QUERY_CHARS
from lamplighter.domain.clients.agent_block import SESSIONS as SESSIONS
from lamplighter.domain.clients.agent_block import IncludedMemory as Told
from lamplighter.domain.clients.speaker import DEFAULT_PROJECT, ClientIdentity
from lamplighter.domain.errors import Conflict, Invalid, InvalidField
from lamplighter.domain.memory.memory import Memory
from lamplighter.domain.search.search import (
    SearchLayer,
    SearchMethod,
    SearchRequest,
    SearchResults,
    SemanticIndex,
)
from lamplighter.domain.sessions.context import NO_ROOM, Placement, estimate_tokens
from lamplighter.domain.sessions.session import Session
from lamplighter.domain.text import PROJECT_CHARS, normalize_project, one_line
from lamplighter.repository import Database, reading, writing
from lamplighter.repository.clients import agents, client_sessions
from lamplighter.repository.clients.agents import AgentActivity
from lamplighter.repository.memory import exposures, knowledge
from lamplighter.repository.sessions import sessions
from lamplighter.usecases import instrumentation
from lamplighter.usecases.access.project_wall import is_visible
from lamplighter.usecases.clients import client_sessions as clients
from lamplighter.usecases.context import Context
from lamplighter.usecases.search.session_search import find


@dataclass(frozen=True, slots=True)
class AgentStatus:
    """An agent: its settings, whether lamplighter.toml declares it, and its activity here."""

    agent: Agent
    declared: bool
    activity: AgentActivity


async def list_agents(db: Database, declared: Iterable[Agent]) -> list[AgentStatus]:
    """Return every agent: configured agents first, then discovered ones, each group by name."""
    by_name = {each.name: each for each in declared}
    async with reading(db):
        activities = await agents.activity_by_agent(db)
    configured = [
        AgentStatus(by_name[name], True, activities.get(name, AgentActivity()))
        for name in sorted(by_name)
    ]
    came = [
        AgentStatus(Agent(name=name), False, activities[name])
        for name in sorted(activities.keys() - by_name)
    ]
    return configured + came


async def speaker_of(
    db: Database, caller: Caller, agents: Iterable[Agent], *, project: str = ""
) -> ClientIdentity:
    """Return the identity of a caller; raises Conflict if its session ended, and Invalid.

    Invalid: for another project. `project` is the default of a caller that is not bound to a
    project.
    """
    requested = check_project(project) if project.strip() else ""
    if caller.session_id is not None:
        session = await sessions.get(db, caller.session_id)
        if session is None or not session.running:
            raise Conflict("The session of this token has ended.")
        bound = ClientIdentity(caller=caller, project=session.project, session=session)
    elif caller.agent is not None:
        agent = find_agent(agents, caller.agent)
        bound = ClientIdentity(caller=caller, project=normalize_project(agent.reads), agent=agent)
    else:
        return ClientIdentity(caller=caller, project=requested or DEFAULT_PROJECT)
    if requested not in ("", bound.project):
        raise Invalid(InvalidField("project", f"must be {bound.project} for {bound.known_as}"))
    return bound


def check_project(name: str) -> str:
    """Return a project name as stored; raises Invalid."""
    project = normalize_project(name)
    if not project or len(project) > PROJECT_CHARS or not project.isprintable():
        raise Invalid(InvalidField("project", f"must have 1 to {PROJECT_CHARS} characters"))
    return project


BEYOND: Final = 10
"""The number of extra candidates to rank, to show which ones were left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextBlock:
    """The context of a client: its text, the included rows, and the reason for each row."""

    text: str
    query: str = ""
    sessions: tuple[Session, ...] = ()
    included: tuple[Told, ...] = ()
    placements: tuple[Placement, ...] = ()
    partial: bool = False
    missing: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        """The estimated number of tokens."""
        return estimate_tokens(self.text)


async def agent_context(
    here: Context,
    project: str,
    query: str = "",
    *,
    limit: int = CONTEXT_LIMIT,
    session_id: int | None = None,
    near: SemanticIndex | None = None,
    budget: int | None = None,
) -> ContextBlock:
    """Return the context of a client of a project: the best matches for its query, then the newest.

    The query is cut to 500 characters; `limit` is 0 to 50. Each content is cut to 300 characters,
    with a `budget` of tokens only if the whole content does not fit. The context of a session is
    recorded byte for byte, with the reason for each memory. Each included memory is counted as
    accessed.
    """
    db, now = here.db, here.now()
    with telemetry.span(
        "memory.inject", {"lamplighter.project": normalize_project(project)}
    ) as span:
        block = await preview(db, project, query, limit=limit, now=now, near=near, budget=budget)
        block = replace(block, query=here.redact(block.query))
        ways = [(each.memory, each.method.value) for each in block.included]
        instrumentation.trace_included(span, "agent", ways, block.tokens)
        await exposures.record_access(db, [memory.id for memory, _ in ways], now)
        await record_context(db, block, session_id, now=now)
    return block


async def preview(
    db: Database,
    project: str,
    query: str = "",
    *,
    limit: int = CONTEXT_LIMIT,
    now: datetime,
    near: SemanticIndex | None = None,
    budget: int | None = None,
) -> ContextBlock:
    """Return the context preview of a client of a project; nothing is recorded."""
    limit = min(max(limit, 0), MOST_CONTEXT)
    query = one_line(query)[:QUERY_CHARS]
    results = await _results(db, normalize_project(project), query, limit, now=now, near=near)
    included, out = _chosen(results, limit)
    async with reading(db):
        sessions = await clients.recent(db, project, limit=SESSIONS)
        held = [each.memory.id for each in included]
        if len(included) < limit:
            newest = await knowledge.newest_in_project(
                db, normalize_project(project), without=held, limit=limit - len(included), now=now
            )
            included += [_included(each, SearchMethod.RECENT, 0.0) for each in newest]
        text = agent_block.render_block((each.summary for each in sessions), included)
        if budget is not None:
            ids = sorted({each.memory.session_id for each in included if each.memory.session_id})
            names = await client_sessions.external_ids(db, ids)
            every = included
            text, included = agent_block.pack_block(
                sessions, included, budget=budget, terms=results.terms, names=names
            )
            kept = {each.memory.id for each in included}
            out += [(each.memory, NO_ROOM) for each in every if each.memory.id not in kept]
    return ContextBlock(
        text=text,
        query=query,
        sessions=tuple(sessions),
        included=tuple(included),
        placements=tuple(agent_block.explain_placements(included, out)),
        partial=results.partial,
        missing=results.missing,
    )


async def record_context(
    db: Database, block: ContextBlock, session_id: int | None, *, now: datetime
) -> None:
    """Record a session's context byte for byte, unless it equals the previous context."""
    if session_id is None or not (block.text or block.placements):
        return
    async with writing(db):
        last = await exposures.last_update(db, session_id)
        if last is not None and (last.injected, last.query) == (block.text, block.query):
            return
        await exposures.insert_update(
            db,
            session_id,
            block.text,
            _once(block.placements),
            query=block.query,
            tokens=block.tokens,
            now=now,
        )


async def _results(
    db: Database, project: str, query: str, limit: int, *, now: datetime, near: SemanticIndex | None
) -> SearchResults:
    if not query or limit < 1:
        return SearchResults()
    request = SearchRequest(
        query=query,
        layers=(SearchLayer.MEMORY,),
        project=project,
        literal=True,
        limit=limit + BEYOND,
    )
    results = await find(db, request, now=now, near=near)
    # project isolation must not depend on the search
    inside = (each for each in results.results if is_visible(project, each.row))
    return replace(results, results=tuple(inside))


def _chosen(results: SearchResults, limit: int) -> tuple[list[Told], list[tuple[Memory, str]]]:
    found = [each for each in results.results if isinstance(each.row, Memory)]
    chosen = [
        _included(each.row, each.method, each.score, results.terms)
        for each in found[:limit]
        if isinstance(each.row, Memory)
    ]
    why = f"ranked below the limit of {limit}"
    return chosen, [(each, why) for each in results.memories[limit:]]


def _included(
    memory: Memory, method: SearchMethod, score: float, terms: Sequence[str] = ()
) -> Told:
    return Told(memory, method, score, agent_block.shorten_content(memory.observation, terms))


def _once(placed: Sequence[Placement]) -> list[Placement]:
    return list({each.memory.id: each for each in reversed(placed)}.values())[::-1]
