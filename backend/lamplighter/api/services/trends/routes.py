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
        shapes.LatencyOut,
        query=shapes.LatencyQuery,
        problems=(404,),
    ),
    op(
        "GET",
        "/heartbeats",
        "services:read",
        trends.list_heartbeats,
        shapes.HeartbeatsOut,
        query=shapes.HeartbeatQuery,
    ),
)
