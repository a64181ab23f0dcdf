"""The prompt of a session, and the updates while it ran."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import params
from lamplighter.api.access.project_wall import require_session
from lamplighter.api.context import api_context
from lamplighter.api.op import operation
from lamplighter.api.responses import answer
from lamplighter.api.sessions import shapes
from lamplighter.domain.errors import NotFound
from lamplighter.domain.sessions.context import NO_PROMPT, SessionPrompt
from lamplighter.domain.sessions.session import Trigger
from lamplighter.formats import serialize
from lamplighter.repository.memory import exposures
from lamplighter.repository.memory.exposures import PromptUpdate
from lamplighter.repository.sessions import sessions
from lamplighter.repository.store import changes


@operation(
    "GET", "/sessions/{id:int}/prompt", "sessions:read", shapes.PromptOut, check=require_session
)
async def prompt(request: Request) -> Response:
    """Read the prompt of a session."""
    here = api_context(request)
    async with changes.snapshot(here.db) as seq:
        session = await sessions.get(here.db, params.number(request))
        if session is None:
            raise NotFound(f"Session {params.number(request)} not found.")
        stored_prompt = await exposures.prompt(here.db, session.id)
        included = await exposures.of_session(here.db, session.id)
        updates = await exposures.updates_of(here.db, session.id)
    if stored_prompt is None and not updates and session.trigger is not Trigger.CLIENT:
        raise NotFound(f"Session {session.id} has no stored prompt.")
    return answer(
        {
            **_prompt_out(stored_prompt or NO_PROMPT),
            "memories": [_memory_out(each) for each in included],
            "retold": [_update_out(each) for each in updates],
            "seq": seq,
        }
    )


def _prompt_out(prompt: SessionPrompt) -> dict[str, Any]:
    return {
        "system": prompt.system,
        "injected": prompt.injected,
        "prompt": prompt.message,
        "tokens": prompt.tokens,
        "budget": prompt.budget,
    }


def _memory_out(each: exposures.Exposure) -> dict[str, Any]:
    return {
        "memory_id": each.memory_id,
        "version": each.version,
        "position": each.position,
        "included": each.position is not None,
        "why": each.why,
        "line": each.line,
    }


def _update_out(each: PromptUpdate) -> dict[str, Any]:
    return {
        "at": serialize.format_moment(each.at),
        "query": each.query,
        "injected": each.injected,
        "tokens": each.tokens,
        "memories": list(each.placements),
    }
