"""Approvals: listed, read, and decided on by people."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import ask, shapes
from lamplighter.api.answer import page, versioned
from lamplighter.api.callers import caller_of, known_as
from lamplighter.api.door import Door, door
from lamplighter.domain import plain
from lamplighter.domain.approval import Answer, Approval, ApprovalState, Choice
from lamplighter.domain.memory import MemoryId
from lamplighter.repository import approvals as rows
from lamplighter.repository import changes, cooldowns, memories, reading
from lamplighter.repository.approvals import Filter
from lamplighter.usecases import act, approvals


async def index(request: Request) -> Response:
    """GET /api/v1/approvals."""
    here, wanted = door(request), ask.query(request, shapes.ApprovalQuery)
    position = ask.position(wanted.cursor)
    state = None if wanted.state == "all" else ApprovalState(wanted.state)
    chosen = Filter(state=state, session=wanted.session)
    async with reading(here.db):
        found = await rows.page(here.db, chosen, limit=wanted.limit, position=position)
        seq = await changes.last(here.db)
    return page(request, [plain.approval(each) for each in found.items], found.position, seq)


async def show(request: Request) -> Response:
    """GET /api/v1/approvals/{id}."""
    here, number = door(request), ask.number(request)
    async with reading(here.db):
        return versioned(await case(here, await approvals.get(here.db, number)))


async def decide(request: Request) -> Response:
    """PUT /api/v1/approvals/{id}/decision."""
    here, number = door(request), ask.number(request)
    given = await ask.body(request, shapes.DecisionIn)
    answer = Answer(
        choice=Choice(given.decision),
        argv=None if given.argv is None else tuple(given.argv),
        note=given.note,
    )
    stands = await approvals.decide(
        here.db,
        number,
        answer,
        by=known_as(caller_of(request)),
        version=ask.version(request, number),
        redact=here.redact,
        now=here.now(),
    )
    async with reading(here.db):
        return versioned(await case(here, stands))


async def case(here: Door, each: Approval) -> dict[str, Any]:
    """Return an approval as JSON, with all that helps to decide it."""
    db, now = here.db, here.now()
    held = await memories.several(db, [MemoryId(number) for number in each.memories])
    instead = await rows.instead_of(db, each.id)
    use = None if each.use_id is None else await cooldowns.get(db, each.use_id)
    standings = (await act.standings(db, [each.service], now=now))[each.service]
    [standing] = [one for one in standings if one.action is each.action]
    return {
        **plain.approval(each),
        "told": [plain.memory(one) for one in held.values()],
        "cooldown": _slot(plain.standing(standing)),
        "seconds_left": each.seconds_left(now=now),
        "replaced_by": None if instead is None else instead.id,
        "use": None if use is None else plain.use(use),
    }


def _slot(standing: dict[str, Any]) -> dict[str, Any]:
    names = ("action", "used", "limit", "window_seconds", "frees_at")
    return {name: standing[name] for name in names}
