"""Events: listed, and reported by an operator."""

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import ask, shapes
from lamplighter.api.answer import answer, page
from lamplighter.api.callers import caller_of
from lamplighter.api.door import door
from lamplighter.domain import plain
from lamplighter.domain.admit import checked_service
from lamplighter.domain.errors import Wrong
from lamplighter.domain.service import GENERAL, fold
from lamplighter.repository import changes, events, reading
from lamplighter.repository.events import Filter
from lamplighter.usecases import report
from lamplighter.usecases.naming import spelled


async def index(request: Request) -> Response:
    """GET /api/v1/events."""
    here, wanted = door(request), ask.query(request, shapes.EventQuery)
    position = ask.position(wanted.cursor)
    async with reading(here.db):
        service = wanted.service
        if service is not None:
            name = GENERAL if fold(service) == GENERAL else service
            service = await spelled(here.db, name, here.known()) or GENERAL
        chosen = Filter(
            levels=tuple(wanted.level), service=service, session=wanted.session, q=wanted.q
        )
        found = await events.page(here.db, chosen, limit=wanted.limit, position=position)
        seq = await changes.last(here.db)
    return page(request, [plain.event(event) for event in found.items], found.position, seq)


async def create(request: Request) -> Response:
    """POST /api/v1/events."""
    here, given = door(request), await ask.body(request, shapes.EventIn, _rules)
    event = await report.report(
        here.db,
        given.level,
        given.text,
        service=given.service,
        now=here.now(),
        redact=here.redact,
        known=here.known(),
        session_id=caller_of(request).session_id,
    )
    return answer(plain.event(event), 201)


def _rules(values: Mapping[str, Any]) -> list[Wrong]:
    wrong: list[Wrong] = []
    checked_service(values.get("service"), wrong)
    return wrong
