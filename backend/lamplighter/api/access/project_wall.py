"""Project isolation in the API: sessions and agents read their project and global memories.

All other callers are persons, or programs that a person trusts with every project.
"""

from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request

from lamplighter.api import params
from lamplighter.api.access.callers import caller_of
from lamplighter.api.context import api_context
from lamplighter.domain.clients.agent import find_agent
from lamplighter.domain.errors import NotFound
from lamplighter.domain.memory.memory import OPERATIONS
from lamplighter.domain.text import normalize_project
from lamplighter.repository.memory.memories import MemoryFilter
from lamplighter.repository.sessions import sessions
from lamplighter.usecases.access import project_wall

NOT_OPERATIONS: Final = (
    f"This belongs to the project {OPERATIONS}, and the token is limited to another project."
)


async def project_bound(request: Request) -> str | None:
    """Return the project that a caller is bound to; None for a caller that reads every project."""
    here, caller = api_context(request), caller_of(request)
    if caller.agent is not None:
        return normalize_project(find_agent(here.active.agents, caller.agent).reads)
    if caller.session_id is None:
        return None
    session = await sessions.get(here.db, caller.session_id)
    return "" if session is None else session.project


async def reads_operations(request: Request) -> bool:
    """Return whether a caller reads sessions and incidents, which belong to one project."""
    return await project_bound(request) in (None, OPERATIONS)


async def readable_memories(request: Request) -> MemoryFilter | None:
    """Return the filter of the memories that a caller reads; None without the scope."""
    if not caller_of(request).may("memories:read"):
        return None
    return MemoryFilter(finds=await project_bound(request))


async def require_memory(request: Request) -> None:
    """Raise NotFound for a memory that the caller does not find."""
    project = await project_bound(request)
    if project is not None:
        await project_wall.get_visible(api_context(request).db, project, params.number(request))


async def require_session(request: Request) -> None:
    """Raise NotFound for a session that is not of the caller's project."""
    project, number = await project_bound(request), params.number(request)
    if project is not None:
        existing = await sessions.get(api_context(request).db, number)
        if existing is None or existing.project != project:
            raise NotFound(f"Session {number} not found.")


async def require_operations(request: Request) -> None:
    """Raise 403 for a caller whose project is not the operational one."""
    if not await reads_operations(request):
        raise HTTPException(403, NOT_OPERATIONS)
