"""Sessions of clients: begun, ended with a transcript or a summary, and listed."""

from collections.abc import Sequence
from typing import Any, Final

from starlette.requests import Request

from lamplighter.api.agentops import rows, shapes
from lamplighter.api.agentops.contract import (
    DEFAULT_PROJECT,
    READ,
    WRITE,
    check_required,
    clamp_limit,
    contract_operation,
    project_in,
    start_session,
)
from lamplighter.api.context import MemoryServiceContext
from lamplighter.domain.clients.agent import Agent
from lamplighter.domain.sessions.summary import Message
from lamplighter.repository import reading
from lamplighter.repository.clients import client_sessions
from lamplighter.usecases.clients import client_sessions as clients

RECENT: Final = 5


@contract_operation(
    "POST",
    "/sessions",
    WRITE,
    shapes.AgentOpsSession,
    status=201,
    needs=("id", "project"),
    problems=(409,),
)
async def create(
    request: Request, here: MemoryServiceContext, body: shapes.AgentOpsSessionIn
) -> dict[str, Any]:
    """Start a session; the same id twice returns the same session."""
    check_required(id=body.id)
    project = project_in(request, body.project) or DEFAULT_PROJECT
    directory = here.redact(body.directory or "")
    session = await start_session(request, body.id or "", project, directory)
    [shown] = await rows.sessions(here.db, [session])
    return {**shown, "status": "created"}


@contract_operation(
    "POST", "/sessions/{id:path}/end", WRITE, shapes.AgentOpsSessionEnd, problems=(404,)
)
async def end(
    request: Request, here: MemoryServiceContext, agent: Agent | None, body: shapes.EndIn
) -> dict[str, Any]:
    """End a session with a transcript or a summary."""
    session = await clients.end(
        here,
        request.path_params["id"],
        [Message(each.role, _text(each)) for each in body.messages or ()],
        summarize=agent is None or agent.auto_summarize,
        summary=body.summary or "",
        agent=None if agent is None else agent.name,
    )
    return {
        "id": session.external_id,
        "session_id": session.external_id,
        "summary": session.summary,
        "message_count": session.messages or 0,
        "status": "completed",
    }


@contract_operation("GET", "/sessions/recent", READ, shapes.AgentOpsSession, is_list=True)
async def recent(
    request: Request, here: MemoryServiceContext, query: shapes.ListQuery
) -> list[dict[str, Any]]:
    """List recent sessions."""
    project, limit = project_in(request, query.project), clamp_limit(query.limit, RECENT)
    async with reading(here.db):
        found = await client_sessions.newest(here.db, project, limit=limit)
    return await rows.sessions(here.db, found)


@contract_operation("GET", "/sessions/{id:path}", READ, shapes.AgentOpsSession, problems=(404,))
async def show(request: Request, here: MemoryServiceContext, agent: Agent | None) -> dict[str, Any]:
    """Read a session."""
    session = await clients.get(
        here.db,
        request.path_params["id"],
        project=project_in(request, None),
        agent=None if agent is None else agent.name,
    )
    [shown] = await rows.sessions(here.db, [session])
    return shown


def _text(message: shapes.MessageIn) -> str:
    """Return the text of a message, which some clients send in parts."""
    content = message.content
    parts: Sequence[Any] = content if isinstance(content, list) else [content]
    texts = (each.get("text") if isinstance(each, dict) else each for each in parts)
    return " ".join(each for each in texts if isinstance(each, str))
