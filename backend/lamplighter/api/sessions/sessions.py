"""Sessions and the requests for them: listed, asked for, followed and stopped."""

import asyncio
from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import common_shapes, params
from lamplighter.api.access import project_wall
from lamplighter.api.context import Door, door
from lamplighter.api.responses import answer, page, versioned
from lamplighter.api.sessions import session_log, shapes, spending
from lamplighter.domain.errors import Conflict, Invalid, NotFound, Wrong, wrong_of
from lamplighter.domain.memory.memory import Memory, MemoryId
from lamplighter.domain.search import period
from lamplighter.domain.search.search import Search
from lamplighter.domain.sessions.session import Plan, Session, Trigger
from lamplighter.engines import Engine, Outside
from lamplighter.formats import serialize
from lamplighter.repository import reading
from lamplighter.repository.feed import changes
from lamplighter.repository.memory import history, memories
from lamplighter.repository.search import searches
from lamplighter.repository.sessions import approvals, marker_results, requests, sessions
from lamplighter.repository.sessions.sessions import Filter
from lamplighter.usecases.ingest import ignored, leftover
from lamplighter.usecases.ingest.context import Ingest
from lamplighter.usecases.sessions import chain as chains
from lamplighter.usecases.sessions import sessions as lifecycle


async def index(request: Request) -> Response:
    """GET /api/v1/sessions."""
    here, wanted = door(request), params.query(request, shapes.SessionQuery)
    position = params.position(wanted.cursor)
    chosen = Filter(
        status=wanted.status,
        tier=wanted.tier,
        trigger=wanted.trigger,
        service=None if wanted.service is None else _spelled(here, wanted.service),
        since=period.moment(wanted.since, "from"),
        project=await project_wall.project_bound(request),
    )
    async with reading(here.db):
        found = await sessions.page(here.db, chosen, limit=wanted.limit, position=position)
        linked = await sessions.linked(here.db, found.items)
        every = [each.id for each in (*found.items, *linked)]
        waiting = await approvals.waiting_since(here.db)
        told_otherwise = await history.contradictions(here.db, every)
        seq = await changes.last(here.db)
    return page(
        request,
        [_row(each, waiting) for each in found.items],
        found.position,
        seq,
        linked=[_row(each, waiting) for each in linked],
        contradicted={str(number): count for number, count in told_otherwise.items()},
    )


async def create(request: Request) -> Response:
    """POST /api/v1/sessions."""
    here = door(request)
    given = await params.body(request, shapes.SessionIn, partial(_rules, here))
    if wrong := _not_here(here, given.engine):
        raise Invalid(*wrong)
    plan = Plan(
        tier=given.tier,
        trigger=Trigger.MANUAL,
        services=None if given.services is None else tuple(given.services),
        prompt="" if given.prompt is msgspec.UNSET else given.prompt,
        dry_run=given.dry_run,
    )
    filed = await lifecycle.ask(
        here.db,
        plan,
        services=here.services(),
        redact=here.redact,
        engine=given.engine,
        max_tier=here.max_tier,
        now=here.now(),
    )
    headers = {"Location": f"/api/v1/requests/{filed.id}"}
    return answer(serialize.request(filed), 202, headers=headers)


async def show(request: Request) -> Response:
    """GET /api/v1/sessions/{id}."""
    here = door(request)
    async with reading(here.db):
        session = await _session(here, params.number(request))
        return versioned(_row(session, await approvals.waiting_since(here.db)))


def _row(each: Session, waiting: Mapping[int, datetime]) -> dict[str, Any]:
    """Return a session as JSON, with since when it waits for approval."""
    return {**serialize.session(each), "waiting_since": serialize.at(waiting.get(each.id))}


async def stop(request: Request) -> Response:
    """POST /api/v1/sessions/{id}/stop."""
    here = door(request)
    session = await lifecycle.stop(here.db, params.number(request), now=here.now())
    return versioned(serialize.session(session), 202)


async def engines(request: Request) -> Response:
    """GET /api/v1/engines."""
    here = door(request)
    params.query(request, common_shapes.Nothing)
    async with reading(here.db):
        caps = await spending.standing(here)
    return answer(
        {
            "engines": await asyncio.to_thread(_engines, here),
            "models": {str(tier): here.models.get(tier) for tier in range(1, here.max_tier + 1)},
            "caps": caps,
            "max_turns": here.max_turns,
            "max_tier": here.max_tier,
            "session_seconds": here.session_seconds,
            "idle_seconds": here.idle_seconds,
        }
    )


def _engines(here: Door) -> list[dict[str, Any]]:
    """Ask each engine; one that is a program of others may take its time."""
    return [_engine(here, each) for each in here.engines]


def _engine(here: Door, engine: Engine) -> dict[str, Any]:
    tiers = [tier for tier, name in sorted(here.usual_engines.items()) if name == engine.name]
    found = engine.installed() if isinstance(engine, Outside) else None
    return {
        "name": engine.name,
        "usual": 1 in tiers,
        "tiers": tiers,
        "problem": engine.probe(),
        "program": found.path if found else None,
        "version": found.version if found else None,
    }


async def log(request: Request) -> Response:
    """GET /api/v1/sessions/{id}/log."""
    here, wanted = door(request), params.query(request, shapes.LogQuery)
    if wanted.before is not None and wanted.after:
        raise Invalid(Wrong("before", "is given beside after"))
    async with reading(here.db):
        session = await _session(here, params.number(request))
        seq = await changes.last(here.db)
    path = here.session_files / f"{session.output}.jsonl"
    ours = session.is_of(here.db.home.id if here.db.home else None) or path.exists()
    # what is shown is what was taken in: the file itself may be further on
    until = session.log_offset if session.running else None
    read = partial(session_log.entries, form=wanted.form, redact=here.redact)
    if wanted.before is None:
        found = await asyncio.to_thread(
            session_log.forward, path, wanted.after, limit=wanted.limit, until=until, read=read
        )
        complete = not session.running and not found["more"]
    else:
        found = await asyncio.to_thread(
            session_log.backward, path, wanted.before, limit=wanted.limit, until=until, read=read
        )
        complete = not session.running and wanted.before >= found["next"]
    return answer(
        {**found, "complete": complete, "elsewhere": None if ours else session.host, "seq": seq}
    )


async def markers(request: Request) -> Response:
    """GET /api/v1/sessions/{id}/markers."""
    here, wanted = door(request), params.query(request, common_shapes.PageQuery)
    after = params.position(wanted.cursor)
    async with reading(here.db):
        session = await _session(here, params.number(request))
        found = await marker_results.page(here.db, session.id, limit=wanted.limit, position=after)
        seq = await changes.last(here.db)
    return page(request, [serialize.mark(each) for each in found.items], found.position, seq)


async def searched(request: Request) -> Response:
    """GET /api/v1/sessions/{id}/searches."""
    here, wanted = door(request), params.query(request, common_shapes.PageQuery)
    async with reading(here.db):
        session = await _session(here, params.number(request))
        found = await searches.of(here.db, session.id)
        some, behind = params.part_of(found, wanted.cursor, wanted.limit)
        ids = {MemoryId(hit.memory_id) for each in some for hit in each.hits}
        held = await memories.several(here.db, sorted(ids))
        seq = await changes.last(here.db)
    return page(request, [_search(each, held) for each in some], behind, seq)


async def take(request: Request) -> Response:
    """PUT /api/v1/markers/{id}/taken."""
    here = door(request)
    await params.body(request, common_shapes.Empty)
    mark = await ignored.take(
        here.db,
        params.number(request),
        now=here.now(),
        redact=here.redact,
        known=here.known(),
        lexicon=here.lexicon,
    )
    return versioned(serialize.mark(mark))


async def ingest_rest(request: Request) -> Response:
    """POST /api/v1/sessions/{id}/markers."""
    here, number = door(request), params.number(request)
    await params.body(request, common_shapes.Empty)
    session = await leftover.leftover(here.db, number)
    file = here.session_files / f"{session.output}.jsonl"
    if not await asyncio.to_thread(file.is_file):
        raise Conflict(f"The file of session {number} is not here: {file}.")
    ingest = Ingest(here.db, session, here.redact, here.known(), lexicon=here.lexicon)
    work = leftover.ingest_leftover(ingest, file, here.brake, now=here.now)
    await request.app.state.jobs.start(f"the rest of session {number}", work)
    return versioned(serialize.session(session), 202)


async def chain(request: Request) -> Response:
    """GET /api/v1/sessions/{id}/chain."""
    here, number = door(request), params.number(request)
    async with reading(here.db):
        await _session(here, number)
        found = await chains.told(here.db, number)
        seq = await changes.last(here.db)
    last = found.sessions[-1]
    return answer(
        {
            "items": [serialize.session(each) for each in found.sessions],
            "handoffs": [serialize.escalation(each) for each in found.handed],
            "findings": [serialize.finding(each) for each in found.found],
            "uses": [serialize.use(each) for each in found.uses],
            "status": last.status,
            "reason": last.reason or last.response,
            "cost_usd": found.cost_usd,
            "seq": seq,
        }
    )


async def settle(request: Request) -> Response:
    """PUT /api/v1/escalations/{id}/settled."""
    here, number = door(request), params.number(request)
    await params.body(request, common_shapes.Empty)
    return answer(serialize.escalation(await chains.settle(here.db, number, now=here.now())))


async def queue(request: Request) -> Response:
    """GET /api/v1/requests."""
    here, wanted = door(request), params.query(request, shapes.RequestQuery)
    position = params.position(wanted.cursor)
    async with reading(here.db):
        found = await requests.page(here.db, wanted.state, limit=wanted.limit, position=position)
        seq = await changes.last(here.db)
    return page(request, [serialize.request(each) for each in found.items], found.position, seq)


async def wish(request: Request) -> Response:
    """GET /api/v1/requests/{id}."""
    found = await requests.get(door(request).db, params.number(request))
    if found is None:
        raise NotFound(f"There is no request {params.number(request)}.")
    return versioned(serialize.request(found))


async def cancel(request: Request) -> Response:
    """DELETE /api/v1/requests/{id}."""
    here = door(request)
    await lifecycle.cancel(here.db, params.number(request), now=here.now())
    return Response(status_code=204)


def _rules(here: Door, values: Mapping[str, Any]) -> list[Wrong]:
    plan = Plan(services=tuple(values.get("services") or ()))
    wrong = wrong_of(lambda: lifecycle.checked(plan, here.services(), here.max_tier))
    return [*wrong, *_not_here(here, values.get("engine"))]


def _not_here(here: Door, name: str | None) -> list[Wrong]:
    if name is None:
        return []
    found = next((each for each in here.engines if each.name == name), None)
    if found is None:
        names = ", ".join(each.name for each in here.engines)
        return [Wrong("engine", f"{name!r} is not one of {names}")]
    why_not = found.probe()
    return [Wrong("engine", f"cannot run here: {why_not}")] if why_not else []


def _search(each: Search, held: Mapping[MemoryId, Memory]) -> dict[str, Any]:
    shown = [(hit, held.get(MemoryId(hit.memory_id))) for hit in each.hits]
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
            for hit, memory in shown
        ],
        "at": serialize.at(each.at),
    }


def _spelled(here: Door, name: str) -> str:
    service = here.services().find(name)
    return service.name if service else name


async def _session(here: Door, session_id: int) -> Session:
    session = await sessions.get(here.db, session_id)
    if session is None:
        raise NotFound(f"There is no session {session_id}.")
    return session
