"""Halt: its status, and the requests to halt and to resume."""

import logging
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import common_shapes, params
from lamplighter.api.access.callers import actor_name, caller_of
from lamplighter.api.access.project_wall import require_operations
from lamplighter.api.context import ApiContext, api_context
from lamplighter.api.op import operation
from lamplighter.api.responses import answer
from lamplighter.api.sessions import approval_shapes
from lamplighter.domain.actions.halt import Halt
from lamplighter.formats import serialize
from lamplighter.repository.store import changes
from lamplighter.repository.store.driver import Error
from lamplighter.usecases.sessions import halt

logger = logging.getLogger(__name__)

CACHE_SECONDS: Final = 1.0
"""How long the answer waits for the database; the file halts everything meanwhile."""


@operation("GET", "/halt", "sessions:read", approval_shapes.HaltOut)
async def show(request: Request, query: common_shapes.NoParameters) -> Response:
    """Read the halt status and who halted Lamplighter."""
    return await _halt_state(api_context(request))


@operation(
    "PUT",
    "/halt",
    "sessions:write",
    approval_shapes.HaltOut,
    body=approval_shapes.HaltIn,
    check=require_operations,
)
async def pull(request: Request) -> Response:
    """Halt all rounds, sessions and actions."""
    here, by, now = api_context(request), _person(request), api_context(request).now()
    body = await params.body(request, approval_shapes.HaltIn)
    try:
        here.halt_control.write(body.reason, by=by, now=now)
    except OSError as error:
        logger.warning("Could not write %s: %s", here.halt_control.file, error)
    if here.halt_control.by_request() is None:  # no halt file: only the database can halt
        await halt.halt_all(here.db, here.halt_control, body.reason, by=by, now=now)
    else:
        work = halt.sync_file_patiently(here.db, here.halt_control, now=now)
        await request.app.state.jobs.start("the halt", work, wait=CACHE_SECONDS)
    try:
        return await _halt_state(here)
    except (Error, TimeoutError):
        file = here.halt_control.by_file()
        if file is None:
            raise
        return answer({"halted": True, "pulled": [as_json(here, file)], "seq": 0})


@operation(
    "DELETE",
    "/halt",
    "sessions:write",
    approval_shapes.HaltOut,
    problems=(409,),
    check=require_operations,
)
async def release(request: Request) -> Response:
    """Resume after a halt."""
    here, by = api_context(request), _person(request)
    await halt.resume_all(here.db, here.halt_control, by=by, now=here.now())
    return await _halt_state(here)


def as_json(here: ApiContext, each: Halt) -> dict[str, Any]:
    """Return an active halt as JSON, with its release instructions."""
    return {
        "way": each.way,
        "reason": each.reason,
        "by": each.pulled_by,
        "at": serialize.format_moment(each.pulled_at),
        "words": each.description,
        "release": here.halt_control.release(each),
    }


async def _halt_state(here: ApiContext) -> Response:
    async with changes.snapshot(here.db) as seq:
        found = await here.halt_control.all(here.db)
    pulled = [as_json(here, each) for each in found]
    return answer({"halted": bool(pulled), "pulled": pulled, "seq": seq})


def _person(request: Request) -> str:
    """Return the caller; a session is always denied, whatever its token allows."""
    caller = caller_of(request)
    if caller.kind == "session":
        raise HTTPException(403, "Sessions cannot halt or resume Lamplighter.")
    return actor_name(caller)
