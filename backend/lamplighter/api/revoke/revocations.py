"""Revocations: previewed and done."""

from collections.abc import Awaitable, Callable
from typing import Any

from lamplighter.api.context import ApiContext
from lamplighter.api.op import operation
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
async def preview(here: ApiContext, body: shapes.RevocationIn) -> dict[str, Any]:
    """Show what a revocation would revert, and how the next prompts would change."""
    return await _revoke(here, body, revoke.preview)


@operation("POST", "/revocations", "memories:write", shapes.RevocationOut, problems=(404, 409))
async def create(here: ApiContext, body: shapes.RevocationIn) -> dict[str, Any]:
    """Revert everything that a session, an agent or a source taught, in one act."""
    return await _revoke(here, body, revoke.revoke)


async def _revoke(
    here: ApiContext,
    body: shapes.RevocationIn,
    act: Callable[[PromptContext, TeachingOrigin], Awaitable[Revocation]],
) -> dict[str, Any]:
    prompts = PromptContext(
        db=here.db, now=here.now, redact=here.redact, active=here.active, services=here.services()
    )
    found = await act(prompts, choose_origin(body.session, body.agent, body.source))
    return {**found.as_json(), "seq": await changes.last_seq(here.db)}
