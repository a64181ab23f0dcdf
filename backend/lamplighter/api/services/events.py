"""Events: listed, counted, and reported by an operator."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import params
from lamplighter.api.access.callers import caller_of
from lamplighter.api.access.project_wall import require_operations
from lamplighter.api.context import ApiContext, api_context
from lamplighter.api.op import operation
from lamplighter.api.responses import answer, page, versioned
from lamplighter.api.services import event_shapes
from lamplighter.domain.errors import Invalid, InvalidField, NotFound
from lamplighter.domain.memory.admit import validate_service
from lamplighter.domain.search import period
from lamplighter.domain.services.service import GENERAL, normalize_service_name
from lamplighter.formats import serialize
from lamplighter.repository.memory.memories import service_name
from lamplighter.repository.services import events
from lamplighter.repository.services.events import EventGroup, EventSelection
from lamplighter.repository.store import changes
from lamplighter.usecases.services import events as densities
from lamplighter.usecases.services import events as report


@operation("GET", "/events", "events:read", event_shapes.EventPage, check=require_operations)
async def index(request: Request, query: event_shapes.EventQuery) -> Response:
    """List events, newest first."""
    return await _list_events(request, query, events.page, serialize.event)


@operation(
    "GET", "/events/groups", "events:read", event_shapes.EventGroupPage, check=require_operations
)
async def groups(request: Request, query: event_shapes.EventQuery) -> Response:
    """List groups of repeated events, most recent first."""
    return await _list_events(request, query, events.page_groups, _group)


async def _list_events(
    request: Request, query: event_shapes.EventQuery, fetch: Any, form: Callable[[Any], Any]
) -> Response:
    here = api_context(request)
    position = params.position(query.cursor)
    async with changes.snapshot(here.db) as seq:
        chosen = await _filter(here, query)
        found = await fetch(here.db, chosen, limit=query.limit, position=position)
    return page(request, [form(each) for each in found.items], found.position, seq)


@operation(
    "GET", "/events/density", "events:read", event_shapes.EventDensityOut, check=require_operations
)
async def density(request: Request, query: event_shapes.DensityQuery) -> Response:
    """Count events over time, by level."""
    here = api_context(request)
    async with changes.snapshot(here.db) as seq:
        chosen = await _filter(here, query)
        found = await densities.density(here.db, chosen, most=query.buckets, now=here.now())
    return answer({**found.as_json(), "seq": seq})


@operation(
    "GET", "/events/{id:int}", "events:read", event_shapes.EventOut, check=require_operations
)
async def show(request: Request) -> Response:
    """Read an event."""
    number = params.number(request)
    event = await events.get(api_context(request).db, number)
    if event is None:
        raise NotFound(f"Event {number} not found.")
    return versioned(serialize.event(event))


@operation(
    "POST", "/events", "events:write", event_shapes.EventOut, status=201, body=event_shapes.EventIn
)
async def create(request: Request) -> Response:
    """Create an event."""
    here, body = api_context(request), await params.body(request, event_shapes.EventIn, _rules)
    event = await report.report(
        here,
        body.level,
        body.text,
        service=body.service,
        services=here.services().names,
        session_id=caller_of(request).session_id,
    )
    return answer(serialize.event(event), 201)


async def _filter(here: ApiContext, query: event_shapes.EventFilter) -> EventSelection:
    start, until = (
        period.parse_moment(query.since, "from"),
        period.parse_moment(query.until, "to"),
    )
    if start is not None and until is not None and start >= until:
        raise Invalid(InvalidField("to", "must be later than the beginning of the range"))
    service = query.service
    if service is not None:
        name = GENERAL if normalize_service_name(service) == GENERAL else service
        service = await service_name(here.db, name, here.services().names) or GENERAL
    return EventSelection(
        levels=tuple(query.level),
        service=service,
        session=query.session,
        q=query.q,
        since=start,
        until=until,
        same=query.repeats_of,
    )


_group: Final = serialize.Writer[EventGroup]()


def _rules(values: Mapping[str, Any]) -> list[InvalidField]:
    wrong: list[InvalidField] = []
    validate_service(values.get("service"), wrong)
    return wrong
