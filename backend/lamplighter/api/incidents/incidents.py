"""Incidents: listed, read with their timeline, and changed by a person."""

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import params
from lamplighter.api.context import ApiContext
from lamplighter.api.incidents import shapes
from lamplighter.api.op import operation
from lamplighter.api.responses import page
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
async def index(request: Request, here: ApiContext, query: shapes.IncidentQuery) -> Response:
    """List incidents, newest first."""
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
async def show(here: ApiContext, number: int) -> dict[str, Any]:
    """Read an incident with its timeline."""
    async with changes.snapshot(here.db) as seq:
        found = await incident_view.read(here.db, number, now=here.now())
    return {**found, "seq": seq}


@operation("GET", "/incidents/{id:int}/replay", "sessions:read", shapes.ReplayOut, across=True)
async def show_replay(here: ApiContext, query: shapes.ReplayQuery, number: int) -> dict[str, Any]:
    """Decide again on a past incident with other memories; changes nothing."""
    options = ReplayOptions(without=query.without, today=query.today)
    async with reading(here.db):
        return await replay(here.db, here.services(), number, options)


@operation(
    "PATCH",
    "/incidents/{id:int}",
    "sessions:write",
    shapes.IncidentOut,
    problems=(409,),
    across=True,
)
async def update(here: ApiContext, body: shapes.IncidentIn, number: int) -> dict[str, Any]:
    """Acknowledge, note, resolve, merge or separate an incident."""
    changes = msgspec.structs.asdict(body)
    outcome = body.outcome and IncidentOutcome(body.outcome)
    return as_incident(
        await acts.change(here, number, IncidentChange(**{**changes, "outcome": outcome}))
    )
