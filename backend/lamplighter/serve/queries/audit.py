"""The beliefs on a topic, and their evidence."""

from typing import TYPE_CHECKING, Any, Final

from lamplighter.formats.audit import Audit, as_json
from lamplighter.usecases.memory.audit import page_on_topic

if TYPE_CHECKING:
    from lamplighter.serve.queries import QueryContext

PAGE: Final = 200


async def audit_topic(here: "QueryContext", *, topic: str, limit: int | None) -> dict[str, Any]:
    """Return the beliefs on a topic: the first `limit`, or all; raises Invalid."""
    known = here.services().last_good().names
    pages: list[Audit] = []
    while not pages or (limit is None and pages[-1].position is not None):
        position = pages[-1].position if pages else None
        page = await page_on_topic(
            here.db, topic, services=known, limit=limit or PAGE, position=position
        )
        pages.append(page)
    first = pages[0]
    items = [as_json(belief) for page in pages for belief in page.beliefs]
    return {
        "topic": first.topic,
        "service": first.service,
        "states": {"active": first.active, "inactive": first.inactive},
        "items": items,
        "more": max(0, first.active + first.inactive - len(items)),
    }
