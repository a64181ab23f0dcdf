"""The search over all that is known."""

from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import ask, shapes, walled
from lamplighter.api.answer import answer
from lamplighter.api.door import Door, door
from lamplighter.domain import moments
from lamplighter.domain.errors import Invalid, Wrong
from lamplighter.domain.plain_search import results
from lamplighter.domain.search import Layer, Wanted
from lamplighter.repository import changes
from lamplighter.usecases.naming import spelled
from lamplighter.usecases.search import find

ACTIVE = {"active": True, "inactive": False, "all": None}


async def index(request: Request) -> Response:
    """GET /api/v1/search."""
    here, given = door(request), ask.query(request, shapes.SearchQuery)
    wanted = await _wanted(here, given)
    project = await walled.project_bound(request)
    wanted = wanted if project is None else replace(wanted, project=project)
    found = await find(here.db, wanted, now=here.now(), near=here.near)
    body: dict[str, Any] = {
        **results(found),
        "next": None,
        "seq": await changes.last(here.db),
    }
    return answer(body)


async def _wanted(here: Door, given: shapes.SearchQuery) -> Wanted:
    service = given.service
    if service is not None:
        service = await spelled(here.db, service, here.known()) or service
    return Wanted(
        query=given.q,
        layers=_layers(given.layers),
        project=given.project,
        service=service,
        categories=tuple(given.category),
        kind=given.kind,
        tags=tuple(given.tag),
        active=ACTIVE[given.state],
        since=moments.moment(given.since, "since"),
        limit=given.limit,
    )


def _layers(given: str) -> tuple[Layer, ...]:
    names = [each.strip() for each in given.split(",") if each.strip()]
    if not names or not set(names) <= set(Layer):
        raise Invalid(Wrong("layers", f"is one or more of {', '.join(Layer)}, with commas between"))
    return tuple(Layer(each) for each in dict.fromkeys(names))
