"""The trash: deleted memories are listed, restored, and deleted permanently."""

from datetime import timedelta
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import common_shapes, params
from lamplighter.api.context import api_context
from lamplighter.api.memory import journal_shapes, shapes
from lamplighter.api.op import operation
from lamplighter.api.responses import page, versioned
from lamplighter.formats import serialize
from lamplighter.repository.memory import trash
from lamplighter.repository.memory.trash import TrashedMemory
from lamplighter.repository.store import changes
from lamplighter.usecases.memory import journal


@operation("GET", "/trash", "memories:read", journal_shapes.TrashPage, across=True)
async def index(request: Request, query: journal_shapes.TrashQuery) -> Response:
    """List deleted memories."""
    here = api_context(request)
    position, q = params.position(query.cursor), query.q or ""
    async with changes.snapshot(here.db) as seq:
        result = await trash.page(here.db, q=q, limit=query.limit, position=position)
        total = await trash.count(here.db, q=q)
        counts = await trash.count_related(here.db, [each.id for each in result.items])
    items = [
        {**_discarded_out(each, here.active.trash_retention), **counts[each.id]}
        for each in result.items
    ]
    return page(request, items, result.position, seq, total=total)


@operation("POST", "/trash/{id:int}/restore", "memories:write", shapes.MemoryOut, problems=(409,))
async def restore(request: Request, body: common_shapes.Empty) -> Response:
    """Restore a deleted memory."""
    here = api_context(request)
    memory = await journal.restore(here.db, params.number(request), now=here.now())
    return versioned(serialize.memory(memory))


@operation("DELETE", "/trash/{id:int}", "memories:write", None)
async def purge(request: Request) -> Response:
    """Delete a memory permanently."""
    here = api_context(request)
    await journal.purge(here.db, params.number(request), now=here.now())
    return Response(status_code=204)


def _discarded_out(each: TrashedMemory, retention: timedelta | None) -> dict[str, Any]:
    return {
        "id": each.id,
        "memory": None if each.memory is None else serialize.memory(each.memory),
        "deleted_at": serialize.format_moment(each.deleted_at),
        "deleted_by": each.deleted_by,
        "act": each.act_id,
        "purge_at": None
        if retention is None
        else serialize.format_moment(each.deleted_at + retention),
    }
