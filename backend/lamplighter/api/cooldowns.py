"""Cooldowns: how much of each is used, what was done, and giving slots back."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import ask, shapes
from lamplighter.api.answer import answer, page
from lamplighter.api.door import Door, door
from lamplighter.domain import plain
from lamplighter.domain.service import GENERAL, fold
from lamplighter.repository import changes, cooldowns, reading
from lamplighter.repository.cooldowns import Filter
from lamplighter.usecases import act


async def index(request: Request) -> Response:
    """GET /api/v1/cooldowns."""
    here, now = door(request), door(request).now()
    wanted = ask.query(request, shapes.PageQuery)
    declared = {
        (service.name, action.kind) for service in here.services() for action in service.actions
    }
    async with reading(here.db):
        used = {
            (use.service, use.action)
            for use in await cooldowns.spent_since(here.db, now - act.LONGEST_WINDOW)
        }
        names = sorted({name for name, _ in declared | used}, key=fold)
        found = await act.standings(here.db, names, now=now)
        seq = await changes.last(here.db)
    items = [
        {**plain.standing(each), "declared": (each.service, each.action) in declared}
        for name in names
        for each in found[name]
        if (each.service, each.action) in declared | used
    ]
    some, behind = ask.part_of(items, wanted.cursor, wanted.limit)
    return page(request, some, behind, seq)


async def uses(request: Request) -> Response:
    """GET /api/v1/cooldowns/uses."""
    here, wanted = door(request), ask.query(request, shapes.UseQuery)
    position = ask.position(wanted.cursor)
    async with reading(here.db):
        service = wanted.service and await _spelled(here, wanted.service)
        chosen = Filter(service=service, action=wanted.action)
        found = await cooldowns.page(here.db, chosen, limit=wanted.limit, position=position)
        seq = await changes.last(here.db)
    return page(request, [plain.use(each) for each in found.items], found.position, seq)


async def reset(request: Request) -> Response:
    """POST /api/v1/cooldowns/{name}/resets."""
    here, now = door(request), door(request).now()
    given: Any = await ask.body(request, shapes.ResetIn)
    service, cleared = await act.reset(
        here.db, request.path_params["name"], given.action, services=here.services(), now=now
    )
    return answer({"service": service, "cleared": cleared}, 201)


async def _spelled(here: Door, name: str) -> str:
    if fold(name) == GENERAL:
        return GENERAL
    declared = here.services().find(name)
    if declared is not None:
        return declared.name
    return await cooldowns.spelling(here.db, name) or name
