"""The changes of a memory."""

from typing import TYPE_CHECKING, Any, Final

from lamplighter.repository import reading
from lamplighter.repository.memory import history

if TYPE_CHECKING:
    from lamplighter.serve.queries import QueryContext

STEPS: Final = 200


async def list_changes(here: "QueryContext", *, memory_id: int) -> dict[str, Any]:
    """Return the newest changes of a memory, newest first; raises NotFound."""
    async with reading(here.db):
        found = await history.of_memory(here.db, memory_id, limit=STEPS)
        if not found.items:
            from lamplighter.usecases.memory import lookup  # rare: a memory that never changed

            await lookup.get(here.db, memory_id)
    return {"items": [history.record_as_json(each) for each in found.items]}
