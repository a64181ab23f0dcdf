"""Reviews that wait for a person."""

from typing import TYPE_CHECKING, Any, Final

from lamplighter.domain.memory.review import ReviewState
from lamplighter.repository import reading
from lamplighter.repository.memory import reviews
from lamplighter.repository.memory.reviews import ReviewFilter

if TYPE_CHECKING:
    from lamplighter.serve.queries import QueryContext

LIST_LIMIT: Final = 200


async def list_open_reviews(here: "QueryContext") -> dict[str, Any]:
    """Return the reviews that wait the longest, and how many wait in all."""
    selection = ReviewFilter(state=ReviewState.OPEN)
    async with reading(here.db):
        found = await reviews.page(here.db, selection, limit=LIST_LIMIT)
        items = await reviews.as_json(here.db, found.items)
        total = await reviews.count(here.db, selection)
        pages, _ = await reviews.waiting_pages(here.db)
        return {"items": items, "total": total, "pages": pages}
