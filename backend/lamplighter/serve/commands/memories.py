"""Memories for the command line: with or without a running server, which hears of each change."""

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final, TypeVar

from lamplighter import clock
from lamplighter.config.settings import Settings
from lamplighter.domain.memory.memory import GENERAL, Candidate, Category, Edit, Memory, MemoryKind
from lamplighter.domain.project import normalize_project
from lamplighter.domain.search import period
from lamplighter.domain.services.service import normalize_service_name
from lamplighter.formats import serialize
from lamplighter.repository import Database, reading, writing
from lamplighter.repository.memory import history, memories, trash
from lamplighter.repository.memory.memories import MemoryFilter, Order, Sort, View, service_name
from lamplighter.serve import home
from lamplighter.serve.local.queries import QueryContext

T = TypeVar("T")
FADING_WITHIN: Final = timedelta(days=30)
STEPS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryListOptions:
    """Which memories are asked for, in the words of the command line; None asks for all."""

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
        """Return it as the repository takes it, but for the service."""
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


async def list_memories(here: QueryContext, **options: Any) -> dict[str, Any]:
    """Return the first memories of those that are asked for, and how many there are."""
    asked = MemoryListOptions(**options)
    at = period.parse_elapsed_moment(asked.as_of, "as_of", now=clock.now())
    sort = Sort(asked.sort)
    falling = sort.falling if asked.order is None else asked.order == "desc"
    order = Order(sort, backward=falling != sort.falling)
    async with reading(here.db):
        wanted = asked.filter()
        if asked.service is not None:
            wanted = replace(wanted, service=await _service_name(here, asked.service))
        found = await memories.page(here.db, wanted, sort=order, limit=asked.limit, at=at)
        total = await memories.count(here.db, wanted, at=at)
    return {"items": [serialize.memory(each) for each in found.items], "total": total}


def add(settings: Settings, candidate: Candidate) -> Memory:
    """Keep what a person knows; raises Invalid."""
    from lamplighter.usecases.memory import curate

    return home.run(
        settings,
        lambda db: curate.create(
            home.context(settings, db),
            candidate,
            services=home.ServicesFile(settings.services).last_good().names,
        ),
    )


def edit(settings: Settings, memory_id: int, change: Edit) -> Memory:
    """Change a memory; raises Invalid, NotFound."""
    return home.run(settings, lambda db: _edit(settings, db, memory_id, change))


def get_memory(settings: Settings, memory_id: int, *, trashed: bool = False) -> Memory:
    """Return a memory, with `trashed` one of the trash too; raises NotFound."""
    from lamplighter.usecases.memory import curate

    async def ask(db: Database) -> Memory:
        held = await trash.get(db, memory_id) if trashed else None
        return await curate.get(db, memory_id) if held is None or not held.memory else held.memory

    return home.run(settings, ask)


def delete(settings: Settings, memory_id: int, *, soft: bool, permanently: bool) -> None:
    """Delete a memory: into the trash, or (`soft`) kept inactive; raises NotFound."""
    from lamplighter.usecases.memory import curate, journal

    now = clock.now()

    async def ask(db: Database) -> None:
        if soft:
            await curate.soft_delete(db, memory_id, now=now)
            return
        async with writing(db):
            if not permanently or await trash.get(db, memory_id) is None:
                await curate.delete(db, memory_id, version=None, now=now)
            if permanently:
                await journal.purge(db, memory_id, now=now)

    home.run(settings, ask)


def restore(settings: Settings, memory_id: int) -> Memory:
    """Restore a memory from the trash, or make an inactive one active; raises Invalid, NotFound."""
    from lamplighter.usecases.memory import journal

    async def ask(db: Database) -> Memory:
        if await trash.get(db, memory_id) is not None:
            return await journal.restore(db, memory_id, now=clock.now())
        return await _edit(settings, db, memory_id, Edit(active=True))

    return home.run(settings, ask)


async def list_trash(here: QueryContext, *, q: str, limit: int) -> dict[str, Any]:
    """Return deleted memories that contain a text, and how many there are."""
    async with reading(here.db):
        found = await trash.page(here.db, q=q, limit=limit)
        total = await trash.count(here.db, q=q)
    items = [
        {
            "id": each.id,
            "memory": None if each.memory is None else serialize.memory(each.memory),
            "deleted_at": serialize.format_moment(each.deleted_at),
            "deleted_by": each.deleted_by,
        }
        for each in found.items
    ]
    return {"items": items, "total": total}


async def list_changes(here: QueryContext, *, memory_id: int) -> dict[str, Any]:
    """Return the newest changes of a memory, newest first; raises NotFound."""
    from lamplighter.usecases.memory import curate

    async with reading(here.db):
        found = await history.of_memory(here.db, memory_id, limit=STEPS)
        if not found.items:
            await curate.get(here.db, memory_id)
    return {"items": [history.record_as_json(each) for each in found.items]}


async def inclusion(
    here: QueryContext, *, memory_id: int, services: str | None, budget: int | None
) -> dict[str, Any]:
    """Return whether the next prompt includes a memory, and why; raises NotFound."""
    from lamplighter.usecases.sessions import inclusion as include
    from lamplighter.usecases.sessions import preview as previews

    known = here.services.last_good()
    asked = include.InclusionRequest(
        services=previews.parse_focus(services, known),
        budget=here.settings.memory_budget if budget is None else budget,
    )
    return (await include.explain(here.db, memory_id, asked, known, now=clock.now())).as_json()


async def _edit(settings: Settings, db: Database, memory_id: int, change: Edit) -> Memory:
    from lamplighter.usecases.memory import curate

    here, known = home.context(settings, db), home.ServicesFile(settings.services).last_good().names
    return await curate.edit(here, memory_id, change, version=None, services=known)


async def _service_name(here: QueryContext, service: str) -> str:
    known = here.services.last_good().names
    name = GENERAL if normalize_service_name(service) == GENERAL else service
    return await service_name(here.db, name, known) or GENERAL
