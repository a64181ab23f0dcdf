"""Push checks: signals of jobs, keys, and bodies."""

from functools import partial
from typing import Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from lamplighter.api import common_shapes, params
from lamplighter.api.context import api_context
from lamplighter.api.op import operation
from lamplighter.api.responses import answer, page, problem
from lamplighter.api.services.push import shapes
from lamplighter.domain.errors import NotFound
from lamplighter.domain.services.checks.push import (
    MAX_BODY_BYTES,
    PushSignal,
    SignalKind,
    parse_signal,
)
from lamplighter.formats.serialize import Writer
from lamplighter.repository.services import pushes
from lamplighter.repository.store import changes
from lamplighter.usecases.services import push_checks
from lamplighter.usecases.services.push_checks import TooManySignals

RETRY_SECONDS: Final = "60"
_as_json: Final = Writer[PushSignal]()
UNKNOWN_SIGNAL: Final = "A signal is start, fail, or an exit status from 0 to 255."
_SIGNALED: Final = "Report `start`, `fail` or the exit status of a job."


_open = partial(
    operation, scope=None, gives=None, below="", media="text/plain", problems=(404, 429)
)


@_open("POST", "/push/{key}/{signal}", about=_SIGNALED)
@_open("GET", "/push/{key}/{signal}", about=_SIGNALED)
@_open("POST", "/push/{key}")
@_open("GET", "/push/{key}")
async def receive(request: Request) -> Response:
    """Report that a run of a job succeeded."""
    here, parts = api_context(request), request.path_params
    found = parse_signal(parts["signal"]) if "signal" in parts else (SignalKind.SUCCESS, None)
    if found is None:
        raise NotFound(UNKNOWN_SIGNAL)
    kind, status = found
    body = await _body(request)
    try:
        await push_checks.receive(
            here, here.services(), parts["key"], kind, exit_status=status, body=body
        )
    except TooManySignals as error:
        return problem(429, str(error), headers={"Retry-After": RETRY_SECONDS})
    return PlainTextResponse("OK", headers={"Cache-Control": "no-store"})


@operation(
    "POST",
    "/services/{name}/checks/{check}/push-key",
    "services:write",
    shapes.PushKeyOut,
    status=201,
)
async def create_key(request: Request, body: common_shapes.Empty) -> Response:
    """Create the key of a push check; an earlier key ends."""
    here, parts = api_context(request), request.path_params
    services = here.services()
    service, check = push_checks.find_push_check(services, parts["name"], parts["check"])
    key = await push_checks.create_key(here, services, service.name, check.name)
    url = f"{request.base_url}push/{key}"
    shown = {"service": service.name, "check": check.name, "key": key, "url": url}
    return answer(shown, 201, headers={"Cache-Control": "no-store"})


@operation("GET", "/services/{name}/checks/{check}/signals", "services:read", shapes.PushSignalPage)
async def list_signals(request: Request, query: common_shapes.PageQuery) -> Response:
    """List the signals of a push check, newest first."""
    here = api_context(request)
    parts, position = request.path_params, params.position(query.cursor)
    service, check = push_checks.find_push_check(here.services(), parts["name"], parts["check"])
    async with changes.snapshot(here.db) as seq:
        found = await pushes.page(
            here.db, service.name, check.name, limit=query.limit, position=position
        )
    items = [_as_json(each) for each in found.items]
    return page(request, items, found.position, seq)


async def _body(request: Request) -> str:
    """Return the beginning of a job's body; the rest is not read."""
    body = bytearray()
    async for part in request.stream():
        body += part[: MAX_BODY_BYTES - len(body)]
        if len(body) == MAX_BODY_BYTES:
            break
    return bytes(body).decode("utf-8", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
