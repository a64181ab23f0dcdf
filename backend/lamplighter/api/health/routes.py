"""The health of the memory."""

from typing import Final

from lamplighter.api import common_shapes
from lamplighter.api.health import health, shapes
from lamplighter.api.op import op

OPS: Final = (
    op(
        "GET",
        "/memory-health",
        "memories:read",
        health.show,
        shapes.MemoryHealthOut,
        query=common_shapes.NoParameters,
        across=True,
    ),
    op(
        "POST",
        "/memory-health/measurements",
        "memories:write",
        health.measure,
        shapes.MemoryHealthOut,
        status=201,
        body=shapes.MeasureIn,
        across=True,
    ),
)
