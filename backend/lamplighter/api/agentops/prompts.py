"""What the users of clients asked: kept, listed, found."""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api.agentops import rows
from lamplighter.api.agentops.contract import desk, is_strict, project_in, session_of
from lamplighter.api.agentops.params import (
    ListQuery,
    PromptIn,
    SearchQuery,
    body,
    for_good,
    limited,
    number,
    query,
    required,
)
from lamplighter.api.responses import answer
from lamplighter.domain.clients.client_prompt import ClientPrompt
from lamplighter.repository import Database, reading
from lamplighter.usecases.clients import client_sessions

RECENT: Final = 20
FOUND: Final = 10


async def create(request: Request) -> Response:
    """POST /prompts."""
    here = desk(request)
    needs = ("session_id", "content") if is_strict(request) else ()
    given = await body(request, PromptIn, needs)
    required(content=given.content)
    session = await session_of(request, given.session_id, given.project)
    kept = await client_sessions.ask(
        here.db, session, given.content or "", redact=here.redact, now=here.now()
    )
    return answer({"id": kept.id, "status": "saved"}, 201)


async def recent(request: Request) -> Response:
    """GET /prompts/recent."""
    wanted = query(request, ListQuery)
    return await _listed(request, "", wanted.project, limited(wanted.limit, RECENT))


async def search(request: Request) -> Response:
    """GET /prompts/search."""
    wanted = query(request, SearchQuery)
    required(q=wanted.q)
    return await _listed(request, wanted.q, wanted.project, limited(wanted.limit, FOUND))


async def delete(request: Request) -> Response:
    """DELETE /prompts/{id}; with `hard` for good."""
    here, prompt_id, hard = desk(request), number(request), for_good(request)
    project = project_in(request, None)
    if hard:
        await client_sessions.remove_prompt(here.db, prompt_id, project=project)
    else:
        await client_sessions.forget_prompt(here.db, prompt_id, now=here.now(), project=project)
    return answer({"id": prompt_id, "status": "deleted", "hard_delete": hard})


async def _listed(request: Request, asked: str, project: str, limit: int) -> Response:
    here = desk(request)
    async with reading(here.db):
        found = await client_sessions.asked(
            here.db, asked, project_in(request, project), limit=limit
        )
        return answer(await _rows(here.db, found))


async def _rows(db: Database, found: list[ClientPrompt]) -> list[dict[str, object]]:
    known = await rows.names(db, (each.session_id for each in found))
    return [rows.prompt(each, known) for each in found]
