"""The health of the memory: the last measurement, and a new one."""

from contextlib import suppress

from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import common_shapes
from lamplighter.api.context import ApiContext, api_context
from lamplighter.api.health import shapes
from lamplighter.api.op import operation
from lamplighter.api.responses import answer
from lamplighter.domain.errors import LamplighterError
from lamplighter.domain.health.figures import MeasurementTrigger
from lamplighter.formats.upkeep.memory_health import calibration_as_json, health_as_json
from lamplighter.repository.store import changes
from lamplighter.usecases.health import measure as health


@operation("GET", "/memory-health", "memories:read", shapes.MemoryHealthOut, across=True)
async def show(request: Request, query: common_shapes.NoParameters) -> Response:
    """Read the last measurement of the memory's health, and the trend."""
    return await _answer(api_context(request), 200)


@operation(
    "POST", "/memory-health/measurements", "memories:write", shapes.MemoryHealthOut, status=201
)
async def measure(request: Request, body: shapes.MeasureIn) -> Response:
    """Measure the memory's health now."""
    here = api_context(request)
    names: frozenset[str] = frozenset()
    with suppress(LamplighterError):  # a broken services.yaml has no names
        names = here.services().folded_names
    await health.measure(
        here, trigger=MeasurementTrigger.OPERATOR, names=names, compare=body.compare
    )
    return await _answer(here, 201)


async def _answer(here: ApiContext, status: int) -> Response:
    found = await health.read(here.db)
    seq = await changes.last_seq(here.db)
    groups = await health.calibration(here.db, now=here.now())
    shown = {
        **health_as_json(found.newest, found.trend),
        "calibration": calibration_as_json(groups),
        "seq": seq,
    }
    return answer(shown, status)
