"""The health of the memory: the last measurement, and a new one."""

from contextlib import suppress
from typing import Any

from lamplighter.api import common_shapes
from lamplighter.api.context import ApiContext
from lamplighter.api.health import shapes
from lamplighter.api.op import operation
from lamplighter.domain.errors import LamplighterError
from lamplighter.domain.health.figures import MeasurementTrigger
from lamplighter.formats.upkeep.memory_health import calibration_as_json, health_as_json
from lamplighter.repository.store import changes
from lamplighter.usecases.health import measure as health


@operation("GET", "/memory-health", "memories:read", shapes.MemoryHealthOut, across=True)
async def show(here: ApiContext, query: common_shapes.NoParameters) -> dict[str, Any]:
    """Read the last measurement of the memory's health, and the trend."""
    found = await health.read(here.db)
    seq = await changes.last_seq(here.db)
    groups = await health.calibration(here.db, now=here.now())
    shown = health_as_json(found.newest, found.trend)
    return {**shown, "calibration": calibration_as_json(groups), "seq": seq}


@operation(
    "POST", "/memory-health/measurements", "memories:write", shapes.MemoryHealthOut, status=201
)
async def measure(here: ApiContext, body: shapes.MeasureIn) -> dict[str, Any]:
    """Measure the memory's health now."""
    names: frozenset[str] = frozenset()
    with suppress(LamplighterError):  # a broken services.yaml has no names
        names = here.services().folded_names
    await health.measure(
        here, trigger=MeasurementTrigger.OPERATOR, names=names, compare=body.compare
    )
    return await show(here, common_shapes.NoParameters())
