"""User prompts of clients: stored, listed and searched."""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api.agentops import params, rows, shapes
from lamplighter.api.agentops.contract import (
    READ,
    WRITE,
    caller_name,
    contract_operation,
    is_strict,
    project_in,
    session_of,
)
from lamplighter.api.agentops.params import (
    AgentOpsSearchQuery,
    ListQuery,
    PromptIn,
    body,
    check_required,
    clamp_limit,
    is_permanent,
    number,
    query,
)
from lamplighter.api.context import service_context
from lamplighter.api.responses import answer
from lamplighter.domain.clients.client_prompt import ClientPrompt
from lamplighter.repository import Database, reading
from lamplighter.usecases.clients import client_sessions

RECENT_LIMIT: Final = 20
SEARCH_LIMIT: Final = 10


@contract_operation(
    "POST",
    "/prompts",
    WRITE,
    shapes.AgentOpsPromptSaved,
    status=201,
    body=PromptIn,
    needs=("session_id", "content"),
    problems=(409,),
)
async def create(request: Request) -> Response:
    """Save a user prompt."""
    here = service_context(request)
    needs = ("session_id", "content") if is_strict(request) else ()
    given = await body(request, PromptIn, needs)
    check_required(content=given.content)
    session = await session_of(request, given.session_id, given.project)
    kept = await client_sessions.save_prompt(here, session, given.content or "")
    return answer({"id": kept.id, "status": "saved"}, 201)


@contract_operation(
    "GET", "/prompts/recent", READ, shapes.AgentOpsPrompt, is_list=True, query=ListQuery
)
async def recent(request: Request) -> Response:
    """List recent prompts."""
    wanted = query(request, ListQuery)
    return await _list_prompts(request, "", wanted.project, clamp_limit(wanted.limit, RECENT_LIMIT))


@contract_operation(
    "GET", "/prompts/search", READ, shapes.AgentOpsPrompt, is_list=True, query=AgentOpsSearchQuery
)
async def search(request: Request) -> Response:
    """Search prompts."""
    wanted = query(request, AgentOpsSearchQuery)
    check_required(q=wanted.q)
    return await _list_prompts(
        request, wanted.q, wanted.project, clamp_limit(wanted.limit, SEARCH_LIMIT)
    )


@contract_operation(
    "DELETE",
    "/prompts/{id}",
    WRITE,
    shapes.AgentOpsDeleted,
    query=params.DeleteQuery,
    problems=(400, 404),
)
async def delete(request: Request) -> Response:
    """Withdraw a prompt; hard=true deletes it permanently."""
    here, prompt_id, hard = service_context(request), number(request), is_permanent(request)
    project, now = project_in(request, None), here.now()
    if hard:
        await client_sessions.delete_prompt(here.db, prompt_id, now=now, project=project)
    else:
        by = caller_name(request)
        await client_sessions.withdraw_prompt(here.db, prompt_id, now=now, project=project, by=by)
    return answer({"id": prompt_id, "status": "deleted", "hard_delete": hard})


async def _list_prompts(request: Request, query: str, project: str, limit: int) -> Response:
    here = service_context(request)
    async with reading(here.db):
        found = await client_sessions.search_prompts(
            here.db, query, project_in(request, project), limit=limit
        )
        return answer(await _prompt_rows(here.db, found))


async def _prompt_rows(db: Database, found: list[ClientPrompt]) -> list[dict[str, object]]:
    known = await rows.session_names(db, (each.session_id for each in found))
    return [rows.prompt(each, known) for each in found]
