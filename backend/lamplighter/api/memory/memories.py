"""Memories: listed, read, added, corrected and deleted."""

import math
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import common_shapes, params
from lamplighter.api.access import project_wall
from lamplighter.api.context import Door, door
from lamplighter.api.memory import shapes
from lamplighter.api.responses import answer, page, versioned
from lamplighter.domain.errors import Invalid, Wrong, wrong_of
from lamplighter.domain.memory.admit import admitted_edit
from lamplighter.domain.memory.memory import (
    GENERAL,
    NO_KEY,
    Candidate,
    Category,
    Edit,
    Source,
    Trust,
)
from lamplighter.domain.project import project_of
from lamplighter.domain.search import period
from lamplighter.domain.services.service import fold
from lamplighter.formats import serialize
from lamplighter.repository import reading
from lamplighter.repository.feed import changes
from lamplighter.repository.memory import facets as counts
from lamplighter.repository.memory import history, memories
from lamplighter.repository.memory.memories import Filter, Order, Sort, View
from lamplighter.usecases.memory import curate, undo
from lamplighter.usecases.memory.evidence import ground
from lamplighter.usecases.memory.service_names import spelled

SOON: Final = timedelta(days=30)
"""How far the view of those that fade looks ahead."""


async def index(request: Request) -> Response:
    """GET /api/v1/memories."""
    here, wanted = door(request), params.query(request, shapes.MemoryQuery)
    position = params.position(wanted.cursor)
    at = _moment(wanted, here.now())
    async with reading(here.db):
        chosen = replace(await _wanted(request, wanted), ids=tuple(wanted.ids))
        found = await memories.page(
            here.db, chosen, sort=_order(wanted), limit=wanted.limit, position=position, at=at
        )
        total = await memories.count(here.db, chosen, at=at)
        seq = await changes.last(here.db)
    items = [serialize.memory(memory) for memory in found.items]
    return page(request, items, found.position, seq, total=total, **_as_of(at))


async def facets(request: Request) -> Response:
    """GET /api/v1/memories/facets."""
    here, wanted = door(request), params.query(request, shapes.FacetQuery)
    at = _moment(wanted, here.now())
    async with reading(here.db):
        chosen = await _wanted(request, wanted)
        services = await counts.services(here.db, chosen, at=at)
        categories = await counts.categories(here.db, chosen, at=at)
        projects = await counts.projects(here.db, chosen, at=at)
        states = await counts.states(here.db, chosen, at=at)
        seq = await changes.last(here.db)
    return answer(
        {
            "services": [{"service": name, "count": count} for name, count in services],
            "categories": [{"category": name, "count": count} for name, count in categories],
            "projects": [{"project": name, "count": count} for name, count in projects],
            "states": states,
            "seq": seq,
            **_as_of(at),
        }
    )


async def views(request: Request) -> Response:
    """GET /api/v1/memories/views."""
    here, wanted = door(request), params.query(request, shapes.ViewQuery)
    async with reading(here.db):
        found = await counts.views(here.db, await _wanted(request, wanted))
        seq = await changes.last(here.db)
    return answer({"views": found, "seq": seq})


async def create(request: Request) -> Response:
    """POST /api/v1/memories."""
    here, given = door(request), await params.body(request, shapes.MemoryIn, rules)
    candidate = Candidate(
        category=given.category,
        service=given.service,
        observation=given.observation,
        confidence=finite(given.confidence),
        tier=0,
        session_id=None,
        source=Source.OPERATOR,
        trust=Trust.TRUSTED,
        title=given.title,
        tags=tuple(given.tags),
        project=given.project,
        scope=given.scope,
        topic_key=given.topic_key,
    )
    memory = await curate.create(
        here.db, candidate, now=here.now(), redact=here.redact, known=here.known()
    )
    location = f"/api/v1/memories/{memory.id}"
    return versioned(serialize.memory(memory), 201, Location=location)


async def show(request: Request) -> Response:
    """GET /api/v1/memories/{id}."""
    here, wanted = door(request), params.query(request, shapes.AsOfQuery)
    at = period.past(wanted.as_of, "as_of", now=here.now())
    async with reading(here.db):
        memory = await curate.get(here.db, params.number(request), at=at)
    return versioned({**serialize.memory(memory), **_as_of(at)})


async def update(request: Request) -> Response:
    """PATCH /api/v1/memories/{id}."""
    here, memory_id = door(request), params.number(request)
    given = await params.body(request, shapes.MemoryEdit, rules)
    memory = await curate.edit(
        here.db,
        memory_id,
        _edit(given),
        version=params.version(request, memory_id),
        now=here.now(),
        redact=here.redact,
        known=here.known(),
    )
    return versioned(serialize.memory(memory))


async def delete(request: Request) -> Response:
    """DELETE /api/v1/memories/{id}."""
    here, memory_id = door(request), params.number(request)
    version = params.version(request, memory_id)
    await curate.delete(here.db, memory_id, version=version, now=here.now())
    return Response(status_code=204)


async def past(request: Request) -> Response:
    """GET /api/v1/memories/{id}/history."""
    here, wanted = door(request), params.query(request, common_shapes.PageQuery)
    memory_id, position = params.number(request), params.position(wanted.cursor)
    async with reading(here.db):
        found = await history.of(here.db, memory_id, limit=wanted.limit, position=position)
        if not found.items:
            await curate.get(here.db, memory_id)
        items = await undo.shown(here.db, memory_id, found.items)
        seq = await changes.last(here.db)
    return page(request, [entry(each, undoable=able) for each, able in items], found.position, seq)


async def grounds(request: Request) -> Response:
    """GET /api/v1/memories/{id}/grounds."""
    here, wanted = door(request), params.query(request, shapes.GroundsQuery)
    found = await ground(here.db, params.number(request), limit=wanted.limit)
    return answer(found.as_json())


async def undone(request: Request) -> Response:
    """POST /api/v1/memories/{id}/history/{entry}/undo."""
    here, memory_id = door(request), params.number(request)
    memory = await undo.undo_step(
        here.db,
        memory_id,
        params.number(request, "entry"),
        version=params.version(request, memory_id),
        now=here.now(),
    )
    return versioned(serialize.memory(memory))


def _as_of(at: datetime | None) -> dict[str, str | None]:
    return {} if at is None else {"as_of": serialize.at(at)}


async def _wanted(request: Request, wanted: shapes.MemoryQuery | shapes.ViewQuery) -> Filter:
    """Return what a query asks for, of what its caller finds."""
    chosen = await filter_of(door(request), wanted)
    return replace(chosen, finds=await project_wall.project_bound(request))


async def filter_of(here: Door, wanted: shapes.MemoryQuery | shapes.ViewQuery) -> Filter:
    """Return what a query asks for, its service as it is spelled here."""
    service = wanted.service
    if service is not None:
        plain_name = GENERAL if fold(service) == GENERAL else service
        service = await spelled(here.db, plain_name, here.known()) or GENERAL
    return Filter(
        q=wanted.q,
        service=service,
        category=wanted.category,
        kind=wanted.kind,
        operational=None if wanted.section is None else wanted.section == "operational",
        project=None if wanted.project is None else project_of(wanted.project),
        scope=wanted.scope,
        session_id=wanted.session,
        active={"active": True, "inactive": False}.get(wanted.state),
        in_review=wanted.state == "review",
        view=None if wanted.view is None else View(wanted.view),
        by=here.now() + SOON,
    )


def _moment(wanted: shapes.MemoryQuery | shapes.FacetQuery, now: datetime) -> datetime | None:
    """Return which moment is asked for. Raises Invalid: some things are known of now only."""
    at = period.past(wanted.as_of, "as_of", now=now)
    of_now = {"view": wanted.view is not None, "state": wanted.state == "review"}
    wrong = [Wrong(name, "is known of now only, not with as_of") for name in of_now if of_now[name]]
    if at is not None and wrong:
        raise Invalid(*wrong)
    return at


def _order(wanted: shapes.MemoryQuery) -> Order:
    sort = Sort(wanted.sort)
    falling = sort.falling if wanted.order is None else wanted.order == "desc"
    return Order(sort, backward=falling != sort.falling, grouped=wanted.group is not None)


def rules(values: Mapping[str, Any]) -> list[Wrong]:
    """Return what is wrong with the fields of a memory that somebody writes."""
    asked = {name: values.get(name) for name in ("observation", "service", "title", "topic_key")}
    edit = Edit(**{name: value for name, value in asked.items() if value is not msgspec.UNSET})
    return wrong_of(lambda: admitted_edit(edit, values.get("category", Category.TIMING), str))


def _edit(given: shapes.MemoryEdit) -> Edit:
    fields = {
        name: value
        for name, value in msgspec.structs.asdict(given).items()
        if value is not msgspec.UNSET
    }
    if "service" in fields and fields["service"] is None:
        fields["service"] = GENERAL
    if "topic_key" in fields and fields["topic_key"] is None:
        fields["topic_key"] = NO_KEY
    if "tags" in fields:
        fields["tags"] = tuple(fields["tags"])
    if "confidence" in fields:
        fields["confidence"] = finite(fields["confidence"])
    return Edit(**fields)


def finite(confidence: float) -> float:
    """Return a confidence that is a number. Raises Invalid."""
    if not math.isfinite(confidence):
        raise Invalid(Wrong("confidence", "is not a number"))
    return confidence


def entry(each: history.Entry, *, undoable: bool) -> dict[str, Any]:
    """Return a change of a memory as JSON."""
    return {
        **history.plainly(each),
        "review_id": each.review_id,
        "act": each.act_id,
        "undoable": undoable,
    }
