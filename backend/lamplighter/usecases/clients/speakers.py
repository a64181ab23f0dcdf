"""Speaking: who uses the tools of clients, by the token that is shown."""

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
    """Return who a caller is; raises Conflict when a session ended, Invalid for another project.

    `project` is the usual one of a caller who is bound to none.
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
    """Return the name of a project as it is kept; raises Invalid."""
    project = normalize_project(name)
    if not project or len(project) > PROJECT_CHARS or not project.isprintable():
        raise Invalid(InvalidField("project", f"must have 1 to {PROJECT_CHARS} characters"))
    return project
