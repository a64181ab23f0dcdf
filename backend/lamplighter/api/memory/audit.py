"""Audit over HTTP."""

from dataclasses import asdict

from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import params
from lamplighter.api.context import ApiContext, api_context
from lamplighter.api.memory import review_shapes
from lamplighter.api.op import operation
from lamplighter.api.responses import page
from lamplighter.domain.memory.memory import MemoryId
from lamplighter.formats.audit import Audit, as_json
from lamplighter.repository.store import changes
from lamplighter.usecases.memory.audit import page_on_topic
from lamplighter.usecases.sessions.prompt_effects import AuditEffect, prompt_effects


@operation("GET", "/audit", "memories:read", review_shapes.AuditPage, across=True)
async def index(request: Request, query: review_shapes.AuditQuery) -> Response:
    """List all memories about a service or topic, with their evidence."""
    here = api_context(request)
    position = params.position(query.cursor)
    async with changes.snapshot(here.db) as seq:
        result = await page_on_topic(
            here.db,
            query.topic,
            services=here.services().names,
            limit=query.limit,
            position=position,
        )
        effects = await _effects(here, result) if query.prompt else {}
    counts = {"active": result.active, "inactive": result.inactive}
    more = {"topic": result.topic, "service": result.service, "states": counts}
    items = [
        {**as_json(each), "prompt": None if effect is None else asdict(effect)}
        for each in result.beliefs
        for effect in [effects.get(each.memory.id)]
    ]
    return page(request, items, result.position, seq, **more)


async def _effects(here: ApiContext, found: Audit) -> dict[MemoryId, AuditEffect]:
    memories = [each.memory for each in found.beliefs]
    return await prompt_effects(here.db, memories, budget=here.active.budget, now=here.now())
