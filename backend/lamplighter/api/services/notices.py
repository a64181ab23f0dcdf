"""Notifications and their delivery status."""

from typing import Literal

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import params
from lamplighter.api.common_shapes import Empty, PageQuery, page_of, public_shape
from lamplighter.api.context import api_context
from lamplighter.api.op import operation
from lamplighter.api.responses import answer, page
from lamplighter.domain.errors import NotFound
from lamplighter.domain.services.notice import Notice
from lamplighter.domain.services.notice import NoticeState as State
from lamplighter.formats import serialize as plain
from lamplighter.repository.services import notices
from lamplighter.repository.store import changes
from lamplighter.usecases.services import notify

NoticeState = Literal["waiting", "sending", "sent", "failed", "suppressed"]


@public_shape(Notice, ("kind", "state"))
class NoticeOut(Struct):
    """A notification; `problem` is the reason of the last failed delivery."""


NoticePage = page_of(NoticeOut, "A page of notifications, newest first.")


class NoticeQuery(PageQuery):
    """Filters for notifications."""

    state: NoticeState | None = None


@operation("GET", "/notices", "events:read", NoticePage)
async def index(request: Request, query: NoticeQuery) -> Response:
    """List notifications, newest first."""
    here = api_context(request)
    position = params.position(query.cursor)
    state = None if query.state is None else State(query.state)
    async with changes.snapshot(here.db) as seq:
        found = await notices.page(here.db, state, limit=query.limit, position=position)
    return page(request, [plain.notice(each) for each in found.items], found.position, seq)


@operation("GET", "/notices/{id:int}", "events:read", NoticeOut)
async def show(request: Request) -> Response:
    """Read a notification and its delivery status."""
    number = params.number(request)
    notice = await notices.get(api_context(request).db, number)
    if notice is None:
        raise NotFound(f"Notification {number} not found.")
    return answer(plain.notice(notice))


@operation("POST", "/notices/test", "settings:write", NoticeOut, status=202)
async def test(request: Request, body: Empty) -> Response:
    """Queue a test notification."""
    here = api_context(request)
    return answer(plain.notice(await notify.enqueue_test(here.db, now=here.now())), 202)
