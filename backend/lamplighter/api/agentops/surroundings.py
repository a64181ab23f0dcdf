"""What stands around an observation, and how much there is."""

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api.agentops import rows
from lamplighter.api.agentops.asked import ProjectQuery, TimelineQuery
from lamplighter.api.agentops.contract import desk, is_strict, project_in
from lamplighter.api.agentops.reading import limited, query
from lamplighter.api.answer import answer
from lamplighter.domain.errors import Invalid, NotFound, Wrong
from lamplighter.domain.knowledge import Timeline
from lamplighter.domain.memory import Memory
from lamplighter.repository import client_prompts, client_sessions, known, reading, sessions
from lamplighter.usecases import knowledge

AGENTOPS: Final = 3
ENGRAM: Final = 5
MOST: Final = 100


async def timeline(request: Request) -> Response:
    """GET /timeline: a list on the strict mount, before and after apart on the other."""
    here, wanted, strict = desk(request), query(request, TimelineQuery), is_strict(request)
    if wanted.observation_id is None:
        raise Invalid(Wrong("observation_id", "is required"))
    usual = AGENTOPS if strict else ENGRAM
    found = await knowledge.timeline(
        here.db,
        wanted.observation_id,
        before=_far(wanted.before, usual),
        after=_far(wanted.after, usual),
    )
    found = _own(found, project_in(request, None))
    return answer(await (_as_list(request, found) if strict else _apart(request, found)))


async def stats(request: Request) -> Response:
    """GET /stats."""
    here, wanted = desk(request), query(request, ProjectQuery)
    project = project_in(request, wanted.project)
    async with reading(here.db):
        every = await known.stats(here.db)
        prompts = await client_prompts.count(here.db, project)
        if project is None:
            opened, held, projects = every.sessions, every.observations, list(every.projects)
        else:
            opened = await client_sessions.count(here.db, project)
            held = every.by_project.get(project, 0)
            projects = [each for each in every.projects if each == project]
    return answer(
        {
            "total_sessions": opened,
            "total_observations": held,
            "total_prompts": prompts,
            "projects": projects,
        }
    )


def _far(given: int | None, usual: int) -> int:
    return 0 if given == 0 else limited(given, usual, MOST)


def _own(found: Timeline, project: str | None) -> Timeline:
    """Return a timeline without what is another project's than the caller's."""
    if project is None:
        return found
    if found.focus.project != project:
        raise NotFound(f"There is no observation {found.focus.id}.")
    before = tuple(each for each in found.before if each.project == project)
    after = tuple(each for each in found.after if each.project == project)
    return Timeline(before, found.focus, after)


async def _as_list(request: Request, found: Timeline) -> list[dict[str, Any]]:
    return [
        *await _entries(request, found.before),
        *await _entries(request, [found.focus], focus=True),
        *await _entries(request, found.after),
    ]


async def _apart(request: Request, found: Timeline) -> dict[str, Any]:
    here = desk(request)
    [focus] = await rows.observations(here.db, [found.focus])
    number = found.focus.session_id
    session = None if number is None else await sessions.get(here.db, number)
    opened = [session] if session is not None and session.external_id is not None else []
    return {
        "focus": focus,
        "before": await _entries(request, found.before),
        "after": await _entries(request, found.after),
        "session_info": next(iter(await rows.sessions(here.db, opened)), None),
        "total_in_range": len(found.before) + 1 + len(found.after),
    }


async def _entries(request: Request, memories: Any, *, focus: bool = False) -> list[dict[str, Any]]:
    shown: list[Memory] = list(memories)
    found = await rows.observations(desk(request).db, shown)
    return [{**each, "is_focus": focus} for each in found]
