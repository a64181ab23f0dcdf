"""Updates of the page of each memory from the change feed; changed pages become pending."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from lamplighter.domain.memory.memory import MemoryId
from lamplighter.domain.notebook.place import belongs, place_of
from lamplighter.repository import Database, writing
from lamplighter.repository.graph.position import memory_ids_after
from lamplighter.repository.memory import memories
from lamplighter.repository.memory.trash import TRASH
from lamplighter.repository.notebook import lines, pages
from lamplighter.repository.notebook.pages import NotebookPosition
from lamplighter.repository.store import changes
from lamplighter.repository.upkeep.batches import Write

CHANGES_AT_ONCE: Final = 500
MEMORIES_AT_ONCE: Final = 500
_ENTITIES: Final = (memories.ENTITY, TRASH)


async def follow(db: Database, write: Write = writing) -> bool:
    """Take one step, and return whether there may be more to do."""
    at = await pages.position(db)
    if at.is_last:
        return False
    async with write(db):
        return await take_step(db, at)


async def take_step(db: Database, at: NotebookPosition) -> bool:
    """Take one step from a position, within `writing` and with the notebook locked."""
    if at.memory_id is not None:
        ids = await memory_ids_after(db, at.memory_id, limit=MEMORIES_AT_ONCE)
        at, more = replace(at, memory_id=ids[-1] if ids else None), True
    else:
        found, more = await changes.next_batch(db, at.seq, limit=CHANGES_AT_ONCE)
        ids = sorted({n for each in found if each.entity in _ENTITIES for n in each.ids})
        at = replace(at, seq=found[-1].seq if found else at.seq)
    await _place(db, ids)
    await pages.move_position(db, at)
    return more


async def _place(db: Database, ids: Sequence[int]) -> None:
    """Store the page of each memory, and mark its previous and its new page as pending."""
    if not ids:
        return
    before = await lines.paths_of(db, ids)
    held = await memories.by_ids(db, [MemoryId(each) for each in ids])
    after: dict[int, str | None] = dict.fromkeys(before)
    for memory in held.values():
        if belongs(memory):
            after[memory.id] = place_of(memory).path
    moved = {number: path for number, path in after.items() if before.get(number) != path}
    await pages.place(db, moved)
    await pages.mark_pending(db, {each for each in (*before.values(), *after.values()) if each})
