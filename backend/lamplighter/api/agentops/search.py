"""Memory search, contexts, and suggestions for topic keys."""

from dataclasses import replace
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api.agentops import rows, shapes
from lamplighter.api.agentops.contract import (
    DEFAULT_PROJECT,
    READ,
    WRITE,
    check_required,
    clamp_limit,
    contract_operation,
    project_in,
    read_body,
    read_query,
)
from lamplighter.api.context import MemoryServiceContext
from lamplighter.api.responses import answer
from lamplighter.domain.clients.agent import CONTEXT_LIMIT, Agent
from lamplighter.domain.memory import knowledge
from lamplighter.domain.memory.knowledge import memory_title
from lamplighter.domain.memory.memory import Memory
from lamplighter.domain.search.search import (
    MOST,
    PARTIAL,
    SearchLayer,
    SearchMethod,
    SearchRequest,
    SearchResults,
)
from lamplighter.domain.text import normalize_project, one_line
from lamplighter.repository import reading
from lamplighter.repository.clients import client_sessions
from lamplighter.usecases.access.project_wall import is_visible
from lamplighter.usecases.clients.agent_context import ContextBlock, agent_context, record_context
from lamplighter.usecases.search.find import find

SEARCH_LIMIT: Final = 10
SESSION: Final = "X-Session-ID"
MORE: Final = 4
"""A search for one type reads this many times the limit, because other types match too."""


@contract_operation("GET", "/search", READ, shapes.AgentOpsHit, is_list=True)
async def search(
    request: Request,
    here: MemoryServiceContext,
    agent: Agent | None,
    query: shapes.AgentOpsSearchQuery,
    strict: bool,
) -> Response:
    """Search observations, best match first."""
    if agent is not None and not agent.auto_search:
        raise HTTPException(403, f"auto_search is off for the agent {agent.name}.")
    if not query.q.strip():
        if not strict:
            check_required(q=query.q)
        return answer([])
    results, hits = await _hits(here, query, project_in(request, query.project))
    return answer(hits, headers=_partial_header(results))


@contract_operation("GET", "/context", READ, shapes.AgentOpsContext)
async def context(
    request: Request,
    here: MemoryServiceContext,
    agent: Agent | None,
    query: shapes.AgentOpsContextQuery,
) -> Response:
    """Read the context for a client: sessions and observations."""
    most = agent.context_limit if agent else CONTEXT_LIMIT
    limit = most if query.limit is None or query.limit < 0 else query.limit
    project = project_in(request, query.project) or DEFAULT_PROJECT
    block = await agent_context(
        here,
        project,
        query.query,
        limit=min(limit, most) if agent else limit,
        near=here.near,
        budget=None if query.budget is None else max(0, query.budget),
    )
    block = replace(block, text=_trim_context(block.text, query.max_bytes))
    name = one_line(query.session_id or request.headers.get(SESSION, ""))
    session = await _context_session(here, name, project)
    await record_context(here.db, block, session, now=here.now())
    return answer(_context_out(block), headers=_partial_header(block))


@contract_operation("GET", "/suggest-topic-key", READ, shapes.AgentOpsTopic, query=shapes.TopicIn)
@contract_operation("POST", "/suggest-topic-key", WRITE, shapes.AgentOpsTopic, body=shapes.TopicIn)
async def topic_key(request: Request) -> dict[str, Any]:
    """Suggest a topic key."""
    if request.method == "POST":
        given = await read_body(request, shapes.TopicIn)
    else:
        given = read_query(request, shapes.TopicIn)
    if not (given.title or "").strip():
        check_required(**{"title or content": given.content})
    key = knowledge.suggest_topic_key(given.type or "", given.title or "", given.content or "")
    return {"topic_key": key}


def _partial_header(found: SearchResults | ContextBlock) -> dict[str, str] | None:
    """Return the header that lists the missing parts of a search: the contract has no field."""
    return {PARTIAL: ", ".join(found.missing)} if found.partial else None


async def _hits(
    here: MemoryServiceContext, query: shapes.AgentOpsSearchQuery, project: str | None
) -> tuple[SearchResults, list[dict[str, Any]]]:
    limit = clamp_limit(query.limit, SEARCH_LIMIT, MOST)
    narrowed = bool(query.type.strip() or query.scope.strip())
    kinds = [rows.category_of(query.type)] if query.type.strip() else rows.CATEGORIES.values()
    results = await find(
        here.db,
        SearchRequest(
            query=query.q,
            layers=(SearchLayer.MEMORY,),
            project=project,
            categories=tuple(kinds),
            limit=min(limit * MORE, MOST) if narrowed else limit,
        ),
        now=here.now(),
        near=here.near,
    )
    pairs = [
        (each, each.row)
        for each in results.results
        if isinstance(each.row, Memory)
        and each.method is not SearchMethod.RECENT  # engram finds nothing without query words
        and rows.matches_type(each.row, kind=query.type, scope=query.scope)
        # project isolation must not depend on the search
        and (project is None or is_visible(project, each.row))
    ][:limit]
    shown = await rows.observations(here.db, [memory for _, memory in pairs])
    return results, [
        {**row, "rank": -each.score or 0.0, "method": each.method}  # like BM25: lower is better
        for row, (each, _) in zip(shown, pairs, strict=True)
    ]


async def _context_session(here: MemoryServiceContext, name: str, project: str) -> int | None:
    """Return the session of a context request, to record its prompt.

    None if the request names no session of the project: a question does not begin a session.
    """
    async with reading(here.db):
        found = await client_sessions.by_external_id(here.db, name) if name else None
    return found.id if found is not None and found.project == normalize_project(project) else None


def _context_out(block: ContextBlock) -> dict[str, Any]:
    return {
        "context": block.text,
        "recent_sessions": [
            {
                "id": each.external_id or "",
                "project": each.project,
                "started_at": rows.stamp(each.started_at),
                "summary": each.summary,
            }
            for each in block.sessions
        ],
        "recent_observations": [
            {
                "id": each.memory.id,
                "type": rows.type_of(each.memory),
                "title": memory_title(each.memory),
                "content": each.content,
                "rank": -each.score or 0.0,  # no negative zero
                "method": each.method,
            }
            for each in block.included
        ],
    }


def _trim_context(text: str, max_bytes: int | None) -> str:
    """Return a context without the last lines of its blocks, until it is small enough."""
    if max_bytes is None or max_bytes < 1:
        return text
    lines = text.splitlines()
    while lines and len("\n".join(lines).encode()) >= max_bytes:
        said = [at for at, line in enumerate(lines) if line.startswith("- ")]
        if not said:
            return ""
        lines.pop(said[-1])
    return "\n".join([*lines, ""]) if lines else ""
