"""Audit over HTTP."""

from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import params
from lamplighter.api.context import api_context
from lamplighter.api.memory import review_shapes
from lamplighter.api.responses import page
from lamplighter.formats.audit import as_json
from lamplighter.repository import reading
from lamplighter.repository.feed import changes
from lamplighter.usecases.memory.evidence import page_on_topic


async def index(request: Request) -> Response:
    """GET /api/v1/audit."""
    here, wanted = api_context(request), params.query(request, review_shapes.AuditQuery)
    position = params.position(wanted.cursor)
    async with reading(here.db):
        found = await page_on_topic(
            here.db,
            wanted.topic,
            services=here.services().names,
            limit=wanted.limit,
            position=position,
        )
        seq = await changes.last_seq(here.db)
    counts = {"active": found.active, "inactive": found.inactive}
    more = {"topic": found.topic, "service": found.service, "states": counts}
    return page(request, [as_json(each) for each in found.beliefs], found.position, seq, **more)
