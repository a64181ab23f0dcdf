"""Memories: listed, read, added, corrected and deleted."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import common_shapes, params
from lamplighter.api.access import project_wall
from lamplighter.api.access.project_wall import require_memory
from lamplighter.api.context import ApiContext, api_context
from lamplighter.api.memory import shapes
from lamplighter.api.op import operation
from lamplighter.api.responses import answer, page, versioned
from lamplighter.domain.errors import Invalid, InvalidField, collect_errors
from lamplighter.domain.memory.admit import admit_edit
from lamplighter.domain.memory.memory import (
    GENERAL,
    NONE_WORDS,
    Candidate,
    Category,
    Edit,
    Source,
    Trust,
)
from lamplighter.domain.search import period
from lamplighter.domain.services.service import normalize_service_name
from lamplighter.domain.text import normalize_project
from lamplighter.formats import serialize
from lamplighter.repository import Database, reading
from lamplighter.repository.memory import facets as counts
from lamplighter.repository.memory import history, json_rows, memories
from lamplighter.repository.memory.memories import MemoryFilter, Order, Sort, View, service_name
from lamplighter.repository.store import changes
from lamplighter.repository.store.statements import Page
from lamplighter.usecases.memory import curate, lookup, undo
from lamplighter.usecases.memory.evidence import evidence_of

FADING_WITHIN: Final = timedelta(days=30)
"""How far ahead the view of fading memories looks."""


@operation("GET", "/memories", "memories:read", shapes.MemoryPage)
async def index(request: Request, query: shapes.MemoryQuery) -> Response:
    """List memories."""
    here = api_context(request)
    position = params.position(query.cursor)
    at, before = _moment(query, here.now()), here.hub.version()
    async with changes.snapshot(here.db) as seq:
        chosen = replace(await _caller_filter(request, query), ids=tuple(query.ids))
        found = await _page(here.db, chosen, query, position=position, at=at)
        total = await _count(here, chosen, at=at, before=before, seq=seq)
    return page(request, found.items, found.position, seq, total=total, **_as_of(at))


@operation("GET", "/memories/facets", "memories:read", shapes.Facets)
async def facets(request: Request, query: shapes.FacetQuery) -> Response:
    """Count memories by service, category, project and state."""
    here = api_context(request)
    at = _moment(query, here.now())
    async with changes.snapshot(here.db) as seq:
        chosen = await _caller_filter(request, query)
        totals = await counts.facets(here.db, chosen, at=at)
    return answer(
        {
            "services": [{"service": name, "count": count} for name, count in totals.services],
            "categories": [{"category": name, "count": count} for name, count in totals.categories],
            "projects": [{"project": name, "count": count} for name, count in totals.projects],
            "states": totals.states,
            "seq": seq,
            **_as_of(at),
        }
    )


@operation("GET", "/memories/views", "memories:read", shapes.Views)
async def views(request: Request, query: shapes.ViewQuery) -> Response:
    """Count memories by view: fading soon, unused, single source, edited by a person."""
    here = api_context(request)
    async with changes.snapshot(here.db) as seq:
        found = await counts.views(here.db, await _caller_filter(request, query))
    return answer({"views": found, "seq": seq})


@operation(
    "POST", "/memories", "memories:write", shapes.MemoryOut, status=201, body=shapes.MemoryIn
)
async def create(request: Request) -> Response:
    """Add a memory."""
    here, body = api_context(request), await params.body(request, shapes.MemoryIn, rules)
    values = {**msgspec.structs.asdict(body), "tags": tuple(body.tags)}
    values["confidence"] = require_finite(body.confidence)
    values["expires_at"] = period.parse_future_moment(body.expires_at, "expires_at", now=here.now())
    candidate = Candidate(
        **values, tier=0, session_id=None, source=Source.OPERATOR, trust=Trust.TRUSTED
    )
    memory = await curate.create(here, candidate, services=here.services().names)
    location = f"/api/v1/memories/{memory.id}"
    return versioned(serialize.memory(memory), 201, Location=location)


@operation("GET", "/memories/{id:int}", "memories:read", shapes.MemoryOut, check=require_memory)
async def show(request: Request, query: shapes.AsOfQuery) -> Response:
    """Read a memory."""
    here = api_context(request)
    at = period.parse_elapsed_moment(query.as_of, "as_of", now=here.now())
    async with reading(here.db):
        memory = await lookup.get(here.db, params.number(request), at=at)
    return versioned({**serialize.memory(memory), **_as_of(at)})


@operation(
    "PATCH",
    "/memories/{id:int}",
    "memories:write",
    shapes.MemoryOut,
    body=shapes.MemoryEdit,
    matches=True,
)
async def update(request: Request) -> Response:
    """Edit a memory."""
    here, memory_id = api_context(request), params.number(request)
    body = await params.body(request, shapes.MemoryEdit, rules)
    memory = await curate.edit(
        here,
        memory_id,
        _edit(body, now=here.now()),
        version=params.version(request, memory_id),
        services=here.services().names,
    )
    return versioned(serialize.memory(memory))


@operation(
    "POST",
    "/memories/{id:int}/confirm",
    "memories:write",
    shapes.MemoryOut,
    problems=(409,),
    matches=True,
)
async def confirm(request: Request) -> Response:
    """Confirm a memory: it is trusted and no longer labeled as unverified."""
    here, memory_id = api_context(request), params.number(request)
    memory = await curate.confirm(
        here.db, memory_id, version=params.version(request, memory_id), now=here.now()
    )
    return versioned(serialize.memory(memory))


@operation("DELETE", "/memories/{id:int}", "memories:write", None, matches=True)
async def delete(request: Request) -> Response:
    """Move a memory to the trash."""
    here, memory_id = api_context(request), params.number(request)
    version = params.version(request, memory_id)
    await curate.delete(here.db, memory_id, version=version, now=here.now())
    return Response(status_code=204)


@operation(
    "GET", "/memories/{id:int}/history", "memories:read", shapes.HistoryPage, check=require_memory
)
async def read_history(request: Request, query: common_shapes.PageQuery) -> Response:
    """List the changes of a memory."""
    here = api_context(request)
    memory_id, position = params.number(request), params.position(query.cursor)
    async with changes.snapshot(here.db) as seq:
        found = await history.of_memory(here.db, memory_id, limit=query.limit, position=position)
        if not found.items:
            await lookup.get(here.db, memory_id)
        items = await undo.with_undo_state(here.db, memory_id, found.items)
    return page(request, [entry(each, undoable=able) for each, able in items], found.position, seq)


@operation(
    "GET",
    "/memories/{id:int}/evidence",
    "memories:read",
    shapes.EvidenceOut,
    deprecated_path="/memories/{id:int}/grounds",
    check=require_memory,
)
async def read_evidence(request: Request, query: shapes.EvidenceQuery) -> Response:
    """Read the evidence for a memory: its sources, the prompts that included it, its conflicts."""
    here = api_context(request)
    found = await evidence_of(here.db, params.number(request), limit=query.limit)
    return answer(found.as_json())


@operation(
    "POST",
    "/memories/{id:int}/history/{entry:int}/undo",
    "memories:write",
    shapes.MemoryOut,
    problems=(409,),
    matches=True,
)
async def undo_change(request: Request) -> Response:
    """Undo one change of a memory."""
    here, memory_id = api_context(request), params.number(request)
    memory = await undo.undo_step(
        here.db,
        memory_id,
        params.number(request, "entry"),
        version=params.version(request, memory_id),
        now=here.now(),
    )
    return versioned(serialize.memory(memory))


async def _page(
    db: Database,
    chosen: MemoryFilter,
    query: shapes.MemoryQuery,
    *,
    position: Sequence[Any] | None,
    at: datetime | None,
) -> Page[Mapping[str, Any]]:
    order, limit = _order(query), query.limit
    if at is None:
        return await json_rows.page(db, chosen, order, limit=limit, position=position)
    found = await memories.page(db, chosen, sort=order, limit=limit, position=position, at=at)
    return Page([serialize.memory(each) for each in found.items], found.position)


async def _count(
    here: ApiContext, chosen: MemoryFilter, *, at: datetime | None, before: int, seq: int
) -> int:
    if at is not None:
        return await memories.count(here.db, chosen, at=at)
    after = here.hub.version()
    return await here.matches.count(here.db, chosen, before=before, after=after, seq=seq)


def _as_of(at: datetime | None) -> dict[str, str | None]:
    return {} if at is None else {"as_of": serialize.format_moment(at)}


async def _caller_filter(
    request: Request, query: shapes.MemoryQuery | shapes.ViewQuery
) -> MemoryFilter:
    """Return the filter of a query, limited to the memories that its caller may read."""
    chosen = await filter_of(api_context(request), query)
    return replace(chosen, finds=await project_wall.project_bound(request))


async def filter_of(here: ApiContext, query: shapes.MemoryQuery | shapes.ViewQuery) -> MemoryFilter:
    """Return the filter of a query, with the declared spelling of its service."""
    service = query.service
    if service is not None:
        plain_name = GENERAL if normalize_service_name(service) == GENERAL else service
        service = await service_name(here.db, plain_name, here.services().names) or GENERAL
    return MemoryFilter(
        q=query.q,
        service=service,
        category=query.category,
        kind=query.kind,
        operational=None if query.section is None else query.section == "operational",
        project=None if query.project is None else normalize_project(query.project),
        scope=query.scope,
        session_id=query.session,
        active={"active": True, "inactive": False}.get(query.state),
        in_review=query.state == "review",
        view=None if query.view is None else View(query.view),
        by=here.now() + FADING_WITHIN if query.view == "fading" else None,
    )


def _moment(query: shapes.MemoryQuery | shapes.FacetQuery, now: datetime) -> datetime | None:
    """Return the moment of a query. Raises Invalid for filters that exist only for the present."""
    at = period.parse_elapsed_moment(query.as_of, "as_of", now=now)
    of_now = {"view": query.view is not None, "state": query.state == "review"}
    wrong = [InvalidField(name, "cannot be combined with as_of") for name in of_now if of_now[name]]
    if at is not None and wrong:
        raise Invalid(*wrong)
    return at


def _order(query: shapes.MemoryQuery) -> Order:
    sort = Sort(query.sort)
    falling = sort.falling if query.order is None else query.order == "desc"
    return Order(sort, backward=falling != sort.falling, grouped=query.group is not None)


def rules(values: Mapping[str, Any]) -> list[InvalidField]:
    """Return the invalid fields of a memory edit."""
    names = ("observation", "service", "title", "topic_key", "metadata")
    asked = {name: values.get(name) for name in names}
    edit = Edit(**{name: value for name, value in asked.items() if value is not msgspec.UNSET})
    return collect_errors(lambda: admit_edit(edit, values.get("category", Category.TIMING), str))


def _edit(body: shapes.MemoryEdit, *, now: datetime) -> Edit:
    fields = {
        name: value
        for name, value in msgspec.structs.asdict(body).items()
        if value is not msgspec.UNSET
    }
    if "tags" in fields:
        fields["tags"] = tuple(fields["tags"])
    if "confidence" in fields:
        fields["confidence"] = require_finite(fields["confidence"])
    if "expires_at" in fields:
        fields["expires_at"] = period.parse_future_moment(
            fields["expires_at"], "expires_at", now=now
        )
    taken_away = {name: NONE_WORDS[name] for name in NONE_WORDS if fields.get(name, "") is None}
    return Edit(**fields | taken_away)


def require_finite(confidence: float) -> float:
    """Return a confidence that is a number. Raises Invalid."""
    if not math.isfinite(confidence):
        raise Invalid(InvalidField("confidence", "is not a number"))
    return confidence


def entry(each: history.HistoryRecord, *, undoable: bool) -> dict[str, Any]:
    """Return a change of a memory as JSON."""
    return {
        **history.record_as_json(each),
        "review_id": each.review_id,
        "act": each.act_id,
        "undoable": undoable,
    }
