"""The halt: whether everything stands still, and the button that makes it so."""

import logging
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import common_shapes, params
from lamplighter.api.access.callers import caller_of, known_as
from lamplighter.api.context import Door, door
from lamplighter.api.responses import answer
from lamplighter.api.sessions import approval_shapes
from lamplighter.domain.actions.halt import Halt
from lamplighter.formats import serialize
from lamplighter.repository import reading
from lamplighter.repository.feed import changes
from lamplighter.usecases.sessions import halt

logger = logging.getLogger(__name__)

KEPT_SECONDS: Final = 1.0
"""How long the answer waits for the database; the file halts everything meanwhile."""


async def show(request: Request) -> Response:
    """GET /api/v1/halt."""
    params.query(request, common_shapes.Nothing)
    return await _standing(door(request))


async def pull(request: Request) -> Response:
    """PUT /api/v1/halt."""
    here, by, now = door(request), _person(request), door(request).now()
    given = await params.body(request, approval_shapes.HaltIn)
    try:
        here.brake.write(given.reason, by=by, now=now)
    except OSError as error:
        logger.warning("%s could not be written: %s", here.brake.file, error)
    if here.brake.by_request() is None:  # without a file only the database can halt
        await halt.pull(here.db, here.brake, given.reason, by=by, now=now)
    else:
        work = halt.keep_patiently(here.db, here.brake, now=now)
        await request.app.state.jobs.start("the halt", work, wait=KEPT_SECONDS)
    return await _standing(here)


async def release(request: Request) -> Response:
    """DELETE /api/v1/halt."""
    here, by = door(request), _person(request)
    await halt.release(here.db, here.brake, by=by, now=here.now())
    return await _standing(here)


def as_json(here: Door, each: Halt) -> dict[str, Any]:
    """Return a halt that stands as JSON, with what releases it."""
    return {
        "way": each.way,
        "reason": each.reason,
        "by": each.pulled_by,
        "at": serialize.at(each.pulled_at),
        "words": each.words,
        "release": here.brake.release(each),
    }


async def _standing(here: Door) -> Response:
    async with reading(here.db):
        found = await here.brake.all(here.db)
        seq = await changes.last(here.db)
    pulled = [as_json(here, each) for each in found]
    return answer({"halted": bool(pulled), "pulled": pulled, "seq": seq})


def _person(request: Request) -> str:
    """Return who asks; a session never does, whatever its token may be allowed."""
    caller = caller_of(request)
    if caller.kind == "session":
        raise HTTPException(403, "A session neither halts anything nor lets it go on.")
    return known_as(caller)
