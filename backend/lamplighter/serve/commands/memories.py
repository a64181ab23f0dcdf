"""Memories for the command line: with or without a running server, which hears of each change."""

from lamplighter import clock
from lamplighter.config.settings import Settings
from lamplighter.domain.memory.memory import Candidate, Edit, Memory
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import trash
from lamplighter.serve import home
from lamplighter.serve.services_file import ServicesFile


def add(settings: Settings, candidate: Candidate) -> Memory:
    """Store the knowledge of a person; raises Invalid."""
    from lamplighter.usecases.memory import curate

    names = ServicesFile(settings.services).last_good().names
    return home.run(
        settings, lambda db: curate.create(home.context(settings, db), candidate, services=names)
    )


def edit(settings: Settings, memory_id: int, change: Edit) -> Memory:
    """Change a memory; raises Invalid, NotFound."""
    return home.run(settings, lambda db: _edit(settings, db, memory_id, change))


def confirm(settings: Settings, memory_id: int) -> Memory:
    """Confirm a memory for a person; raises NotFound, Conflict."""
    from lamplighter.usecases.memory import curate

    return home.run(settings, lambda db: curate.confirm(db, memory_id, now=clock.now()))


def get_memory(settings: Settings, memory_id: int, *, trashed: bool = False) -> Memory:
    """Return a memory, with `trashed` one of the trash too; raises NotFound."""
    from lamplighter.usecases.memory import lookup

    async def read(db: Database) -> Memory:
        existing = await trash.get(db, memory_id) if trashed else None
        return (existing and existing.memory) or await lookup.get(db, memory_id)

    return home.run(settings, read)


def delete(settings: Settings, memory_id: int, *, soft: bool, permanently: bool) -> None:
    """Delete a memory: move it to the trash, or deactivate it (`soft`); raises NotFound."""
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


async def _edit(settings: Settings, db: Database, memory_id: int, change: Edit) -> Memory:
    from lamplighter.usecases.memory import curate

    here, known = home.context(settings, db), ServicesFile(settings.services).last_good().names
    return await curate.edit(here, memory_id, change, version=None, services=known)
