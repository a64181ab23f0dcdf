"""Incidents: listed, read with their timeline, and changed by a person."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import params
from lamplighter.api.context import api_context
from lamplighter.api.incidents import shapes
from lamplighter.api.op import operation
from lamplighter.api.responses import answer, page
from lamplighter.domain.search import period
from lamplighter.domain.services.incident import IncidentOutcome
from lamplighter.formats.serialize import incident as as_incident
from lamplighter.repository import reading
from lamplighter.repository.services import incidents
from lamplighter.repository.services.incidents import IncidentSelection
from lamplighter.repository.store import changes
from lamplighter.usecases.services.incidents import view as incident_view
from lamplighter.usecases.services.incidents.replay import ReplayOptions, replay
from lamplighter.usecases.system import incident_changes as acts
from lamplighter.usecases.system.incident_changes import IncidentChange


@operation("GET", "/incidents", "sessions:read", shapes.IncidentPage, across=True)
async def index(request: Request, query: shapes.IncidentQuery) -> Response:
    """List incidents, newest first."""
    here = api_context(request)
    chosen = IncidentSelection(
        live=None if query.state is None else query.state == "open",
        service=query.service,
        detected_after=period.parse_moment(query.since, "since"),
    )
    position = params.position(query.cursor)
    async with changes.snapshot(here.db) as seq:
        found = await incidents.page(here.db, chosen, limit=query.limit, position=position)
    return page(request, [as_incident(each) for each in found.items], found.position, seq)


@operation("GET", "/incidents/{id:int}", "sessions:read", shapes.IncidentDetailOut, across=True)
async def show(request: Request) -> Response:
    """Read an incident with its timeline."""
    here, number = api_context(request), params.number(request)
    async with changes.snapshot(here.db) as seq:
        found = await incident_view.read(here.db, number, now=here.now())
    return answer({**found, "seq": seq})


@operation("GET", "/incidents/{id:int}/replay", "sessions:read", shapes.ReplayOut, across=True)
async def show_replay(request: Request, query: shapes.ReplayQuery) -> Response:
    """Decide again on a past incident with other memories; changes nothing."""
    here, number = api_context(request), params.number(request)
    options = ReplayOptions(without=query.without, today=query.today)
    async with reading(here.db):
        return answer(await replay(here.db, here.services(), number, options))


@operation(
    "PATCH",
    "/incidents/{id:int}",
    "sessions:write",
    shapes.IncidentOut,
    problems=(409,),
    across=True,
)
async def update(request: Request, body: shapes.IncidentIn) -> Response:
    """Acknowledge, note, resolve, merge or separate an incident."""
    here, number = api_context(request), params.number(request)
    changes = msgspec.structs.asdict(body)
    outcome = body.outcome and IncidentOutcome(body.outcome)
    done = await acts.change(here, number, IncidentChange(**{**changes, "outcome": outcome}))
    return answer(as_incident(done))
