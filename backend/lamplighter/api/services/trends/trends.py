"""Latency over a period, and the newest results of services."""

from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api.context import api_context
from lamplighter.api.op import operation
from lamplighter.api.responses import answer
from lamplighter.api.services.services import find_service
from lamplighter.api.services.trends import shapes
from lamplighter.repository.store import changes
from lamplighter.usecases.services import check_trends


@operation("GET", "/services/{name}/latency", "services:read", shapes.LatencyOut)
async def read_latency(request: Request, query: shapes.LatencyQuery) -> Response:
    """Read latency and failures of a service over a period."""
    here = api_context(request)
    service = find_service(here, request)
    async with changes.snapshot(here.db) as seq:
        found = await check_trends.read_latency(here.db, service, query.period, now=here.now())
    return answer({**found, "seq": seq})


@operation("GET", "/heartbeats", "services:read", shapes.HeartbeatsOut)
async def list_heartbeats(request: Request, query: shapes.HeartbeatQuery) -> Response:
    """Read the newest check results and the uptime of each service."""
    here = api_context(request)
    chosen = here.services().select(group=query.group, tag=query.tag)
    if query.service is not None:
        only = here.services().find(query.service)
        chosen = [each for each in chosen if each is only]
    async with changes.snapshot(here.db) as seq:
        found = await check_trends.read_heartbeats(here.db, chosen, now=here.now())
    return answer({"services": found, "seq": seq})
