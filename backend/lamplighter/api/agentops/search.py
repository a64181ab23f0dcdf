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
    agent_of,
    contract_operation,
    is_strict,
    project_in,
)
from lamplighter.api.agentops.params import (
    AgentOpsContextQuery,
    AgentOpsSearchQuery,
    TopicIn,
    body,
    check_required,
    clamp_limit,
    query,
)
from lamplighter.api.context import service_context
from lamplighter.api.responses import answer
from lamplighter.domain.clients.agent import CONTEXT_LIMIT
from lamplighter.domain.memory import knowledge
from lamplighter.domain.memory.knowledge import memory_title
from lamplighter.domain.memory.memory import Memory
from lamplighter.domain.search.search import (
    MOST,
    PARTIAL,
    SearchLayer,
    SearchMethod,
    SearchRequest,
    SearchResult,
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


@contract_operation(
    "GET", "/search", READ, shapes.AgentOpsHit, is_list=True, query=AgentOpsSearchQuery
)
async def search(request: Request) -> Response:
    """Search observations, best match first."""
    parameters = query(request, AgentOpsSearchQuery)
    _check_searches(request)
    if not parameters.q.strip():
        if not is_strict(request):
            check_required(q=parameters.q)
        return answer([])
    results, hits = await _hits(request, parameters)
    return answer(hits, headers=_partial_header(results))


@contract_operation("GET", "/context", READ, shapes.AgentOpsContext, query=AgentOpsContextQuery)
async def context(request: Request) -> Response:
    """Read the context for a client: sessions and observations."""
    here, parameters, agent = (
        service_context(request),
        query(request, AgentOpsContextQuery),
        agent_of(request),
    )
    most = agent.context_limit if agent else CONTEXT_LIMIT
    limit = most if parameters.limit is None or parameters.limit < 0 else parameters.limit
    project = project_in(request, parameters.project) or DEFAULT_PROJECT
    block = await agent_context(
        here,
        project,
        parameters.query,
        limit=min(limit, most) if agent else limit,
        near=here.near,
        budget=None if parameters.budget is None else max(0, parameters.budget),
    )
    block = replace(block, text=_trim_context(block.text, parameters.max_bytes))
    await record_context(
        here.db, block, await _context_session(request, parameters, project), now=here.now()
    )
    return answer(_context_out(block), headers=_partial_header(block))


@contract_operation("GET", "/suggest-topic-key", READ, shapes.AgentOpsTopic, query=TopicIn)
@contract_operation("POST", "/suggest-topic-key", WRITE, shapes.AgentOpsTopic, body=TopicIn)
async def topic_key(request: Request) -> Response:
    """Suggest a topic key."""
    given = query(request, TopicIn) if request.method != "POST" else await body(request, TopicIn)
    if not (given.title or "").strip():
        check_required(**{"title or content": given.content})
    key = knowledge.suggest_topic_key(given.type or "", given.title or "", given.content or "")
    return answer({"topic_key": key})


def _partial_header(found: SearchResults | ContextBlock) -> dict[str, str] | None:
    """Return the header that lists the missing parts of a search: the contract has no field."""
    return {PARTIAL: ", ".join(found.missing)} if found.partial else None


async def _hits(
    request: Request, query: AgentOpsSearchQuery
) -> tuple[SearchResults, list[dict[str, Any]]]:
    here, limit = service_context(request), clamp_limit(query.limit, SEARCH_LIMIT, MOST)
    narrowed = bool(query.type.strip() or query.scope.strip())
    kinds = [rows.category_of(query.type)] if query.type.strip() else rows.CATEGORIES.values()
    project = project_in(request, query.project)
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
        {**row, "rank": _rank(each), "method": each.method}
        for row, (each, _) in zip(shown, pairs, strict=True)
    ]


async def _context_session(
    request: Request, query: AgentOpsContextQuery, project: str
) -> int | None:
    """Return the session of a context request, to record its prompt.

    None if the request names no session of the project: a question does not begin a session.
    """
    name = one_line(query.session_id or request.headers.get(SESSION, ""))
    async with reading(service_context(request).db):
        held = (
            await client_sessions.by_external_id(service_context(request).db, name)
            if name
            else None
        )
    return held.id if held is not None and held.project == normalize_project(project) else None


def _rank(found: SearchResult) -> float:
    """Return a score as FTS5 reports BM25: lower is better."""
    return -found.score


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
                "rank": -each.score,
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


def _check_searches(request: Request) -> None:
    agent = agent_of(request)
    if agent is not None and not agent.auto_search:
        raise HTTPException(403, f"auto_search is off for the agent {agent.name}.")
