"""User prompts of clients: stored, listed and searched."""

from typing import Any, Final

from starlette.requests import Request

from lamplighter.api.agentops import rows, shapes
from lamplighter.api.agentops.contract import (
    READ,
    WRITE,
    check_required,
    clamp_limit,
    contract_operation,
    project_in,
    session_of,
)
from lamplighter.api.context import MemoryServiceContext
from lamplighter.repository import reading
from lamplighter.usecases.clients import client_sessions

RECENT_LIMIT: Final = 20
SEARCH_LIMIT: Final = 10


@contract_operation(
    "POST",
    "/prompts",
    WRITE,
    shapes.AgentOpsPromptSaved,
    status=201,
    needs=("session_id", "content"),
    problems=(409,),
)
async def create(
    request: Request, here: MemoryServiceContext, body: shapes.PromptIn
) -> dict[str, Any]:
    """Save a user prompt."""
    check_required(content=body.content)
    session = await session_of(request, body.session_id, body.project)
    saved = await client_sessions.save_prompt(here, session, body.content or "")
    return {"id": saved.id, "status": "saved"}


@contract_operation("GET", "/prompts/recent", READ, shapes.AgentOpsPrompt, is_list=True)
async def recent(
    request: Request, here: MemoryServiceContext, query: shapes.ListQuery
) -> list[dict[str, Any]]:
    """List recent prompts."""
    return await _prompts(
        here, "", project_in(request, query.project), clamp_limit(query.limit, RECENT_LIMIT)
    )


@contract_operation("GET", "/prompts/search", READ, shapes.AgentOpsPrompt, is_list=True)
async def search(
    request: Request, here: MemoryServiceContext, query: shapes.AgentOpsSearchQuery
) -> list[dict[str, Any]]:
    """Search prompts."""
    check_required(q=query.q)
    return await _prompts(
        here, query.q, project_in(request, query.project), clamp_limit(query.limit, SEARCH_LIMIT)
    )


@contract_operation(
    "DELETE",
    "/prompts/{id}",
    WRITE,
    shapes.AgentOpsDeleted,
    query=shapes.DeleteQuery,
    problems=(400, 404),
)
async def delete(
    request: Request, here: MemoryServiceContext, number: int, hard: bool, by: str
) -> dict[str, Any]:
    """Withdraw a prompt; hard=true deletes it permanently."""
    project, now = project_in(request, None), here.now()
    if hard:
        await client_sessions.delete_prompt(here.db, number, now=now, project=project)
    else:
        await client_sessions.withdraw_prompt(here.db, number, now=now, project=project, by=by)
    return {"id": number, "status": "deleted", "hard_delete": hard}


async def _prompts(
    here: MemoryServiceContext, query: str, project: str | None, limit: int
) -> list[dict[str, Any]]:
    async with reading(here.db):
        found = await client_sessions.search_prompts(here.db, query, project, limit=limit)
        names = await rows.session_names(here.db, (each.session_id for each in found))
    return [rows.prompt(each, names) for each in found]
