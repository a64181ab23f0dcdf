"""Observations: saved, read, corrected and withdrawn."""

from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api.agentops import params, rows, shapes
from lamplighter.api.agentops.contract import (
    READ,
    WRITE,
    agent_of,
    caller_name,
    contract_operation,
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
    check_required,
    clamp_limit,
    is_permanent,
    number,
    query,
)
from lamplighter.api.context import service_context
from lamplighter.api.responses import answer
from lamplighter.domain.errors import Invalid, InvalidField, NotFound
from lamplighter.domain.memory.knowledge import MemoryTimeline
from lamplighter.domain.memory.memory import Candidate, Edit, Memory, Reach, Source
from lamplighter.domain.sessions.session import Session
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
REQUIRED_FIELDS: Final = ("session_id", "type", "title", "content", "project")
SORTS: Final = ("", "created_at:desc")


@contract_operation(
    "POST",
    "/observations",
    WRITE,
    shapes.AgentOpsSaved,
    status=201,
    body=ObservationIn,
    needs=REQUIRED_FIELDS,
    problems=(409,),
)
async def create(request: Request) -> Response:
    """Save an observation: create, revise or count a duplicate."""
    here = service_context(request)
    _check_saves(request)
    payload = await body(request, ObservationIn, REQUIRED_FIELDS if is_strict(request) else ())
    check_required(content=payload.content)
    session = await session_of(request, payload.session_id, payload.project)
    result = await knowledge.save(
        here,
        _candidate(request, payload, session),
        window=here.active.duplicate_window,
        by=caller_name(request),
    )
    saved = {
        "id": result.memory.id,
        "action": result.outcome,
        "status": "saved",
        "revision_count": result.memory.revision_count,
        "duplicate_count": result.memory.duplicate_count,
    }
    return answer(saved, 201)


@contract_operation(
    "POST",
    "/observations/passive",
    WRITE,
    shapes.AgentOpsCaptured,
    body=PassiveIn,
    needs=("session_id",),
    problems=(409,),
)
async def capture(request: Request) -> Response:
    """Save the learnings that a report lists."""
    here = service_context(request)
    _check_saves(request)
    payload = await body(request, PassiveIn, ("session_id",) if is_strict(request) else ())
    session = await session_of(request, payload.session_id, payload.project)
    captured = await knowledge.capture(
        here,
        payload.content or "",
        project=project_in(request, payload.project) or session.project,
        session_id=session.id,
        source_ref=_reference(payload.source),
        by=caller_name(request),
    )
    return answer(
        {
            "extracted": captured.extracted,
            "saved": captured.saved,
            "duplicates": captured.duplicates,
        }
    )


@contract_operation(
    "GET", "/observations/recent", READ, shapes.AgentOpsObservation, is_list=True, query=ListQuery
)
@contract_operation(
    "GET", "/observations", READ, shapes.AgentOpsObservation, is_list=True, query=ListQuery
)
async def recent(request: Request) -> Response:
    """List recent observations."""
    here, parameters = service_context(request), query(request, ListQuery)
    if parameters.sort not in SORTS:
        raise Invalid(InvalidField("sort", f"is not {SORTS[-1]}"))
    kind, scope = rows.normalize_word(parameters.type), rows.normalize_word(parameters.scope)
    tags = rows.add_type_tags((), kind=kind or next(iter(rows.CATEGORIES)), scope=scope)
    async with reading(here.db):
        memories = await observations.newest(
            here.db,
            project_in(request, parameters.project),
            category=rows.category_of(kind).value if kind else None,
            scope=rows.scope_of(scope) if scope else None,
            tags=tags,
            without=[rows.TYPE] if kind in rows.CATEGORIES else [],
            limit=clamp_limit(parameters.limit, RECENT),
            now=here.now(),
        )
        memories = [each for each in memories if rows.matches_type(each, kind=kind, scope=scope)]
        return answer(await rows.observations(here.db, memories))


@contract_operation(
    "GET", "/observations/{id}", READ, shapes.AgentOpsObservation, problems=(400, 404)
)
async def show(request: Request) -> Response:
    """Read an observation."""
    here = service_context(request)
    memory = await _get_memory(request, to_read=True)
    await exposures.record_access(here.db, [memory.id], here.now())
    return await _answer_memory(request, memory)


@contract_operation(
    "PATCH",
    "/observations/{id}",
    WRITE,
    shapes.AgentOpsObservation,
    body=ObservationEdit,
    problems=(404,),
)
async def edit(request: Request) -> Response:
    """Edit an observation."""
    here, memory = service_context(request), await _get_memory(request)
    payload = await body(request, ObservationEdit)
    if payload == ObservationEdit():
        raise Invalid(InvalidField("body", "must contain at least one field"))
    if payload.project is not None and project_in(request, payload.project) != memory.project:
        raise Invalid(
            InvalidField(
                "project", "cannot be changed for one observation; use POST /projects/migrate"
            )
        )
    changed = await knowledge.correct(
        here, memory.id, _edit(memory, payload), by=caller_name(request)
    )
    return await _answer_memory(request, changed)


@contract_operation(
    "DELETE",
    "/observations/{id}",
    WRITE,
    None,
    status=204,
    gives_lenient=shapes.AgentOpsDeleted,
    status_lenient=200,
    query=params.DeleteQuery,
    problems=(404,),
)
async def delete(request: Request) -> Response:
    """Withdraw an observation; hard=true moves it to the trash."""
    here, hard, number_, by = (
        service_context(request),
        is_permanent(request),
        number(request),
        caller_name(request),
    )
    if not hard:
        await knowledge.withdraw_memory(
            here.db, (await _get_memory(request)).id, now=here.now(), by=by
        )
    elif project_in(request, None) is None:
        await knowledge.remove(here.db, number_, now=here.now(), by=by)  # even if forgotten
    else:
        await knowledge.remove(here.db, (await _get_memory(request)).id, now=here.now(), by=by)
    if is_strict(request):
        return Response(status_code=204)
    return answer({"id": number_, "status": "deleted", "hard_delete": hard})


def _check_saves(request: Request) -> None:
    agent = agent_of(request)
    if agent is not None and not agent.auto_save:
        raise HTTPException(403, f"auto_save is off for the agent {agent.name}.")


def _candidate(request: Request, body: ObservationIn, session: Session) -> Candidate:
    kind, content = body.type or rows.MANUAL, body.content or ""
    return Candidate(
        category=rows.category_of(kind),
        service=None,
        observation=content,
        tier=0,
        session_id=session.id,
        source=Source.CLIENT,
        source_ref=_reference(body.tool_name),
        title=(body.title or "").strip(),
        tags=rows.add_type_tags(body.tags or (), kind=kind, scope=body.scope or ""),
        project=project_in(request, body.project) or session.project,
        scope=rows.scope_of(body.scope or ""),
        topic_key=body.topic_key or None,
        typed=bool(body.type),
    )


def _edit(memory: Memory, edit: ObservationEdit) -> Edit:
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


async def _answer_memory(request: Request, memory: Memory) -> Response:
    [shown] = await rows.observations(service_context(request).db, [memory])
    return answer(shown)


def _reference(text: str | None) -> str | None:
    return shorten(one_line(text or ""), TITLE_CHARS) or None


AGENTOPS: Final = 3
ENGRAM: Final = 5
MAX_DISTANCE: Final = 100


@contract_operation(
    "GET",
    "/timeline",
    READ,
    shapes.AgentOpsTimelineEntry,
    is_list=True,
    gives_lenient=shapes.AgentOpsTimeline,
    query=TimelineQuery,
    problems=(404,),
)
async def timeline(request: Request) -> Response:
    """List the observations saved before and after an observation."""
    here, parameters, strict = (
        service_context(request),
        query(request, TimelineQuery),
        is_strict(request),
    )
    if parameters.observation_id is None:
        raise Invalid(InvalidField("observation_id", "is required"))
    usual = AGENTOPS if strict else ENGRAM
    memory_timeline = await knowledge.timeline(
        here.db,
        parameters.observation_id,
        before=_distance(parameters.before, usual),
        after=_distance(parameters.after, usual),
    )
    memory_timeline = _filter_project(memory_timeline, project_in(request, None))
    return answer(
        await (
            _timeline_list(request, memory_timeline)
            if strict
            else _timeline_object(request, memory_timeline)
        )
    )


@contract_operation("GET", "/stats", READ, shapes.AgentOpsStats, query=ProjectQuery)
async def stats(request: Request) -> Response:
    """Count sessions, observations and prompts."""
    here, parameters = service_context(request), query(request, ProjectQuery)
    project = project_in(request, parameters.project)
    async with reading(here.db):
        every = await known.stats(here.db)
        prompts = await client_prompts.count(here.db, project)
        if project is None:
            opened, memory_count, projects = (
                every.sessions,
                every.observations,
                list(every.projects),
            )
        else:
            opened = await client_sessions.count(here.db, project)
            memory_count = every.by_project.get(project, 0)
            projects = [each for each in every.projects if each == project]
    return answer(
        {
            "total_sessions": opened,
            "total_observations": memory_count,
            "total_prompts": prompts,
            "projects": projects,
        }
    )


def _distance(value: int | None, usual: int) -> int:
    return 0 if value == 0 else clamp_limit(value, usual, MAX_DISTANCE)


def _filter_project(memory_timeline: MemoryTimeline, project: str | None) -> MemoryTimeline:
    """Return a timeline without the entries of other projects than the caller's."""
    if project is None:
        return memory_timeline
    if memory_timeline.focus.project != project:
        raise NotFound(f"Observation {memory_timeline.focus.id} not found.")
    before = tuple(each for each in memory_timeline.before if each.project == project)
    after = tuple(each for each in memory_timeline.after if each.project == project)
    return MemoryTimeline(before, memory_timeline.focus, after)


async def _timeline_list(request: Request, found: MemoryTimeline) -> list[dict[str, Any]]:
    return [
        *await _entries(request, found.before),
        *await _entries(request, [found.focus], focus=True),
        *await _entries(request, found.after),
    ]


async def _timeline_object(request: Request, memory_timeline: MemoryTimeline) -> dict[str, Any]:
    here = service_context(request)
    [focus] = await rows.observations(here.db, [memory_timeline.focus])
    number = memory_timeline.focus.session_id
    session = None if number is None else await sessions.get(here.db, number)
    opened = [session] if session is not None and session.external_id is not None else []
    return {
        "focus": focus,
        "before": await _entries(request, memory_timeline.before),
        "after": await _entries(request, memory_timeline.after),
        "session_info": next(iter(await rows.sessions(here.db, opened)), None),
        "total_in_range": len(memory_timeline.before) + 1 + len(memory_timeline.after),
    }


async def _entries(request: Request, memories: Any, *, focus: bool = False) -> list[dict[str, Any]]:
    shown: list[Memory] = list(memories)
    found = await rows.observations(service_context(request).db, shown)
    return [{**each, "is_focus": focus} for each in found]
