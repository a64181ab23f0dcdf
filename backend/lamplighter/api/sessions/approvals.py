"""Approvals: listed, read, and decided on by people."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import params
from lamplighter.api.access.callers import actor_name, caller_of
from lamplighter.api.context import ApiContext, api_context
from lamplighter.api.op import operation
from lamplighter.api.responses import page, versioned
from lamplighter.api.sessions import approval_shapes
from lamplighter.domain.actions.approval import (
    Approval,
    ApprovalAnswer,
    ApprovalChoice,
    ApprovalState,
)
from lamplighter.domain.memory.memory import MemoryId
from lamplighter.formats import serialize
from lamplighter.repository import reading
from lamplighter.repository.memory import memories
from lamplighter.repository.services import cooldowns
from lamplighter.repository.sessions import approvals as rows
from lamplighter.repository.sessions.approvals import ApprovalFilter
from lamplighter.repository.store import changes
from lamplighter.usecases.sessions import approvals


@operation("GET", "/approvals", "approvals:read", approval_shapes.ApprovalPage)
async def index(request: Request, query: approval_shapes.ApprovalQuery) -> Response:
    """List approvals: session actions that need a person's decision."""
    here = api_context(request)
    position = params.position(query.cursor)
    state = None if query.state == "all" else ApprovalState(query.state)
    chosen = ApprovalFilter(state=state, session=query.session)
    async with changes.snapshot(here.db) as seq:
        found = await rows.page(here.db, chosen, limit=query.limit, position=position)
    return page(request, [serialize.approval(each) for each in found.items], found.position, seq)


@operation("GET", "/approvals/{id:int}", "approvals:read", approval_shapes.ApprovalCaseOut)
async def show(request: Request) -> Response:
    """Read an approval."""
    here, number = api_context(request), params.number(request)
    async with reading(here.db):
        return versioned(await approval_case_out(here, await approvals.get(here.db, number)))


@operation(
    "PUT",
    "/approvals/{id:int}/decision",
    "approvals:write",
    approval_shapes.ApprovalCaseOut,
    problems=(409,),
    matches=True,
)
async def decide(request: Request, body: approval_shapes.DecisionIn) -> Response:
    """Approve or deny an action, or replace its command."""
    here, number = api_context(request), params.number(request)
    answer = ApprovalAnswer(
        choice=ApprovalChoice(body.decision),
        argv=None if body.argv is None else tuple(body.argv),
        note=body.note,
    )
    decided = await approvals.decide(
        here,
        number,
        answer,
        by=actor_name(caller_of(request)),
        version=params.version(request, number),
    )
    async with reading(here.db):
        return versioned(await approval_case_out(here, decided))


async def approval_case_out(here: ApiContext, each: Approval) -> dict[str, Any]:
    """Return an approval as JSON, with all that helps to decide it."""
    db, now = here.db, here.now()
    existing = await memories.by_ids(db, [MemoryId(number) for number in each.memories])
    instead = await rows.replacement_of(db, each.id)
    use = None if each.use_id is None else await cooldowns.get(db, each.use_id)
    usages = (await cooldowns.usage_of(db, [each.service], now=now))[each.service]
    [usage] = [one for one in usages if one.action is each.action]
    return {
        **serialize.approval(each),
        "told": [serialize.memory(one) for one in existing.values()],
        "cooldown": _slot(serialize.cooldown_status(usage)),
        "seconds_left": each.seconds_left(now=now),
        "replaced_by": None if instead is None else instead.id,
        "use": None if use is None else serialize.cooldown_use(use),
    }


def _slot(cooldown: dict[str, Any]) -> dict[str, Any]:
    names = ("action", "used", "limit", "window_seconds", "frees_at")
    return {name: cooldown[name] for name in names}
