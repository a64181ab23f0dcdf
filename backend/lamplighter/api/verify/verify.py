"""Verification: on request, its outcomes, and the checks attached to memories."""

from datetime import timedelta
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import params
from lamplighter.api.access.project_wall import require_memory
from lamplighter.api.context import ApiContext
from lamplighter.api.op import operation
from lamplighter.api.responses import page
from lamplighter.api.verify import shapes
from lamplighter.domain.errors import Unavailable
from lamplighter.domain.verify.verdict import VerdictState
from lamplighter.formats import serialize
from lamplighter.repository import reading
from lamplighter.repository.memory import reviews
from lamplighter.repository.store import changes
from lamplighter.repository.verify import attached, verifications
from lamplighter.usecases.memory import lookup
from lamplighter.usecases.verify import batch, schedule
from lamplighter.usecases.verify.batch import VerificationAccess
from lamplighter.usecases.verify.verify import outcome_as_json, result_as_json


@operation(
    "GET",
    "/memories/{id:int}/verification",
    "memories:read",
    shapes.MemoryVerificationOut,
    check=require_memory,
)
async def show(here: ApiContext, number: int) -> dict[str, Any]:
    """Read when and by what a memory was verified."""
    async with reading(here.db):
        memory = await lookup.get(here.db, number)
        outcome = await verifications.get(here.db, number)
        checks = await attached.of_memory(here.db, number)
        opened = await reviews.open_claims(here.db, memory.id)
    return {
        "verified_at": serialize.format_moment(memory.verified_at),
        "outcome": None if outcome is None else outcome_as_json(outcome),
        "checks": [serialize.memory_check(each) for each in checks],
        "reviews": opened,
    }


@operation(
    "POST",
    "/memories/{id:int}/verify",
    "memories:write",
    shapes.MemoryVerificationOut,
    problems=(409,),
)
async def verify_one(here: ApiContext, number: int) -> dict[str, Any]:
    """Verify a memory now, with its attached checks."""
    access = _access(here)
    await batch.verify_some(here, access.sources, access.run_command, [number])
    return await show(here, number)


@operation(
    "POST", "/verification", "memories:write", shapes.VerificationRunOut, problems=(404, 409)
)
async def run(here: ApiContext, body: shapes.VerifyIn) -> dict[str, Any]:
    """Verify memories now."""
    access = _access(here)
    if body.ids:
        found = await batch.verify_some(
            here, access.sources, access.run_command, body.ids, dry_run=body.dry_run
        )
    else:
        found = await batch.verify_next(here, access.sources, dry_run=body.dry_run)
    return {"results": [result_as_json(each) for each in found]}


@operation("GET", "/verification", "memories:read", shapes.VerificationOverviewOut, across=True)
async def index(request: Request, here: ApiContext, query: shapes.OutcomeQuery) -> Response:
    """Count verified memories and list outcomes."""
    state = None if query.state is None else VerdictState(query.state)
    position = params.position(query.cursor)
    async with changes.snapshot(here.db) as seq:
        counts = await verifications.count_by_state(here.db)
        found = await verifications.page(here.db, state, limit=query.limit, position=position)
    items = [outcome_as_json(each) for each in found.items]
    return page(request, items, found.position, seq, counts=counts)


@operation(
    "POST",
    "/memories/{id:int}/checks",
    "memories:write",
    shapes.MemoryCheckOut,
    status=201,
    problems=(409,),
)
async def attach(here: ApiContext, body: shapes.MemoryCheckIn, number: int) -> dict[str, Any]:
    """Attach a check to a memory."""
    memory_check = await schedule.attach(
        here,
        number,
        here.services(),
        _access(here).refusal,
        service=body.service,
        check=body.check,
        command=body.command,
        cadence=timedelta(seconds=body.cadence),
    )
    return serialize.memory_check(memory_check)


@operation("DELETE", "/memories/{id:int}/checks/{entry:int}", "memories:write", None)
async def detach(request: Request, here: ApiContext, number: int) -> None:
    """Detach a check from a memory."""
    await schedule.detach(here, number, params.number(request, "entry"))


def _access(here: ApiContext) -> VerificationAccess:
    if here.verification is None:
        raise Unavailable("This process cannot verify memories.")
    return here.verification
