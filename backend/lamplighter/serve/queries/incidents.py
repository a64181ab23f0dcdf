"""Incidents and the state of everything for the command line: with or without a running server."""

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from lamplighter import clock
from lamplighter.domain.text import format_time
from lamplighter.formats import serialize
from lamplighter.repository import reading
from lamplighter.repository.services import incidents as rows
from lamplighter.repository.services.incidents import IncidentSelection
from lamplighter.usecases.services import incident_view

if TYPE_CHECKING:
    from lamplighter.domain.services.incident import Incident
    from lamplighter.serve.local.queries import QueryContext

LIST_LIMIT: Final = 200


async def list_incidents(
    here: "QueryContext", *, whole: bool, service: str | None, limit: int
) -> dict[str, Any]:
    """Return the open incidents, newest first; with `whole` resolved ones too."""
    chosen = IncidentSelection(live=None if whole else True, service=service)
    now = clock.now()
    async with reading(here.db):
        found = await rows.page(here.db, chosen, limit=limit)
    return {"items": [_as_json(each, now=now) for each in found.items]}


async def get_incident(here: "QueryContext", *, number: int) -> dict[str, Any]:
    """Return an incident with its timeline; raises NotFound."""
    async with reading(here.db):
        return await incident_view.read(here.db, number, now=clock.now())


async def status(here: "QueryContext") -> dict[str, Any]:
    """Return how everything is: the services, open incidents, and what needs a person."""
    from lamplighter.usecases.system import overview as views

    now = clock.now()
    async with reading(here.db):
        found = await views.overview(
            here.db, here.services.last_good(), since=now - views.RECENT, now=now
        )
        live = await rows.live(here.db)
    return {
        "state": found.state,
        "services": [
            {
                "service": each.service.name,
                "state": each.state,
                "checked": format_time(each.checked_at, now) if each.checked_at else None,
            }
            for each in found.conditions
        ],
        "incidents": [_as_json(each, now=now) for each in live],
        "people": [{"service": each.service, "reason": each.reason} for each in found.people],
        "approvals": found.approvals[0],
        "supervisor": serialize.leader(found.leader, now=now)["state"],
    }


def _as_json(each: "Incident", *, now: datetime) -> dict[str, Any]:
    return {**serialize.incident(each), "started": format_time(each.started_at, now)}
