"""How things stand: services, supervisor, the next prompt, and whether this process works."""

from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from lamplighter import __version__
from lamplighter.api import ask, shapes
from lamplighter.api.answer import answer, problem
from lamplighter.api.door import Door, door
from lamplighter.domain import plain
from lamplighter.domain.context import Placement, build_env_context, tokens
from lamplighter.domain.marks import Look
from lamplighter.domain.service import GENERAL, Service, Services, fold
from lamplighter.domain.session import Plan
from lamplighter.repository import changes, checks, facets, leases, reading
from lamplighter.repository.driver import Error
from lamplighter.repository.memories import Filter
from lamplighter.usecases import recall


async def services(request: Request) -> Response:
    """GET /api/v1/services."""
    here = door(request)
    ask.query(request, shapes.Nothing)
    async with reading(here.db):
        looks = await checks.latest(here.db)
        counts = dict(await facets.services(here.db, Filter(active=True)))
        items = [
            await _service(
                here, each, [look for look in looks if look.service == each.name], counts
            )
            for each in here.services()
        ]
        seq = await changes.last(here.db)
    return answer(
        {
            "items": items,
            "next": None,
            "path": here.services_path,
            "problems": here.problems(),
            "seq": seq,
        }
    )


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
        block = await recall.build_memory_context(here.db, budget=budget, focus=focus)
        seq = await changes.last(here.db)
    text = block.text
    if wanted.sections == "all":
        in_scope = [each for each in known if focus is None or each.name in focus]
        text = recall.injected(build_env_context(plan, in_scope, now=here.now()), block)
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


async def _service(
    here: Door, service: Service, looks: Sequence[Look], counts: dict[str | None, int]
) -> dict[str, Any]:
    ok = all(look.ok for look in looks)
    failing = "; ".join(f"{look.name}: {look.detail}" for look in looks if not look.ok)
    return {
        "name": service.name,
        "description": service.description,
        "depends_on": list(service.depends_on),
        "checks": [
            {"name": check.name, "kind": check.kind, "target": check.target}
            for check in service.checks
        ],
        "state": "unknown" if not looks else "ok" if ok else "failing",
        "since": plain.at(await checks.since(here.db, service.name, ok=ok)) if looks else None,
        "checked_at": plain.at(max((look.at for look in looks if look.at), default=None)),
        "detail": failing or "; ".join(look.detail for look in looks if look.detail),
        "memories": counts.get(service.name, 0),
    }


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
