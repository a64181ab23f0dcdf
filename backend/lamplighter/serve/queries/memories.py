"""Lists of memories."""

from dataclasses import dataclass, replace
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


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryListOptions:
    """Filters of the command line for memories; None means all."""

    q: str | None = None
    service: str | None = None
    category: str | None = None
    kind: str | None = None
    project: str | None = None
    scope: str | None = None
    state: str = "all"
    view: str | None = None
    as_of: str | None = None
    sort: str = "confidence"
    order: str | None = None
    limit: int = 50

    def filter(self) -> MemoryFilter:
        """Return the filter of the repository, without the service."""
        return MemoryFilter(
            q=self.q,
            category=None if self.category is None else Category(self.category),
            kind=None if self.kind is None else MemoryKind(self.kind),
            project=None if self.project is None else normalize_project(self.project),
            scope=self.scope,
            active={"active": True, "inactive": False}.get(self.state),
            in_review=self.state == "review",
            view=None if self.view is None else View(self.view),
            by=clock.now() + FADING_WITHIN,
        )


async def list_memories(here: "QueryContext", **options: Any) -> dict[str, Any]:
    """Return the first matching memories, and the number of all matches."""
    request = MemoryListOptions(**options)
    at = None if request.as_of is None else _earlier(request.as_of)
    sort = Sort(request.sort)
    falling = sort.falling if request.order is None else request.order == "desc"
    order = Order(sort, backward=falling != sort.falling)
    async with reading(here.db):
        wanted = request.filter()
        if request.service is not None:
            wanted = replace(wanted, service=await _service_name(here, request.service))
        found = await memories.page(here.db, wanted, sort=order, limit=request.limit, at=at)
        total = await memories.count(here.db, wanted, at=at)
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
