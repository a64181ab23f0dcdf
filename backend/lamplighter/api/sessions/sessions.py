"""Sessions and session requests: list, request, follow and stop."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import common_shapes, params
from lamplighter.api.access import project_wall
from lamplighter.api.access.project_wall import require_operations, require_session
from lamplighter.api.context import ApiContext, api_context
from lamplighter.api.op import operation
from lamplighter.api.responses import answer, page, versioned
from lamplighter.api.sessions import session_log, shapes, spending
from lamplighter.domain.errors import Conflict, Invalid, InvalidField, NotFound, collect_errors
from lamplighter.domain.memory.memory import Memory, MemoryId
from lamplighter.domain.search import period
from lamplighter.domain.search.search import RecordedSearch
from lamplighter.domain.sessions.session import Session, SessionPlan, SessionRequest, Trigger
from lamplighter.engines import Engine, ExternalEngine
from lamplighter.engines.line_times import ReadTimes
from lamplighter.formats import serialize
from lamplighter.repository import reading
from lamplighter.repository.memory import history, memories
from lamplighter.repository.search import searches
from lamplighter.repository.sessions import approvals, marker_results, requests, sessions
from lamplighter.repository.sessions.sessions import SessionFilter
from lamplighter.repository.store import changes
from lamplighter.usecases.ingest import ignored, leftover
from lamplighter.usecases.ingest.context import ingest_context
from lamplighter.usecases.sessions import chain as chains
from lamplighter.usecases.sessions import sessions as lifecycle


@operation("GET", "/sessions", "sessions:read", shapes.SessionPage)
async def index(request: Request, query: shapes.SessionQuery) -> Response:
    """List sessions, newest first."""
    here = api_context(request)
    position = params.position(query.cursor)
    chosen = SessionFilter(
        status=query.status,
        tier=query.tier,
        trigger=query.trigger,
        service=None if query.service is None else _declared_name(here, query.service),
        since=period.parse_moment(query.since, "from"),
        project=await project_wall.project_bound(request),
    )
    async with changes.snapshot(here.db) as seq:
        result = await sessions.page(here.db, chosen, limit=query.limit, position=position)
        linked = await sessions.chain_members(here.db, result.items)
        every = [each.id for each in (*result.items, *linked)]
        waiting = await approvals.waiting_sessions(here.db)
        contradictions = await history.count_contradictions(here.db, every)
    return page(
        request,
        [_row(each, waiting) for each in result.items],
        result.position,
        seq,
        linked=[_row(each, waiting) for each in linked],
        contradicted={str(number): count for number, count in contradictions.items()},
    )


@operation(
    "POST",
    "/sessions",
    "sessions:write",
    shapes.SessionRequestOut,
    status=202,
    body=shapes.SessionIn,
)
async def create(request: Request) -> Response:
    """Request a session now."""
    here = api_context(request)
    body = await params.body(request, shapes.SessionIn, partial(_rules, here))
    if wrong := _engine_problem(here, body.engine):
        raise Invalid(*wrong)
    plan = SessionPlan(
        tier=body.tier,
        trigger=Trigger.MANUAL,
        services=None if body.services is None else tuple(body.services),
        prompt="" if body.prompt is msgspec.UNSET else body.prompt,
        dry_run=body.dry_run,
    )
    filed = await lifecycle.file_request(
        here,
        plan,
        services=here.services(),
        max_tier=here.active.max_tier,
        engine=body.engine,
    )
    headers = {"Location": f"/api/v1/requests/{filed.id}"}
    return answer(serialize.request(filed), 202, headers=headers)


@operation("GET", "/sessions/{id:int}", "sessions:read", shapes.SessionOut, check=require_session)
async def show(request: Request) -> Response:
    """Read a session."""
    here = api_context(request)
    async with reading(here.db):
        session = await _session(here, params.number(request))
        return versioned(_row(session, await approvals.waiting_sessions(here.db)))


def _row(each: Session, waiting: Mapping[int, datetime]) -> dict[str, Any]:
    """Return a session as JSON, with since when it waits for approval."""
    return {
        **serialize.session(each),
        "waiting_since": serialize.format_moment(waiting.get(each.id)),
    }


@operation(
    "POST",
    "/sessions/{id:int}/stop",
    "sessions:write",
    shapes.SessionOut,
    status=202,
    problems=(409,),
    check=require_session,
)
async def stop(request: Request) -> Response:
    """Stop a running session."""
    here = api_context(request)
    session = await lifecycle.stop(here.db, params.number(request), now=here.now())
    return versioned(serialize.session(session), 202)


@operation("GET", "/engines", "sessions:read", shapes.EnginesOut)
async def engines(request: Request, query: common_shapes.NoParameters) -> Response:
    """List engines, models and session limits."""
    here = api_context(request)
    async with reading(here.db):
        caps = await spending.spending_status(here)
    return answer(
        {
            "engines": await asyncio.to_thread(_engines, here),
            "models": {
                str(tier): here.active.models.get(tier)
                for tier in range(1, here.active.max_tier + 1)
            },
            "caps": caps,
            "max_turns": here.active.max_turns,
            "max_tier": here.active.max_tier,
            "session_seconds": here.active.session_seconds,
            "idle_seconds": here.active.idle_seconds,
        }
    )


def _engines(here: ApiContext) -> list[dict[str, Any]]:
    """Query the state of each engine; an external program may take some time."""
    return [_engine(here, each) for each in here.engines]


def _engine(here: ApiContext, engine: Engine) -> dict[str, Any]:
    tiers = [tier for tier, name in sorted(here.active.tier_engines.items()) if name == engine.name]
    installation = engine.installed() if isinstance(engine, ExternalEngine) else None
    return {
        "name": engine.name,
        "usual": 1 in tiers,
        "tiers": tiers,
        "problem": engine.probe(),
        "program": installation.path if installation else None,
        "version": installation.version if installation else None,
    }


@operation("GET", "/sessions/{id:int}/log", "sessions:read", shapes.LogOut, check=require_session)
async def log(request: Request, query: shapes.LogQuery) -> Response:
    """Read the output of a session."""
    here = api_context(request)
    if query.before is not None and query.after:
        raise Invalid(InvalidField("before", "cannot be combined with after"))
    async with changes.snapshot(here.db) as seq:
        session = await _session(here, params.number(request))
    path = here.session_files / f"{session.output}.jsonl"
    is_local = session.is_of(here.db.home.id if here.db.home else None) or path.exists()
    # show only ingested lines: the file may already be longer
    until = session.log_offset if session.running else None
    times = await asyncio.to_thread(ReadTimes, path)
    read = partial(session_log.entries, form=query.form, redact=here.redact, times=times)
    if query.before is None:
        result = await asyncio.to_thread(
            session_log.forward, path, query.after, limit=query.limit, until=until, read=read
        )
        complete = not session.running and not result["more"]
    else:
        result = await asyncio.to_thread(
            session_log.backward, path, query.before, limit=query.limit, until=until, read=read
        )
        complete = not session.running and query.before >= result["next"]
    return answer(
        {
            **result,
            "complete": complete,
            "elsewhere": None if is_local else session.host,
            "seq": seq,
        }
    )


@operation(
    "GET", "/sessions/{id:int}/markers", "sessions:read", shapes.MarkerPage, check=require_session
)
async def markers(request: Request, query: common_shapes.PageQuery) -> Response:
    """List the markers of a session and their outcomes."""
    here = api_context(request)
    after = params.position(query.cursor)
    async with changes.snapshot(here.db) as seq:
        session = await _session(here, params.number(request))
        found = await marker_results.page(here.db, session.id, limit=query.limit, position=after)
    return page(
        request, [serialize.marker_result(each) for each in found.items], found.position, seq
    )


@operation(
    "GET",
    "/sessions/{id:int}/searches",
    "sessions:read",
    shapes.SessionSearchPage,
    check=require_session,
)
async def list_searches(request: Request, query: common_shapes.PageQuery) -> Response:
    """List the memory searches of a session."""
    here = api_context(request)
    async with changes.snapshot(here.db) as seq:
        session = await _session(here, params.number(request))
        found = await searches.of_session(here.db, session.id)
        some, behind = params.part_of(found, query.cursor, query.limit)
        ids = {MemoryId(hit.memory_id) for each in some for hit in each.hits}
        existing = await memories.by_ids(here.db, sorted(ids))
    return page(request, [_search(each, existing) for each in some], behind, seq)


@operation(
    "PUT",
    "/markers/{id:int}/accepted",
    "sessions:write",
    shapes.MarkerOut,
    problems=(409,),
    deprecated_path="/markers/{id:int}/taken",
    across=True,
)
async def accept_marker(request: Request, body: common_shapes.Empty) -> Response:
    """Accept a marker that was ignored in code or in a quotation."""
    here = api_context(request)
    number, services = params.number(request), here.services()
    mark = await ignored.ingest_ignored(here, here.active, number, services=services)
    return versioned(serialize.marker_result(mark))


@operation(
    "POST",
    "/sessions/{id:int}/markers",
    "sessions:write",
    shapes.SessionOut,
    status=202,
    problems=(409,),
    across=True,
)
async def ingest_rest(request: Request, body: common_shapes.Empty) -> Response:
    """Ingest the remaining markers of a session beyond the marker limit."""
    here, number = api_context(request), params.number(request)
    session = await leftover.get_leftover(here.db, number)
    file = here.session_files / f"{session.output}.jsonl"
    if not await asyncio.to_thread(file.is_file):
        raise Conflict(f"The output file of session {number} is not on this machine: {file}.")
    ingest = ingest_context(here, here.active, session, here.services())
    work = leftover.ingest_leftover(ingest, file, here.halt_control)
    await request.app.state.jobs.start(f"the rest of session {number}", work)
    return versioned(serialize.session(session), 202)


@operation(
    "GET", "/sessions/{id:int}/chain", "sessions:read", shapes.ChainOut, check=require_session
)
async def chain(request: Request) -> Response:
    """Read the chain that a session belongs to."""
    here, number = api_context(request), params.number(request)
    async with changes.snapshot(here.db) as seq:
        await _session(here, number)
        session_chain = await chains.get_chain(here.db, number)
    last = session_chain.sessions[-1]
    return answer(
        {
            "items": [serialize.session(each) for each in session_chain.sessions],
            "handoffs": [serialize.escalation(each) for each in session_chain.handed],
            "findings": [serialize.finding(each) for each in session_chain.findings],
            "uses": [serialize.cooldown_use(each) for each in session_chain.uses],
            "status": last.status,
            "reason": last.reason or last.response,
            "cost_usd": session_chain.cost_usd,
            "seq": seq,
        }
    )


@operation(
    "PUT",
    "/escalations/{id:int}/handled",
    "sessions:write",
    shapes.EscalationOut,
    problems=(409,),
    deprecated_path="/escalations/{id:int}/settled",
    check=require_operations,
)
async def settle(request: Request, body: common_shapes.Empty) -> Response:
    """Mark an escalation as handled."""
    here, number = api_context(request), params.number(request)
    return answer(serialize.escalation(await chains.mark_handled(here.db, number, now=here.now())))


@operation("GET", "/requests", "sessions:read", shapes.RequestPage)
async def queue(request: Request, query: shapes.RequestQuery) -> Response:
    """List requests for sessions."""
    here = api_context(request)
    position = params.position(query.cursor)
    async with changes.snapshot(here.db) as seq:
        found = await requests.page(here.db, query.state, limit=query.limit, position=position)
    whole = await project_wall.reads_operations(request)
    rows = [_request_out(each, whole=whole) for each in found.items]
    return page(request, rows, found.position, seq)


@operation("GET", "/requests/{id:int}", "sessions:read", shapes.SessionRequestOut)
async def show_request(request: Request) -> Response:
    """Read a request."""
    found = await requests.get(api_context(request).db, params.number(request))
    if found is None:
        raise NotFound(f"Request {params.number(request)} not found.")
    whole = await project_wall.reads_operations(request)
    return versioned(_request_out(found, whole=whole))


def _request_out(row: SessionRequest, *, whole: bool) -> dict[str, Any]:
    """Return a request; without its prompt for callers that read no sessions of Lamplighter."""
    return serialize.request(row if whole else replace(row, prompt=""))


@operation(
    "DELETE",
    "/requests/{id:int}",
    "sessions:write",
    None,
    problems=(409,),
    check=require_operations,
)
async def cancel(request: Request) -> Response:
    """Cancel a waiting request."""
    here = api_context(request)
    await lifecycle.cancel(here.db, params.number(request), now=here.now())
    return Response(status_code=204)


def _rules(here: ApiContext, values: Mapping[str, Any]) -> list[InvalidField]:
    plan = SessionPlan(services=tuple(values.get("services") or ()))
    wrong = collect_errors(
        lambda: lifecycle.check_plan(plan, here.services(), here.active.max_tier)
    )
    return [*wrong, *_engine_problem(here, values.get("engine"))]


def _engine_problem(here: ApiContext, name: str | None) -> list[InvalidField]:
    if name is None:
        return []
    found = next((each for each in here.engines if each.name == name), None)
    if found is None:
        names = ", ".join(each.name for each in here.engines)
        return [InvalidField("engine", f"{name!r} is not one of {names}")]
    why_not = found.probe()
    return [InvalidField("engine", f"cannot run on this machine: {why_not}")] if why_not else []


def _search(each: RecordedSearch, memories: Mapping[MemoryId, Memory]) -> dict[str, Any]:
    pairs = [(hit, memories.get(MemoryId(hit.memory_id))) for hit in each.hits]
    return {
        "id": each.id,
        "tool": each.tool,
        "query": each.query,
        "hits": [
            {
                "memory_id": hit.memory_id,
                "rank": hit.rank,
                "observation": memory.observation if memory else None,
            }
            for hit, memory in pairs
        ],
        "at": serialize.format_moment(each.at),
    }


def _declared_name(here: ApiContext, name: str) -> str:
    service = here.services().find(name)
    return service.name if service else name


async def _session(here: ApiContext, session_id: int) -> Session:
    session = await sessions.get(here.db, session_id)
    if session is None:
        raise NotFound(f"Session {session_id} not found.")
    return session
