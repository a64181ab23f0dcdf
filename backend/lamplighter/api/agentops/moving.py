"""What is moved as a whole: all of one project to another's name."""

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api.agentops.asked import MigrateIn
from lamplighter.api.agentops.contract import agent_of, desk
from lamplighter.api.agentops.reading import body, required
from lamplighter.api.answer import answer
from lamplighter.usecases import projects


async def migrate(request: Request) -> Response:
    """POST /projects/migrate."""
    here = desk(request)
    if agent_of(request) is not None:
        raise HTTPException(403, "An agent has a project of its own: it moves none.")
    given = await body(request, MigrateIn)
    required(old_project=given.old_project, new_project=given.new_project)
    old, new = given.old_project or "", given.new_project or ""
    moved = await projects.move(here.db, old, new, now=here.now())
    if moved is None:
        return answer(_skipped("names are identical"))
    if not moved.any:
        return answer(_skipped("no records found"))
    return answer(
        {
            "status": "migrated",
            "reason": "",
            "old_project": old,
            "new_project": new,
            "observations": moved.memories,
            "sessions": moved.sessions,
            "prompts": moved.prompts,
        }
    )


def _skipped(reason: str) -> dict[str, object]:
    nothing = {"old_project": "", "new_project": "", "observations": 0, "sessions": 0, "prompts": 0}
    return {"status": "skipped", "reason": reason, **nothing}
