"""The identity of the caller of client tools, by its token."""

from collections.abc import Iterable

from lamplighter.domain.access.access import Caller
from lamplighter.domain.clients.agent import Agent, find_agent
from lamplighter.domain.clients.speaker import DEFAULT_PROJECT, ClientIdentity
from lamplighter.domain.errors import Conflict, Invalid, InvalidField
from lamplighter.domain.text import PROJECT_CHARS, normalize_project
from lamplighter.repository import Database
from lamplighter.repository.sessions import sessions


async def speaker_of(
    db: Database, caller: Caller, agents: Iterable[Agent], *, project: str = ""
) -> ClientIdentity:
    """Return the identity of a caller; raises Conflict if its session ended, and Invalid.

    Invalid: for another project. `project` is the default of a caller that is not bound to a
    project.
    """
    requested = check_project(project) if project.strip() else ""
    if caller.session_id is not None:
        session = await sessions.get(db, caller.session_id)
        if session is None or not session.running:
            raise Conflict("The session of this token has ended.")
        bound = ClientIdentity(caller=caller, project=session.project, session=session)
    elif caller.agent is not None:
        agent = find_agent(agents, caller.agent)
        bound = ClientIdentity(caller=caller, project=normalize_project(agent.reads), agent=agent)
    else:
        return ClientIdentity(caller=caller, project=requested or DEFAULT_PROJECT)
    if requested not in ("", bound.project):
        raise Invalid(InvalidField("project", f"must be {bound.project} for {bound.known_as}"))
    return bound


def check_project(name: str) -> str:
    """Return a project name as stored; raises Invalid."""
    project = normalize_project(name)
    if not project or len(project) > PROJECT_CHARS or not project.isprintable():
        raise Invalid(InvalidField("project", f"must have 1 to {PROJECT_CHARS} characters"))
    return project
