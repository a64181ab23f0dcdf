"""The boundaries between projects: which memories a project finds, and which it may change."""

from lamplighter.domain.clients.speaker import ClientIdentity
from lamplighter.domain.errors import Conflict, NotFound
from lamplighter.domain.memory.memory import OPERATIONAL, InactiveReason, Memory, MemoryId, Reach
from lamplighter.domain.search.search import NotebookText
from lamplighter.domain.sessions.session import Session
from lamplighter.repository import Database
from lamplighter.repository.memory import memories


def is_visible(project: str, row: object) -> bool:
    """Whether a project finds a row: its own rows and all global memories, except deleted ones."""
    match row:
        case Memory():
            return Reach(project).holds(row) and row.inactive_reason is not InactiveReason.DELETED
        case Session() | NotebookText():
            return row.project == project
    return False


async def get_visible(db: Database, project: str, memory_id: int) -> Memory:
    """Return a memory that a project finds; raises NotFound, also for other projects' memories."""
    memory = await memories.get(db, MemoryId(memory_id))
    if memory is None or not is_visible(project, memory):
        raise NotFound(f"Memory {memory_id} not found in the project {project}.")
    return memory


async def get_changeable(
    db: Database, identity: ClientIdentity, project: str, memory_id: int
) -> Memory:
    """Return a memory that the caller may change; raises NotFound, and Conflict with the reason.

    A Lamplighter session may change only the memories that it saved itself.
    """
    memory = await get_visible(db, project, memory_id)
    if memory.project != project:
        raise Conflict(f"Memory {memory_id} belongs to the project {memory.project}.")
    if memory.category in OPERATIONAL:
        raise Conflict(
            f"Memory {memory_id} is operational ({memory.category}); only sessions and "
            f"people change those. Save the correction as a new memory."
        )
    if identity.session is not None and memory.session_id != identity.session.id:
        raise Conflict(
            f"Memory {memory_id} was not saved by this session. A person must change it."
        )
    return memory
