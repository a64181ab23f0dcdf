"""The routes of latency and heartbeats."""

from typing import Final

from lamplighter.api.op import op
from lamplighter.api.services.trends import shapes, trends

OPS: Final = (
    op(
        "GET",
        "/services/{name}/latency",
        "services:read",
        trends.read_latency,
        "Read latency and failures of a service over a period.",
        shapes.LatencyOut,
        query=shapes.LatencyQuery,
        problems=(404,),
    ),
    op(
        "GET",
        "/heartbeats",
        "services:read",
        trends.list_heartbeats,
        "Read the newest check results and the uptime of each service.",
        shapes.HeartbeatsOut,
        query=shapes.HeartbeatQuery,
    ),
)
