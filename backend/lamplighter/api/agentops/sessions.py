"""Sessions of clients: begun, ended with a transcript or a summary, and listed."""

from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api.access.callers import caller_of
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
    AgentOpsSessionIn,
    EndIn,
    ListQuery,
    MessageIn,
    body,
    check_required,
    clamp_limit,
    query,
)
from lamplighter.api.context import service_context
from lamplighter.api.responses import answer
from lamplighter.domain.sessions.summary import Message
from lamplighter.repository import reading
from lamplighter.repository.clients import client_sessions
from lamplighter.usecases.clients import client_sessions as clients
from lamplighter.usecases.clients.client_sessions import NewSession

RECENT: int = 5


@contract_operation(
    "POST",
    "/sessions",
    WRITE,
    shapes.AgentOpsSession,
    status=201,
    body=AgentOpsSessionIn,
    needs=("id", "project"),
    problems=(409,),
)
async def create(request: Request) -> Response:
    """Start a session; the same id twice returns the same session."""
    here, agent = service_context(request), agent_of(request)
    payload = await body(
        request, AgentOpsSessionIn, ("id", "project") if is_strict(request) else ()
    )
    check_required(id=payload.id)
    opening = NewSession(
        external_id=payload.id or "",
        project=project_in(request, payload.project) or DEFAULT_PROJECT,
        agent=None if agent is None else agent.name,
        token_id=caller_of(request).id or None,
        directory=here.redact(payload.directory or ""),
    )
    session, _ = await clients.start(here.db, opening, now=here.now())
    [shown] = await rows.sessions(here.db, [session])
    return answer({**shown, "status": "created"}, 201)


@contract_operation(
    "POST", "/sessions/{id:path}/end", WRITE, shapes.AgentOpsSessionEnd, body=EndIn, problems=(404,)
)
async def end(request: Request) -> Response:
    """End a session with a transcript or a summary."""
    here, agent = service_context(request), agent_of(request)
    payload = await body(request, EndIn)
    session = await clients.end(
        here,
        request.path_params["id"],
        [Message(each.role, _text(each)) for each in payload.messages or ()],
        summarize=agent is None or agent.auto_summarize,
        summary=payload.summary or "",
        agent=None if agent is None else agent.name,
    )
    return answer(
        {
            "id": session.external_id,
            "session_id": session.external_id,
            "summary": session.summary,
            "message_count": session.messages or 0,
            "status": "completed",
        }
    )


@contract_operation(
    "GET", "/sessions/recent", READ, shapes.AgentOpsSession, is_list=True, query=ListQuery
)
async def recent(request: Request) -> Response:
    """List recent sessions."""
    here, wanted = service_context(request), query(request, ListQuery)
    project = project_in(request, wanted.project)
    async with reading(here.db):
        limit = clamp_limit(wanted.limit, RECENT)
        found = await client_sessions.newest(here.db, project, limit=limit)
    return answer(await rows.sessions(here.db, found))


@contract_operation("GET", "/sessions/{id:path}", READ, shapes.AgentOpsSession, problems=(404,))
async def show(request: Request) -> Response:
    """Read a session."""
    here, agent = service_context(request), agent_of(request)
    session = await clients.get(
        here.db,
        request.path_params["id"],
        project=project_in(request, None),
        agent=None if agent is None else agent.name,
    )
    [shown] = await rows.sessions(here.db, [session])
    return answer(shown)


def _text(message: MessageIn) -> str:
    """Return the text of a message, which some clients send in parts."""
    content = message.content
    parts: Sequence[Any] = content if isinstance(content, list) else [content]
    texts = (each.get("text") if isinstance(each, dict) else each for each in parts)
    return " ".join(each for each in texts if isinstance(each, str))
