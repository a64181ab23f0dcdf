"""Audit over HTTP."""

from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import ask, shapes
from lamplighter.api.answer import page
from lamplighter.api.door import door
from lamplighter.domain.audit import as_json
from lamplighter.repository import changes, reading
from lamplighter.usecases.audit import audit


async def index(request: Request) -> Response:
    """GET /api/v1/audit."""
    here, wanted = door(request), ask.query(request, shapes.AuditQuery)
    position = ask.position(wanted.cursor)
    async with reading(here.db):
        found = await audit(
            here.db, wanted.topic, known=here.known(), limit=wanted.limit, position=position
        )
        seq = await changes.last(here.db)
    counts = {"active": found.active, "inactive": found.inactive}
    more = {"topic": found.topic, "service": found.service, "states": counts}
    return page(request, [as_json(each) for each in found.beliefs], found.position, seq, **more)
