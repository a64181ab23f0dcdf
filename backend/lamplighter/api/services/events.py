"""Events: listed, counted, and reported by an operator."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import params
from lamplighter.api.access.callers import caller_of
from lamplighter.api.context import Door, door
from lamplighter.api.responses import answer, page, versioned
from lamplighter.api.services import event_shapes
from lamplighter.domain.errors import Invalid, NotFound, Wrong
from lamplighter.domain.memory.admit import checked_service
from lamplighter.domain.search import period
from lamplighter.domain.services.service import GENERAL, fold
from lamplighter.formats import serialize
from lamplighter.repository import reading
from lamplighter.repository.feed import changes
from lamplighter.repository.services import events
from lamplighter.repository.services.events import Filter, Group
from lamplighter.usecases.memory.service_names import spelled
from lamplighter.usecases.services import events as densities
from lamplighter.usecases.services import events as report


async def index(request: Request) -> Response:
    """GET /api/v1/events."""
    return await _listed(request, events.page, serialize.event)


async def groups(request: Request) -> Response:
    """GET /api/v1/events/groups."""
    return await _listed(request, events.groups, _group)


async def _listed(request: Request, fetch: Any, form: Callable[[Any], Any]) -> Response:
    here, wanted = door(request), params.query(request, event_shapes.EventQuery)
    position = params.position(wanted.cursor)
    async with reading(here.db):
        chosen = await _filter(here, wanted)
        found = await fetch(here.db, chosen, limit=wanted.limit, position=position)
        seq = await changes.last(here.db)
    return page(request, [form(each) for each in found.items], found.position, seq)


async def density(request: Request) -> Response:
    """GET /api/v1/events/density."""
    here, wanted = door(request), params.query(request, event_shapes.DensityQuery)
    async with reading(here.db):
        chosen = await _filter(here, wanted)
        found = await densities.density(here.db, chosen, most=wanted.buckets, now=here.now())
        seq = await changes.last(here.db)
    return answer({**found.as_json(), "seq": seq})


async def show(request: Request) -> Response:
    """GET /api/v1/events/{id}."""
    number = params.number(request)
    event = await events.get(door(request).db, number)
    if event is None:
        raise NotFound(f"There is no event {number}.")
    return versioned(serialize.event(event))


async def create(request: Request) -> Response:
    """POST /api/v1/events."""
    here, given = door(request), await params.body(request, event_shapes.EventIn, _rules)
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
    return answer(serialize.event(event), 201)


async def _filter(here: Door, wanted: event_shapes.EventFilter) -> Filter:
    since, until = period.moment(wanted.since, "from"), period.moment(wanted.until, "to")
    if since is not None and until is not None and since >= until:
        raise Invalid(Wrong("to", "must be later than the beginning of the range"))
    service = wanted.service
    if service is not None:
        name = GENERAL if fold(service) == GENERAL else service
        service = await spelled(here.db, name, here.known()) or GENERAL
    return Filter(
        levels=tuple(wanted.level),
        service=service,
        session=wanted.session,
        q=wanted.q,
        since=since,
        until=until,
        same=wanted.same,
    )


def _group(each: Group) -> dict[str, Any]:
    return {
        **dataclasses.asdict(each),
        "first_at": serialize.at(each.first_at),
        "last_at": serialize.at(each.last_at),
    }


def _rules(values: Mapping[str, Any]) -> list[Wrong]:
    wrong: list[Wrong] = []
    checked_service(values.get("service"), wrong)
    return wrong
