"""Observations: kept, read, corrected and taken back."""

from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api.agentops import rows
from lamplighter.api.agentops.contract import (
    agent_of,
    asker,
    desk,
    is_strict,
    project_in,
    session_of,
)
from lamplighter.api.agentops.params import (
    ListQuery,
    ObservationEdit,
    ObservationIn,
    PassiveIn,
    ProjectQuery,
    TimelineQuery,
    body,
    for_good,
    limited,
    number,
    query,
    required,
)
from lamplighter.api.responses import answer
from lamplighter.domain.errors import Invalid, NotFound, Wrong
from lamplighter.domain.memory.knowledge import Timeline
from lamplighter.domain.memory.memory import Candidate, Edit, Memory, Source
from lamplighter.domain.sessions.session import Session
from lamplighter.domain.text import one_line, shortened
from lamplighter.repository import reading
from lamplighter.repository.clients import client_prompts, client_sessions
from lamplighter.repository.clients import projects as known
from lamplighter.repository.memory import exposures
from lamplighter.repository.memory import knowledge as observations
from lamplighter.repository.sessions import sessions
from lamplighter.usecases.memory import knowledge

RECENT: Final = 20
TITLE_CHARS: Final = 80
NEEDS: Final = ("session_id", "type", "title", "content", "project")
SORTS: Final = ("", "created_at:desc")


async def create(request: Request) -> Response:
    """POST /observations."""
    here = desk(request)
    _check_saves(request)
    given = await body(request, ObservationIn, NEEDS if is_strict(request) else ())
    required(content=given.content)
    session = await session_of(request, given.session_id, given.project)
    kept = await knowledge.keep(
        here.db,
        _candidate(request, given, session),
        now=here.now(),
        redact=here.redact,
        window=here.window,
        by=asker(request),
    )
    saved = {
        "id": kept.memory.id,
        "action": kept.outcome,
        "status": "saved",
        "revision_count": kept.memory.revision_count,
        "duplicate_count": kept.memory.duplicate_count,
    }
    return answer(saved, 201)


async def capture(request: Request) -> Response:
    """POST /observations/passive."""
    here = desk(request)
    _check_saves(request)
    given = await body(request, PassiveIn, ("session_id",) if is_strict(request) else ())
    session = await session_of(request, given.session_id, given.project)
    captured = await knowledge.capture(
        here.db,
        given.content or "",
        project=project_in(request, given.project) or session.project,
        session_id=session.id,
        now=here.now(),
        redact=here.redact,
        source_ref=_reference(given.source),
        by=asker(request),
    )
    return answer(
        {
            "extracted": captured.extracted,
            "saved": captured.saved,
            "duplicates": captured.duplicates,
        }
    )


async def recent(request: Request) -> Response:
    """GET /observations/recent, and /observations."""
    here, wanted = desk(request), query(request, ListQuery)
    if wanted.sort not in SORTS:
        raise Invalid(Wrong("sort", f"is not {SORTS[-1]}"))
    kind, scope = rows.folded(wanted.type), rows.folded(wanted.scope)
    said = rows.tagged((), kind=kind or next(iter(rows.KNOWN)), scope=scope)
    async with reading(here.db):
        found = await observations.newest(
            here.db,
            project_in(request, wanted.project),
            category=rows.category_of(kind).value if kind else None,
            scope=rows.scope_of(scope) if scope else None,
            tags=said,
            without=[rows.TYPE] if kind in rows.KNOWN else [],
            limit=limited(wanted.limit, RECENT),
        )
        found = [each for each in found if rows.fits(each, kind=kind, scope=scope)]
        return answer(await rows.observations(here.db, found))


async def show(request: Request) -> Response:
    """GET /observations/{id}."""
    here = desk(request)
    memory = await _held(request, to_read=True)
    await exposures.count(here.db, [memory.id], here.now())
    return await _shown(request, memory)


async def edit(request: Request) -> Response:
    """PATCH /observations/{id}."""
    here, memory = desk(request), await _held(request)
    given = await body(request, ObservationEdit)
    if given == ObservationEdit():
        raise Invalid(Wrong("body", "has to say at least one field"))
    if given.project is not None and project_in(request, given.project) != memory.project:
        raise Invalid(Wrong("project", "is moved as a whole: POST /projects/migrate"))
    changed = await knowledge.correct(
        here.db,
        memory.id,
        _edit(memory, given),
        now=here.now(),
        redact=here.redact,
        by=asker(request),
    )
    return await _shown(request, changed)


async def delete(request: Request) -> Response:
    """DELETE /observations/{id}; with `hard` for good."""
    here, hard, number_, by = desk(request), for_good(request), number(request), asker(request)
    if not hard:
        await knowledge.forget(here.db, (await _held(request)).id, now=here.now(), by=by)
    elif project_in(request, None) is None:
        await knowledge.remove(here.db, number_, now=here.now(), by=by)  # a forgotten one too
    else:
        await knowledge.remove(here.db, (await _held(request)).id, now=here.now(), by=by)
    if is_strict(request):
        return Response(status_code=204)
    return answer({"id": number_, "status": "deleted", "hard_delete": hard})


def _check_saves(request: Request) -> None:
    agent = agent_of(request)
    if agent is not None and not agent.auto_save:
        raise HTTPException(403, f"auto_save is off for the agent {agent.name}.")


def _candidate(request: Request, given: ObservationIn, session: Session) -> Candidate:
    kind, content = given.type or rows.MANUAL, given.content or ""
    return Candidate(
        category=rows.category_of(kind),
        service=None,
        observation=content,
        tier=0,
        session_id=session.id,
        source=Source.CLIENT,
        source_ref=_reference(given.tool_name),
        title=(given.title or "").strip(),
        tags=rows.tagged(given.tags or (), kind=kind, scope=given.scope or ""),
        project=project_in(request, given.project) or session.project,
        scope=rows.scope_of(given.scope or ""),
        topic_key=given.topic_key or None,
    )


def _edit(memory: Memory, given: ObservationEdit) -> Edit:
    kind = given.type or rows.type_of(memory)
    scope = given.scope or rows.scope_said(memory)
    tags = rows.tags_of(memory) if given.tags is None else given.tags
    return Edit(
        observation=given.content,
        category=rows.category_of(kind) if given.type else None,
        title=given.title,
        tags=rows.tagged(tags, kind=kind, scope=scope),
        scope=rows.scope_of(scope) if given.scope else None,
        topic_key=given.topic_key,
    )


async def _held(request: Request, *, to_read: bool = False) -> Memory:
    """Return the memory of the path as its caller may see or change it; raises NotFound."""
    here, project = desk(request), project_in(request, None)
    async with reading(here.db):
        memory = await knowledge.get(here.db, number(request))
    if project in (None, memory.project) or (to_read and memory.scope == rows.GLOBAL):
        return memory
    raise NotFound(f"There is no observation {memory.id}.")


async def _shown(request: Request, memory: Memory) -> Response:
    [shown] = await rows.observations(desk(request).db, [memory])
    return answer(shown)


def _reference(said: str | None) -> str | None:
    return shortened(one_line(said or ""), TITLE_CHARS) or None


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
