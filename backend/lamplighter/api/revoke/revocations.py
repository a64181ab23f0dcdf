"""Revocations: previewed and done."""

from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api.context import ApiContext, api_context
from lamplighter.api.op import operation
from lamplighter.api.responses import answer
from lamplighter.api.revoke import shapes
from lamplighter.domain.revoke.origin import TeachingOrigin, choose_origin
from lamplighter.repository.store import changes
from lamplighter.usecases.effect.prompts import PromptContext
from lamplighter.usecases.revoke import revoke
from lamplighter.usecases.revoke.revoke import Revocation


@operation(
    "POST",
    "/revocations/preview",
    "memories:read",
    shapes.RevocationOut,
    problems=(404, 409),
    across=True,
)
async def preview(request: Request, body: shapes.RevocationIn) -> Response:
    """Show what a revocation would revert, and how the next prompts would change."""
    here = api_context(request)
    return await _out(here, await revoke.preview(_prompts(here), _origin(body)))


@operation("POST", "/revocations", "memories:write", shapes.RevocationOut, problems=(404, 409))
async def create(request: Request, body: shapes.RevocationIn) -> Response:
    """Revert everything that a session, an agent or a source taught, in one act."""
    here = api_context(request)
    return await _out(here, await revoke.revoke(_prompts(here), _origin(body)))


def _origin(body: shapes.RevocationIn) -> TeachingOrigin:
    return choose_origin(body.session, body.agent, body.source)


def _prompts(here: ApiContext) -> PromptContext:
    return PromptContext(
        db=here.db, now=here.now, redact=here.redact, active=here.active, services=here.services()
    )


async def _out(here: ApiContext, found: Revocation) -> Response:
    return answer({**found.as_json(), "seq": await changes.last_seq(here.db)})
