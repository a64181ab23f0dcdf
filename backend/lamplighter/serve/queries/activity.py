"""Sessions and events for the command line, with or without a server."""

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from lamplighter import clock
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.service import GENERAL
from lamplighter.domain.sessions.session import Status
from lamplighter.domain.text import format_time
from lamplighter.formats import serialize
from lamplighter.repository import reading

if TYPE_CHECKING:
    from lamplighter.serve.queries import QueryContext


async def list_sessions(
    here: "QueryContext",
    *,
    service: str | None,
    status: str | None,
    tier: int | None,
    seconds: float | None,
    limit: int,
) -> dict[str, Any]:
    """Return sessions, newest first: of a service, a status, a tier, and the last `seconds`."""
    from lamplighter.repository.sessions import sessions
    from lamplighter.repository.sessions.sessions import SessionFilter

    now = clock.now()
    async with reading(here.db):
        chosen = SessionFilter(
            status=None if status is None else Status(status),
            tier=tier,
            service=await _name(here, service),
            since=None if seconds is None else now - timedelta(seconds=seconds),
        )
        page = await sessions.page(here.db, chosen, limit=limit)
    return {
        "items": [
            {**serialize.session(each), "started": format_time(each.started_at, now)}
            for each in page.items
        ],
        "more": page.position is not None,
    }


async def list_events(
    here: "QueryContext",
    *,
    service: str | None,
    levels: Sequence[str],
    words: str | None,
    seconds: float | None,
    limit: int,
) -> dict[str, Any]:
    """Return events, newest first, by service, levels, text and age in `seconds`."""
    from lamplighter.repository.services import events
    from lamplighter.repository.services.events import EventSelection

    now = clock.now()
    async with reading(here.db):
        chosen = EventSelection(
            service=await _name(here, service),
            levels=tuple(Level(each) for each in levels),
            q=words,
            since=None if seconds is None else now - timedelta(seconds=seconds),
        )
        page = await events.page(here.db, chosen, limit=limit)
    return {
        "items": [
            {**serialize.event(each), "at": format_time(each.created_at, now)}
            for each in page.items
        ],
        "more": page.position is not None,
    }


async def _name(here: "QueryContext", service: str | None) -> str | None:
    if service is None:
        return None
    from lamplighter.repository.memory.memories import service_name

    return await service_name(here.db, service, here.services().last_good().names) or GENERAL
