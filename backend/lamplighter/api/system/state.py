"""Status: the supervisor, the next prompt, and whether this process works."""

import asyncio
from typing import Any, Final

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from lamplighter import __version__
from lamplighter.api import common_shapes, params
from lamplighter.api.access import project_wall
from lamplighter.api.access.project_wall import require_memory
from lamplighter.api.clients import agents, hooks
from lamplighter.api.clients import shapes as clients_shapes
from lamplighter.api.context import ApiContext
from lamplighter.api.memory import context_shapes
from lamplighter.api.memory import shapes as memory_shapes
from lamplighter.api.op import operation
from lamplighter.api.responses import answer, problem
from lamplighter.api.system import shapes
from lamplighter.domain.memory.memory import OPERATIONS
from lamplighter.domain.search import period
from lamplighter.domain.sessions.session import SessionPlan
from lamplighter.formats import serialize
from lamplighter.repository.sessions import approvals
from lamplighter.repository.store import changes
from lamplighter.repository.store.driver import Error
from lamplighter.repository.upkeep import leases
from lamplighter.usecases.sessions import preview as previews
from lamplighter.usecases.sessions.inclusion import InclusionRequest, explain
from lamplighter.usecases.sessions.preview import PreviewRequest
from lamplighter.usecases.sessions.prompts import Hypothesis, parse_focus

READY_SECONDS: Final = 5.0
"""Probes give up after a few seconds, before a database that hangs would."""
OPERATIONAL_PROMPT: Final = f"This prompt has the memories of the project {OPERATIONS}."


@operation("GET", "/supervisor", "sessions:read", shapes.SupervisorOut)
async def supervisor(here: ApiContext, query: common_shapes.NoParameters) -> dict[str, Any]:
    """Read the supervisor status."""
    async with changes.snapshot(here.db) as seq:
        leader = await leases.get(here.db)
        waiting = len(await approvals.waiting_sessions(here.db))
    return {
        **serialize.leader(leader, now=here.now()),
        "waiting": waiting,
        "version": __version__,
        "database": here.db.problem,
        "seq": seq,
    }


@operation(
    "GET",
    "/context",
    "context:read",
    context_shapes.ContextOut,
    or_gives=(clients_shapes.AgentContextOut, clients_shapes.ProjectContext),
    problems=(404,),
)
async def context(
    request: Request, here: ApiContext, query: context_shapes.ContextQuery
) -> Response:
    """Preview the prompt of the next session.

    The functions that build a prompt build it.
    """
    project = await project_wall.project_bound(request)
    if project is not None:
        query = msgspec.structs.replace(query, project=project)
    if query.profile == "agent":
        return await agents.context(request, query)
    if query.profile == "project":
        return await hooks.context(request, query)
    if project not in (None, OPERATIONS):
        raise HTTPException(403, f"{OPERATIONAL_PROMPT} The token is limited to {project}.")
    services, now = here.services(), here.now()
    what_if = Hypothesis(
        without=previews.parse_ids(query.exclude),
        at=period.parse_elapsed_moment(query.as_of, "as_of", now=now),
    )
    question = PreviewRequest(
        plan=SessionPlan(
            tier=query.tier,
            services=parse_focus(query.services, services),
            dry_run=query.dry_run,
            tools=here.tools.get(query.tier, ()),
        ),
        budget=here.active.budget if query.budget is None else query.budget,
        what_if=what_if,
        against=previews.parse_comparison(query.compare_to),
    )
    async with changes.snapshot(here.db) as seq:
        found = await previews.preview_prompt(
            here.db, question, services, usual_budget=here.active.budget, now=now
        )
    return answer({**found.as_json(whole=query.sections == "all"), "seq": seq})


@operation(
    "GET",
    "/memories/{id:int}/prompt",
    "context:read",
    memory_shapes.InclusionOut,
    check=require_memory,
)
async def inclusion(
    request: Request, here: ApiContext, query: memory_shapes.InclusionQuery
) -> dict[str, Any]:
    """Read whether the next prompt includes a memory, why, and what would include it."""
    services, now = here.services(), here.now()
    at = period.parse_elapsed_moment(query.as_of, "as_of", now=now)
    question = InclusionRequest(
        services=parse_focus(query.services, services),
        budget=here.active.budget if query.budget is None else query.budget,
        what_if=Hypothesis(without=previews.parse_ids(query.exclude), at=at),
    )
    async with changes.snapshot(here.db) as seq:
        found = await explain(here.db, params.number(request), question, here.services, now=now)
    as_of = {} if at is None else {"as_of": serialize.format_moment(at)}
    return {**found.as_json(), **as_of, "seq": seq}


@operation("GET", "/healthz", None, shapes.ReadinessOut, below="")
async def healthz() -> dict[str, Any]:
    """Check that this process responds."""
    return {"status": "ok"}


@operation("GET", "/readyz", None, shapes.ReadinessOut, problems=(503,), below="")
async def readyz(here: ApiContext) -> Response:
    """Check that this process is ready to serve requests."""
    if here.db.problem:
        return problem(503, here.db.problem, headers={"Retry-After": "30"})
    try:
        async with asyncio.timeout(READY_SECONDS):
            await changes.last_seq(here.db)
            halted = await here.halt_control.pulled(here.db)
    except (Error, TimeoutError):
        return problem(503, "The database is not available.", headers={"Retry-After": "5"})
    if halted:
        return answer({"status": "ready", "detail": "Lamplighter is halted."})
    return answer({"status": "ready"})
