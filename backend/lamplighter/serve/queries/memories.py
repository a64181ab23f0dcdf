"""Lists of memories."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from lamplighter import clock
from lamplighter.domain.memory.memory import GENERAL, Category, MemoryKind
from lamplighter.domain.services.service import normalize_service_name
from lamplighter.domain.text import normalize_project
from lamplighter.formats import serialize
from lamplighter.repository import reading
from lamplighter.repository.memory import memories
from lamplighter.repository.memory.memories import MemoryFilter, Order, Sort, View, service_name

if TYPE_CHECKING:
    from lamplighter.serve.queries import QueryContext

FADING_WITHIN: Final = timedelta(days=30)


async def list_memories(
    here: "QueryContext",
    *,
    service: str | None,
    state: str,
    as_of: str | None,
    sort: str,
    order: str | None,
    limit: int,
    **names: str | None,
) -> dict[str, Any]:
    """Return the first memories that match filters, and the number of all matches."""
    at = None if as_of is None else _earlier(as_of)
    key = Sort(sort)
    falling = key.falling if order is None else order == "desc"
    category, kind, view, project = (
        names[each] for each in ("category", "kind", "view", "project")
    )
    async with reading(here.db):
        chosen = MemoryFilter(
            q=names["q"],
            service=None if service is None else await _service_name(here, service),
            category=None if category is None else Category(category),
            kind=None if kind is None else MemoryKind(kind),
            project=None if project is None else normalize_project(project),
            scope=names["scope"],
            active={"active": True, "inactive": False}.get(state),
            in_review=state == "review",
            view=None if view is None else View(view),
            by=clock.now() + FADING_WITHIN,
        )
        by = Order(key, backward=falling != key.falling)
        found = await memories.page(here.db, chosen, sort=by, limit=limit, at=at)
        total = await memories.count(here.db, chosen, at=at)
    return {"items": [serialize.memory(each) for each in found.items], "total": total}


async def read_memory(here: "QueryContext", *, memory_id: int) -> dict[str, Any]:
    """Return a memory in full, and its page of the notebook; raises NotFound."""
    from lamplighter.repository.notebook import lines  # not needed by a list

    async with reading(here.db):
        memory = await memories.get(here.db, memory_id)
        if memory is None:
            from lamplighter.usecases.memory import lookup  # its error names the reason

            memory = await lookup.get(here.db, memory_id)
        found = serialize.memory(memory)
        page = (await lines.paths_of(here.db, [memory_id])).get(memory_id)
    return {**found, "page": page}


def _earlier(text: str) -> datetime | None:
    from lamplighter.domain.search import period

    return period.parse_elapsed_moment(text, "as_of", now=clock.now())


async def _service_name(here: "QueryContext", service: str) -> str:
    known = here.services().last_good().names
    name = GENERAL if normalize_service_name(service) == GENERAL else service
    return await service_name(here.db, name, known) or GENERAL
