"""Notices: what people are told outside of the app, and what became of it."""

from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import ask, shapes
from lamplighter.api.answer import answer, page
from lamplighter.api.door import door
from lamplighter.domain import plain_outside as plain
from lamplighter.domain.errors import NotFound
from lamplighter.domain.notice import NoticeState
from lamplighter.repository import changes, notices, reading
from lamplighter.usecases import notify


async def index(request: Request) -> Response:
    """GET /api/v1/notices."""
    here, wanted = door(request), ask.query(request, shapes.NoticeQuery)
    position = ask.position(wanted.cursor)
    state = None if wanted.state is None else NoticeState(wanted.state)
    async with reading(here.db):
        found = await notices.page(here.db, state, limit=wanted.limit, position=position)
        seq = await changes.last(here.db)
    return page(request, [plain.notice(each) for each in found.items], found.position, seq)


async def show(request: Request) -> Response:
    """GET /api/v1/notices/{id}."""
    number = ask.number(request)
    notice = await notices.get(door(request).db, number)
    if notice is None:
        raise NotFound(f"There is no notice {number}.")
    return answer(plain.notice(notice))


async def test(request: Request) -> Response:
    """POST /api/v1/notices/test."""
    here = door(request)
    await ask.body(request, shapes.Empty)
    return answer(plain.notice(await notify.test(here.db, now=here.now())), 202)
