"""How things stand: the supervisor, the next prompt, and whether this process works."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from lamplighter import __version__
from lamplighter.api import common_shapes, params
from lamplighter.api.access import project_wall
from lamplighter.api.clients import agents, hooks
from lamplighter.api.context import door
from lamplighter.api.memory import context_shapes
from lamplighter.api.memory import shapes as memory_shapes
from lamplighter.api.responses import answer, problem
from lamplighter.domain.search import period
from lamplighter.domain.sessions.session import Plan
from lamplighter.formats import serialize
from lamplighter.repository import reading
from lamplighter.repository.feed import changes
from lamplighter.repository.sessions import approvals
from lamplighter.repository.store.driver import Error
from lamplighter.repository.upkeep import leases
from lamplighter.usecases.memory.recall import WhatIf
from lamplighter.usecases.sessions import preview as previews
from lamplighter.usecases.sessions.inclusion import Asked, explain
from lamplighter.usecases.sessions.preview import Question


async def supervisor(request: Request) -> Response:
    """GET /api/v1/supervisor."""
    here = door(request)
    params.query(request, common_shapes.Nothing)
    async with reading(here.db):
        leader = await leases.get(here.db)
        waiting = len(await approvals.waiting_since(here.db))
        seq = await changes.last(here.db)
    state = {**serialize.leader(leader, now=here.now()), "waiting": waiting}
    found = {"version": __version__, "database": here.db.problem, "seq": seq}
    return answer({**state, **found})


async def context(request: Request) -> Response:
    """GET /api/v1/context: what the next session would be told, from the same functions."""
    here, wanted = door(request), params.query(request, context_shapes.ContextQuery)
    project = await project_wall.project_bound(request)
    if project is not None:
        wanted = msgspec.structs.replace(wanted, project=project)
    if wanted.profile == "agent":
        return await agents.context(request, wanted)
    if wanted.profile == "project":
        return await hooks.context(request, wanted)
    known, now = here.services(), here.now()
    what_if = WhatIf(
        without=previews.numbers(wanted.without), at=period.past(wanted.as_of, "as_of", now=now)
    )
    question = Question(
        plan=Plan(
            tier=wanted.tier,
            services=previews.focus(wanted.services, known),
            dry_run=wanted.dry_run,
            tools=here.tools.get(wanted.tier, ()),
        ),
        budget=here.budget if wanted.budget is None else wanted.budget,
        what_if=what_if,
        against=previews.compared(wanted.against),
    )
    async with reading(here.db):
        found = await previews.preview(here.db, question, known, usual_budget=here.budget, now=now)
        seq = await changes.last(here.db)
    return answer({**found.as_json(whole=wanted.sections == "all"), "seq": seq})


async def inclusion(request: Request) -> Response:
    """GET /api/v1/memories/{id}/prompt: whether the next prompt includes a memory, and why."""
    here, wanted = door(request), params.query(request, memory_shapes.InclusionQuery)
    known, now = here.services(), here.now()
    at = period.past(wanted.as_of, "as_of", now=now)
    asked = Asked(
        services=previews.focus(wanted.services, known),
        budget=here.budget if wanted.budget is None else wanted.budget,
        what_if=WhatIf(without=previews.numbers(wanted.without), at=at),
    )
    async with reading(here.db):
        found = await explain(here.db, params.number(request), asked, known, now=now)
        seq = await changes.last(here.db)
    as_of = {} if at is None else {"as_of": serialize.at(at)}
    return answer({**found.as_json(), **as_of, "seq": seq})


async def healthz(request: Request) -> Response:
    """GET /healthz: this process lives."""
    return answer({"status": "ok"})


async def readyz(request: Request) -> Response:
    """GET /readyz: this process can use its database; it says so of a halt, but not why."""
    here = door(request)
    if here.db.problem:
        return problem(503, here.db.problem, headers={"Retry-After": "30"})
    try:
        await changes.last(here.db)
        halted = await here.brake.pulled(here.db)
    except (Error, TimeoutError):
        return problem(503, "The database cannot be read now.", headers={"Retry-After": "5"})
    if halted:
        return answer({"status": "ready", "detail": "Everything is halted."})
    return answer({"status": "ready"})
