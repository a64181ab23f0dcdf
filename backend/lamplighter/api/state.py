"""How things stand: the supervisor, the next prompt, and whether this process works."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from lamplighter import __version__
from lamplighter.api import ask, shapes
from lamplighter.api.answer import answer, problem
from lamplighter.api.door import door
from lamplighter.domain import plain
from lamplighter.domain.context import Placement, tokens
from lamplighter.domain.service import GENERAL, Services, fold
from lamplighter.domain.session import Plan
from lamplighter.repository import changes, leases, reading
from lamplighter.repository.driver import Error
from lamplighter.usecases import recall
from lamplighter.usecases import sessions as lifecycle


async def supervisor(request: Request) -> Response:
    """GET /api/v1/supervisor."""
    here = door(request)
    ask.query(request, shapes.Nothing)
    async with reading(here.db):
        leader = await leases.get(here.db)
        seq = await changes.last(here.db)
    return answer({**plain.leader(leader, now=here.now()), "version": __version__, "seq": seq})


async def context(request: Request) -> Response:
    """GET /api/v1/context: what the next session would be told, from the same functions."""
    here, wanted = door(request), ask.query(request, shapes.ContextQuery)
    known = here.services()
    focus = _focus(wanted.services, known)
    budget = here.budget if wanted.budget is None else wanted.budget
    plan = Plan(tier=wanted.tier, services=focus, dry_run=wanted.dry_run)
    async with reading(here.db):
        block, environment = await lifecycle.surroundings(
            here.db, plan, known, budget=budget, now=here.now()
        )
        seq = await changes.last(here.db)
    text = recall.injected(environment, block) if wanted.sections == "all" else block.text
    return answer(
        {
            "text": text,
            "tokens": block.tokens,
            "budget": budget,
            "included": [_included(each) for each in block.placements if each.included],
            "excluded": [
                {"id": each.memory.id, "why": each.why}
                for each in block.placements
                if not each.included
            ],
            "seq": seq,
        }
    )


async def healthz(request: Request) -> Response:
    """GET /healthz: this process lives."""
    return answer({"status": "ok"})


async def readyz(request: Request) -> Response:
    """GET /readyz: this process can read its database."""
    try:
        await changes.last(door(request).db)
    except (Error, TimeoutError):
        return problem(503, "The database cannot be read now.", headers={"Retry-After": "5"})
    return answer({"status": "ready"})


def _focus(given: str | None, known: Services) -> tuple[str, ...] | None:
    """Return the services that were named; memories may speak of ones we no longer operate."""
    if given is None:
        return None
    names = [name.strip() for name in given.split(",") if name.strip()]
    found = [(known.find(name), name) for name in names if fold(name) != GENERAL]
    return tuple(service.name if service else name for service, name in found) or None


def _included(each: Placement) -> dict[str, Any]:
    return {
        "id": each.memory.id,
        "version": each.memory.version,
        "position": each.position,
        "line": each.line,
        "tokens": tokens(each.line),
    }
