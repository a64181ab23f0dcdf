"""The devices of people: browsers that receive notifications."""

from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import common_shapes, params
from lamplighter.api.access import shapes
from lamplighter.api.access.callers import caller_of
from lamplighter.api.context import api_context
from lamplighter.api.op import operation
from lamplighter.api.responses import answer
from lamplighter.domain.access.access import ADMIN
from lamplighter.domain.access.browser import describe_browser
from lamplighter.domain.access.device import Subscription
from lamplighter.formats import serialize
from lamplighter.repository.access import devices as rows
from lamplighter.usecases.access import devices


@operation("GET", "/devices", ADMIN, shapes.DeviceList, problems=(503,))
async def index(request: Request, query: common_shapes.NoParameters) -> Response:
    """List the devices that receive notifications."""
    here = api_context(request)
    found = await rows.list_all(here.db)
    return answer({"key": here.device_key(), "devices": [serialize.device(each) for each in found]})


@operation("POST", "/devices", ADMIN, shapes.DeviceOut, status=201, problems=(409, 503))
async def subscribe(request: Request, body: shapes.DeviceIn) -> Response:
    """Subscribe this browser to notifications."""
    here, caller = api_context(request), caller_of(request)
    device = await devices.subscribe(
        here.db,
        subscription=Subscription(body.endpoint, body.keys.p256dh, body.keys.auth, body.replaces),
        key=here.device_key(),
        name=describe_browser(request.headers.get("user-agent", "")),
        login_id=caller.id,
        now=here.now(),
    )
    return answer(serialize.device(device), 201)


@operation("DELETE", "/devices/{id:int}", ADMIN, None)
async def remove(request: Request) -> Response:
    """Remove a device: it receives no more notifications."""
    here = api_context(request)
    await devices.remove(here.db, params.number(request), now=here.now())
    return Response(status_code=204)
