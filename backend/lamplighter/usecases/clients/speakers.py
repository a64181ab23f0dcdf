"""Speaking: who uses the tools of clients, by the token that is shown."""

from collections.abc import Iterable

from lamplighter.domain.access.access import Caller
from lamplighter.domain.clients.agent import Agent, agent_of
from lamplighter.domain.clients.speaker import USUAL, Speaker
from lamplighter.domain.errors import Conflict, Invalid, Wrong
from lamplighter.domain.project import PROJECT_CHARS, project_of
from lamplighter.repository import Database
from lamplighter.repository.sessions import sessions


async def speaker_of(
    db: Database, caller: Caller, agents: Iterable[Agent], *, project: str = ""
) -> Speaker:
    """Return who a caller is; raises Conflict when a session ended, Invalid for another project.

    `project` is the usual one of a caller who is bound to none.
    """
    wanted = checked_project(project) if project.strip() else ""
    if caller.session_id is not None:
        session = await sessions.get(db, caller.session_id)
        if session is None or not session.running:
            raise Conflict("The session of this token has ended.")
        bound = Speaker(caller=caller, project=session.project, session=session)
    elif caller.agent is not None:
        agent = agent_of(agents, caller.agent)
        bound = Speaker(caller=caller, project=project_of(agent.reads), agent=agent)
    else:
        return Speaker(caller=caller, project=wanted or USUAL)
    if wanted not in ("", bound.project):
        raise Invalid(Wrong("project", f"is {bound.project} for {bound.known_as}, no other"))
    return bound


def checked_project(given: str) -> str:
    """Return the name of a project as it is kept; raises Invalid."""
    project = project_of(given)
    if not project or len(project) > PROJECT_CHARS or not project.isprintable():
        raise Invalid(Wrong("project", f"has 1 to {PROJECT_CHARS} characters"))
    return project
