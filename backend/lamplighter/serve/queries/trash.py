"""Lists of deleted memories."""

from typing import TYPE_CHECKING, Any

from lamplighter.formats import serialize
from lamplighter.repository import reading
from lamplighter.repository.memory import trash

if TYPE_CHECKING:
    from lamplighter.serve.queries import QueryContext


async def list_trash(here: "QueryContext", *, q: str, limit: int) -> dict[str, Any]:
    """Return deleted memories that contain a text, and their number."""
    async with reading(here.db):
        page = await trash.page(here.db, q=q, limit=limit)
        total = await trash.count(here.db, q=q)
    items = [
        {
            "id": each.id,
            "memory": None if each.memory is None else serialize.memory(each.memory),
            "deleted_at": serialize.format_moment(each.deleted_at),
            "deleted_by": each.deleted_by,
        }
        for each in page.items
    ]
    return {"items": items, "total": total}
