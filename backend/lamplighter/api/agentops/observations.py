"""Observations: saved, read, corrected and withdrawn; their timeline and counts."""

from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api.agentops import rows, shapes
from lamplighter.api.agentops.contract import (
    READ,
    WRITE,
    agent_of,
    check_required,
    clamp_limit,
    contract_operation,
    number,
    project_in,
    read_body,
    session_of,
)
from lamplighter.api.context import MemoryServiceContext, service_context
from lamplighter.api.responses import answer
from lamplighter.domain.errors import Invalid, InvalidField, NotFound
from lamplighter.domain.memory.knowledge import MemoryTimeline
from lamplighter.domain.memory.memory import Candidate, Edit, Memory, Reach, Source
from lamplighter.domain.text import one_line, shorten
from lamplighter.repository import reading
from lamplighter.repository.clients import client_prompts, client_sessions
from lamplighter.repository.clients import projects as known
from lamplighter.repository.memory import exposures
from lamplighter.repository.memory import knowledge as observations
from lamplighter.repository.sessions import sessions
from lamplighter.usecases.memory import knowledge

RECENT: Final = 20
TITLE_CHARS: Final = 80
SORTS: Final = ("", "created_at:desc")
AGENTOPS_DISTANCE: Final = 3
ENGRAM_DISTANCE: Final = 5
MAX_DISTANCE: Final = 100
NOT_MOVED: Final = "cannot be changed for one observation; use POST /projects/migrate"


def _check_saves(request: Request) -> None:
    agent = agent_of(request)
    if agent is not None and not agent.auto_save:
        raise HTTPException(403, f"auto_save is off for the agent {agent.name}.")


@contract_operation(
    "POST",
    "/observations",
    WRITE,
    shapes.AgentOpsSaved,
    status=201,
    check=_check_saves,
    needs=("session_id", "type", "title", "content", "project"),
    problems=(409,),
)
async def create(
    request: Request, here: MemoryServiceContext, by: str, body: shapes.ObservationIn
) -> dict[str, Any]:
    """Save an observation: create, revise or count a duplicate."""
    check_required(content=body.content)
    session = await session_of(request, body.session_id, body.project)
    kind, scope = body.type or rows.MANUAL, body.scope or ""
    candidate = Candidate(
        category=rows.category_of(kind),
        service=None,
        observation=body.content or "",
        tier=0,
        session_id=session.id,
        source=Source.CLIENT,
        source_ref=_reference(body.tool_name),
        title=(body.title or "").strip(),
        tags=rows.add_type_tags(body.tags or (), kind=kind, scope=scope),
        project=project_in(request, body.project) or session.project,
        scope=rows.scope_of(scope),
        topic_key=body.topic_key or None,
        typed=bool(body.type),
    )
    result = await knowledge.save(here, candidate, window=here.active.duplicate_window, by=by)
    return {
        "id": result.memory.id,
        "action": result.outcome,
        "status": "saved",
        "revision_count": result.memory.revision_count,
        "duplicate_count": result.memory.duplicate_count,
    }


@contract_operation(
    "POST",
    "/observations/passive",
    WRITE,
    shapes.AgentOpsCaptured,
    check=_check_saves,
    needs=("session_id",),
    problems=(409,),
)
async def capture(
    request: Request, here: MemoryServiceContext, by: str, body: shapes.PassiveIn
) -> dict[str, Any]:
    """Save the learnings that a report lists."""
    session = await session_of(request, body.session_id, body.project)
    captured = await knowledge.capture(
        here,
        body.content or "",
        project=project_in(request, body.project) or session.project,
        session_id=session.id,
        source_ref=_reference(body.source),
        by=by,
    )
    return {
        "extracted": captured.extracted,
        "saved": captured.saved,
        "duplicates": captured.duplicates,
    }


@contract_operation("GET", "/observations/recent", READ, shapes.AgentOpsObservation, is_list=True)
@contract_operation("GET", "/observations", READ, shapes.AgentOpsObservation, is_list=True)
async def recent(
    request: Request, here: MemoryServiceContext, query: shapes.ListQuery
) -> list[dict[str, Any]]:
    """List recent observations."""
    if query.sort not in SORTS:
        raise Invalid(InvalidField("sort", f"is not {SORTS[-1]}"))
    kind, scope = rows.normalize_word(query.type), rows.normalize_word(query.scope)
    tags = rows.add_type_tags((), kind=kind or next(iter(rows.CATEGORIES)), scope=scope)
    async with reading(here.db):
        memories = await observations.newest(
            here.db,
            project_in(request, query.project),
            category=rows.category_of(kind).value if kind else None,
            scope=rows.scope_of(scope) if scope else None,
            tags=tags,
            without=[rows.TYPE] if kind in rows.CATEGORIES else [],
            limit=clamp_limit(query.limit, RECENT),
            now=here.now(),
        )
        memories = [each for each in memories if rows.matches_type(each, kind=kind, scope=scope)]
        return await rows.observations(here.db, memories)


@contract_operation(
    "GET", "/observations/{id}", READ, shapes.AgentOpsObservation, problems=(400, 404)
)
async def show(request: Request, here: MemoryServiceContext) -> dict[str, Any]:
    """Read an observation."""
    memory = await _get_memory(request, to_read=True)
    await exposures.record_access(here.db, [memory.id], here.now())
    [shown] = await rows.observations(here.db, [memory])
    return shown


@contract_operation(
    "PATCH",
    "/observations/{id}",
    WRITE,
    shapes.AgentOpsObservation,
    body=shapes.ObservationEdit,
    problems=(404,),
)
async def edit(request: Request, here: MemoryServiceContext, by: str) -> dict[str, Any]:
    """Edit an observation."""
    memory = await _get_memory(request)
    given = await read_body(request, shapes.ObservationEdit)
    if given == shapes.ObservationEdit():
        raise Invalid(InvalidField("body", "must contain at least one field"))
    if given.project is not None and project_in(request, given.project) != memory.project:
        raise Invalid(InvalidField("project", NOT_MOVED))
    changed = await knowledge.correct(here, memory.id, _edit(memory, given), by=by)
    [shown] = await rows.observations(here.db, [changed])
    return shown


@contract_operation(
    "DELETE",
    "/observations/{id}",
    WRITE,
    None,
    status=204,
    gives_lenient=shapes.AgentOpsDeleted,
    status_lenient=200,
    query=shapes.DeleteQuery,
    problems=(404,),
)
async def delete(
    request: Request, here: MemoryServiceContext, hard: bool, number: int, by: str, strict: bool
) -> Response:
    """Withdraw an observation; hard=true moves it to the trash."""
    if not hard or project_in(request, None) is not None:  # a forgotten one can be removed too
        await _get_memory(request)
    remove = knowledge.remove if hard else knowledge.withdraw_memory
    await remove(here.db, number, now=here.now(), by=by)
    if strict:
        return Response(status_code=204)
    return answer({"id": number, "status": "deleted", "hard_delete": hard})


def _edit(memory: Memory, edit: shapes.ObservationEdit) -> Edit:
    kind = edit.type or rows.type_of(memory)
    scope = edit.scope or rows.scope_of_memory(memory)
    tags = rows.tags_of(memory) if edit.tags is None else edit.tags
    return Edit(
        observation=edit.content,
        category=rows.category_of(kind) if edit.type else None,
        title=edit.title,
        tags=rows.add_type_tags(tags, kind=kind, scope=scope),
        scope=rows.scope_of(scope) if edit.scope else None,
        topic_key=edit.topic_key,
    )


async def _get_memory(request: Request, *, to_read: bool = False) -> Memory:
    """Return the memory of the path if its caller may read or change it; raises NotFound."""
    here, project = service_context(request), project_in(request, None)
    async with reading(here.db):
        memory = await knowledge.get(here.db, number(request))
    own = project is None or memory.project == project
    if own or (to_read and Reach(project or "").holds(memory)):
        return memory
    raise NotFound(f"Observation {memory.id} not found.")


def _reference(text: str | None) -> str | None:
    return shorten(one_line(text or ""), TITLE_CHARS) or None


@contract_operation(
    "GET",
    "/timeline",
    READ,
    shapes.AgentOpsTimelineEntry,
    is_list=True,
    gives_lenient=shapes.AgentOpsTimeline,
    problems=(404,),
)
async def timeline(
    request: Request, here: MemoryServiceContext, query: shapes.TimelineQuery, strict: bool
) -> Any:
    """List the observations saved before and after an observation."""
    if query.observation_id is None:
        raise Invalid(InvalidField("observation_id", "is required"))
    usual = AGENTOPS_DISTANCE if strict else ENGRAM_DISTANCE
    around = await knowledge.timeline(
        here.db,
        query.observation_id,
        before=_distance(query.before, usual),
        after=_distance(query.after, usual),
    )
    around = _filter_project(around, project_in(request, None))
    before, [focus], after = [
        await rows.observations(here.db, some)
        for some in (around.before, [around.focus], around.after)
    ]
    earlier, later = (
        [{**each, "is_focus": False} for each in entries] for entries in (before, after)
    )
    if strict:
        return [*earlier, {**focus, "is_focus": True}, *later]
    number = around.focus.session_id
    session = None if number is None else await sessions.get(here.db, number)
    opened = [session] if session is not None and session.external_id is not None else []
    return {
        "focus": focus,
        "before": earlier,
        "after": later,
        "session_info": next(iter(await rows.sessions(here.db, opened)), None),
        "total_in_range": len(before) + 1 + len(after),
    }


@contract_operation("GET", "/stats", READ, shapes.AgentOpsStats)
async def stats(
    request: Request, here: MemoryServiceContext, query: shapes.ProjectQuery
) -> dict[str, Any]:
    """Count sessions, observations and prompts."""
    project = project_in(request, query.project)
    async with reading(here.db):
        every = await known.stats(here.db)
        prompts = await client_prompts.count(here.db, project)
        if project is None:
            opened, count, projects = every.sessions, every.observations, list(every.projects)
        else:
            opened = await client_sessions.count(here.db, project)
            count = every.by_project.get(project, 0)
            projects = [each for each in every.projects if each == project]
    return {
        "total_sessions": opened,
        "total_observations": count,
        "total_prompts": prompts,
        "projects": projects,
    }


def _distance(value: int | None, usual: int) -> int:
    return 0 if value == 0 else clamp_limit(value, usual, MAX_DISTANCE)


def _filter_project(timeline: MemoryTimeline, project: str | None) -> MemoryTimeline:
    """Return a timeline without the entries of other projects than the caller's."""
    if project is None:
        return timeline
    if timeline.focus.project != project:
        raise NotFound(f"Observation {timeline.focus.id} not found.")
    before = tuple(each for each in timeline.before if each.project == project)
    after = tuple(each for each in timeline.after if each.project == project)
    return MemoryTimeline(before, timeline.focus, after)
