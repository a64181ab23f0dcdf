"""Latency over a period, and the newest results of services."""

from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import params
from lamplighter.api.context import api_context
from lamplighter.api.op import operation
from lamplighter.api.responses import answer
from lamplighter.api.services.services import find_service
from lamplighter.api.services.trends import shapes
from lamplighter.repository import reading
from lamplighter.repository.store import changes
from lamplighter.usecases.services import check_trends


@operation(
    "GET",
    "/services/{name}/latency",
    "services:read",
    shapes.LatencyOut,
    query=shapes.LatencyQuery,
    problems=(404,),
)
async def read_latency(request: Request) -> Response:
    """Read latency and failures of a service over a period."""
    here, query = api_context(request), params.query(request, shapes.LatencyQuery)
    service = find_service(here, request)
    async with reading(here.db):
        found = await check_trends.read_latency(here.db, service, query.period, now=here.now())
        seq = await changes.last_seq(here.db)
    return answer({**found, "seq": seq})


@operation("GET", "/heartbeats", "services:read", shapes.HeartbeatsOut, query=shapes.HeartbeatQuery)
async def list_heartbeats(request: Request) -> Response:
    """Read the newest check results and the uptime of each service."""
    here, query = api_context(request), params.query(request, shapes.HeartbeatQuery)
    chosen = here.services().select(group=query.group, tag=query.tag)
    if query.service is not None:
        only = here.services().find(query.service)
        chosen = [each for each in chosen if each is only]
    async with reading(here.db):
        found = await check_trends.read_heartbeats(here.db, chosen, now=here.now())
        seq = await changes.last_seq(here.db)
    return answer({"services": found, "seq": seq})
