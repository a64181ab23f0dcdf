"""The halt: whether everything stands still, and the button that makes it so."""

import logging
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import ask, shapes
from lamplighter.api.answer import answer
from lamplighter.api.callers import caller_of, known_as
from lamplighter.api.door import Door, door
from lamplighter.domain import plain
from lamplighter.domain.halt import Halt
from lamplighter.repository import changes, reading
from lamplighter.usecases import halt

logger = logging.getLogger(__name__)

KEPT_SECONDS: Final = 1.0
"""How long the answer waits for the database; the file halts everything meanwhile."""


async def show(request: Request) -> Response:
    """GET /api/v1/halt."""
    ask.query(request, shapes.Nothing)
    return await _standing(door(request))


async def pull(request: Request) -> Response:
    """PUT /api/v1/halt."""
    here, by, now = door(request), _person(request), door(request).now()
    given = await ask.body(request, shapes.HaltIn)
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
        "at": plain.at(each.pulled_at),
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
