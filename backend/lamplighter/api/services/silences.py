"""Pausing and resuming services."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api.access.callers import actor_name, caller_of
from lamplighter.api.context import api_context
from lamplighter.api.op import operation
from lamplighter.api.responses import answer
from lamplighter.api.services import shapes
from lamplighter.domain.search import period
from lamplighter.domain.services.checks.silence import Silence
from lamplighter.formats.serialize import format_moment
from lamplighter.usecases.services import silence


@operation("PUT", "/services/{name}/pause", "services:write", shapes.PauseOut)
async def pause(request: Request, body: shapes.PauseIn) -> Response:
    """Pause a service: its failures are only recorded."""
    here = api_context(request)
    new_silence = await silence.pause(
        here,
        here.services(),
        request.path_params["name"],
        body.reason,
        by=actor_name(caller_of(request)),
        until=period.parse_moment(body.until, "until"),
    )
    return _pause_out(request, new_silence)


@operation("DELETE", "/services/{name}/pause", "services:write", shapes.PauseOut, problems=(409,))
async def resume(request: Request) -> Response:
    """Resume a service."""
    here, by = api_context(request), actor_name(caller_of(request))
    found = await silence.resume(here, here.services(), request.path_params["name"], by=by)
    return _pause_out(request, found)


def silence_out(found: Silence | None) -> dict[str, Any] | None:
    """Return a silence as JSON."""
    if found is None:
        return None
    return {"kind": found.kind, "until": format_moment(found.until), "reason": found.reason}


def _pause_out(request: Request, found: Silence | None) -> Response:
    service = api_context(request).services().find(request.path_params["name"])
    name = service.name if service else request.path_params["name"]
    return answer({"service": name, "silence": silence_out(found)})
