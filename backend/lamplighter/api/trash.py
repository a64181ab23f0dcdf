"""The trash: deleted memories are listed, restored, and deleted permanently."""

from datetime import timedelta
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import ask, shapes
from lamplighter.api.answer import page, versioned
from lamplighter.api.door import door
from lamplighter.domain import plain
from lamplighter.repository import changes, reading, trash
from lamplighter.repository.trash import Discarded
from lamplighter.usecases import journal


async def index(request: Request) -> Response:
    """GET /api/v1/trash."""
    here, wanted = door(request), ask.query(request, shapes.TrashQuery)
    position, q = ask.position(wanted.cursor), wanted.q or ""
    async with reading(here.db):
        found = await trash.page(here.db, q=q, limit=wanted.limit, position=position)
        total = await trash.count(here.db, q=q)
        counts = await trash.belongings(here.db, [each.id for each in found.items])
        seq = await changes.last(here.db)
    items = [{**_shown(each, here.trash_kept), **counts[each.id]} for each in found.items]
    return page(request, items, found.position, seq, total=total)


async def restore(request: Request) -> Response:
    """POST /api/v1/trash/{id}/restore."""
    here = door(request)
    await ask.body(request, shapes.Empty)
    memory = await journal.restore(here.db, ask.number(request), now=here.now())
    return versioned(plain.memory(memory))


async def purge(request: Request) -> Response:
    """DELETE /api/v1/trash/{id}."""
    here = door(request)
    await journal.purge(here.db, ask.number(request), now=here.now())
    return Response(status_code=204)


def _shown(each: Discarded, kept: timedelta | None) -> dict[str, Any]:
    return {
        "id": each.id,
        "memory": None if each.memory is None else plain.memory(each.memory),
        "deleted_at": plain.at(each.deleted_at),
        "deleted_by": each.deleted_by,
        "act": each.act_id,
        "purge_at": None if kept is None else plain.at(each.deleted_at + kept),
    }
