"""Cooldowns: their used slots, their uses, and the reset of slots."""

from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import common_shapes, params
from lamplighter.api.access.project_wall import require_operations
from lamplighter.api.context import ApiContext, api_context
from lamplighter.api.op import operation
from lamplighter.api.responses import answer, page
from lamplighter.api.services import shapes
from lamplighter.domain.services.service import GENERAL, normalize_service_name
from lamplighter.formats import serialize
from lamplighter.repository.services import cooldowns
from lamplighter.repository.services.cooldowns import CooldownFilter
from lamplighter.repository.store import changes
from lamplighter.usecases.services import act


@operation("GET", "/cooldowns", "cooldowns:read", shapes.CooldownPage)
async def index(request: Request, query: common_shapes.PageQuery) -> Response:
    """List cooldowns and their usage."""
    here, now = api_context(request), api_context(request).now()
    declared = {
        (service.name, action.kind) for service in here.services() for action in service.actions
    }
    async with changes.snapshot(here.db) as seq:
        used = {(use.service, use.action) for use in await cooldowns.spent(here.db, now=now)}
        names = sorted({name for name, _ in declared | used}, key=normalize_service_name)
        found = await cooldowns.usage_of(here.db, names, now=now)
    items = [
        {**serialize.cooldown_status(each), "declared": (each.service, each.action) in declared}
        for name in names
        for each in found[name]
        if (each.service, each.action) in declared | used
    ]
    some, behind = params.part_of(items, query.cursor, query.limit)
    return page(request, some, behind, seq)


@operation("GET", "/cooldowns/uses", "cooldowns:read", shapes.UsePage)
async def uses(request: Request, query: shapes.UseQuery) -> Response:
    """List executed and refused actions, newest first."""
    here = api_context(request)
    position = params.position(query.cursor)
    async with changes.snapshot(here.db) as seq:
        service = query.service and await _declared_name(here, query.service)
        chosen = CooldownFilter(service=service, action=query.action)
        found = await cooldowns.page(here.db, chosen, limit=query.limit, position=position)
    return page(
        request, [serialize.cooldown_use(each) for each in found.items], found.position, seq
    )


@operation(
    "POST",
    "/cooldowns/{name}/resets",
    "cooldowns:write",
    shapes.ResetOut,
    status=201,
    check=require_operations,
)
async def reset(request: Request, body: shapes.ResetIn) -> Response:
    """Reset the cooldowns of a service."""
    here, now = api_context(request), api_context(request).now()
    service, cleared = await act.reset_cooldowns(
        here.db, request.path_params["name"], body.action, services=here.services(), now=now
    )
    return answer({"service": service, "cleared": cleared}, 201)


async def _declared_name(here: ApiContext, name: str) -> str:
    if normalize_service_name(name) == GENERAL:
        return GENERAL
    declared = here.services().find(name)
    if declared is not None:
        return declared.name
    return await cooldowns.spelling(here.db, name) or name
