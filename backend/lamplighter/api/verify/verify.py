"""Verification: on request, its outcomes, and the checks attached to memories."""

from datetime import timedelta

from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import params
from lamplighter.api.access.project_wall import require_memory
from lamplighter.api.context import ApiContext, api_context
from lamplighter.api.op import operation
from lamplighter.api.responses import answer, page
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
async def show(request: Request) -> Response:
    """Read when and by what a memory was verified."""
    here, number = api_context(request), params.number(request)
    async with reading(here.db):
        memory = await lookup.get(here.db, number)
        outcome = await verifications.get(here.db, number)
        checks = await attached.of_memory(here.db, number)
        opened = await reviews.open_claims(here.db, memory.id)
    return answer(
        {
            "verified_at": serialize.format_moment(memory.verified_at),
            "outcome": None if outcome is None else outcome_as_json(outcome),
            "checks": [serialize.memory_check(each) for each in checks],
            "reviews": opened,
        }
    )


@operation(
    "POST",
    "/memories/{id:int}/verify",
    "memories:write",
    shapes.MemoryVerificationOut,
    problems=(409,),
)
async def verify_one(request: Request) -> Response:
    """Verify a memory now, with its attached checks."""
    here, number = api_context(request), params.number(request)
    access = _access(here)
    await batch.verify_some(here, access.sources, access.run_command, [number])
    return await show(request)


@operation(
    "POST", "/verification", "memories:write", shapes.VerificationRunOut, problems=(404, 409)
)
async def run(request: Request, body: shapes.VerifyIn) -> Response:
    """Verify memories now."""
    here, access = api_context(request), _access(api_context(request))
    if body.ids:
        found = await batch.verify_some(
            here, access.sources, access.run_command, body.ids, dry_run=body.dry_run
        )
    else:
        found = await batch.verify_next(here, access.sources, dry_run=body.dry_run)
    return answer({"results": [result_as_json(each) for each in found]})


@operation("GET", "/verification", "memories:read", shapes.VerificationOverviewOut, across=True)
async def index(request: Request, query: shapes.OutcomeQuery) -> Response:
    """Count verified memories and list outcomes."""
    here = api_context(request)
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
async def attach(request: Request, body: shapes.MemoryCheckIn) -> Response:
    """Attach a check to a memory."""
    here, number = api_context(request), params.number(request)
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
    return answer(serialize.memory_check(memory_check), 201)


@operation("DELETE", "/memories/{id:int}/checks/{entry:int}", "memories:write", None)
async def detach(request: Request) -> Response:
    """Detach a check from a memory."""
    here, number = api_context(request), params.number(request)
    await schedule.detach(here, number, params.number(request, "entry"))
    return Response(status_code=204)


def _access(here: ApiContext) -> VerificationAccess:
    if here.verification is None:
        raise Unavailable("This process cannot verify memories.")
    return here.verification
