"""Memories: listed, read, added, corrected and deleted, one or many; compared and audited."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import common_shapes, params
from lamplighter.api.access import project_wall
from lamplighter.api.access.project_wall import require_memory
from lamplighter.api.context import ApiContext
from lamplighter.api.memory import review_shapes, shapes
from lamplighter.api.op import operation
from lamplighter.api.params import Version
from lamplighter.api.responses import page, versioned
from lamplighter.domain.errors import Invalid, InvalidField, collect_errors
from lamplighter.domain.memory.admit import admit_edit
from lamplighter.domain.memory.memory import (
    GENERAL,
    NONE_WORDS,
    Candidate,
    Category,
    Edit,
    MemoryId,
    Source,
    Trust,
)
from lamplighter.domain.relate import relate
from lamplighter.domain.search import period
from lamplighter.domain.services.service import normalize_service_name
from lamplighter.domain.text import normalize_project
from lamplighter.formats import serialize
from lamplighter.formats.audit import as_json as belief_as_json
from lamplighter.repository import Database, reading
from lamplighter.repository.memory import facets as counts
from lamplighter.repository.memory import history, json_rows, memories
from lamplighter.repository.memory.memories import MemoryFilter, Order, Sort, View, service_name
from lamplighter.repository.store import changes
from lamplighter.repository.store.statements import Page
from lamplighter.usecases.memory import bulk, curate, lookup, undo
from lamplighter.usecases.memory.audit import page_on_topic
from lamplighter.usecases.memory.evidence import evidence_of
from lamplighter.usecases.memory.similar import find_similar
from lamplighter.usecases.sessions.prompt_effects import AuditEffect, prompt_effects

FADING_WITHIN: Final = timedelta(days=30)
"""How far ahead the view of fading memories looks."""

VALUE_MEANINGS: Final = {
    "confidence": "the new confidence",
    "adjust": "the amount to add to each confidence",
}
EMPTY_FILTER: Final = 'is empty and matches every memory; send "all": true to confirm'


def rules(values: Mapping[str, Any]) -> list[InvalidField]:
    """Return the invalid fields of a memory edit."""
    names = ("observation", "service", "title", "topic_key", "metadata")
    asked = {name: values.get(name) for name in names}
    edit = Edit(**{name: value for name, value in asked.items() if value is not msgspec.UNSET})
    return collect_errors(lambda: admit_edit(edit, values.get("category", Category.TIMING), str))


@operation("GET", "/memories", "memories:read", shapes.MemoryPage)
async def index(request: Request, here: ApiContext, query: shapes.MemoryQuery) -> Response:
    """List memories."""
    position = params.position(query.cursor)
    at, before = _moment(query, here.now()), here.hub.version()
    async with changes.snapshot(here.db) as seq:
        chosen = replace(await _caller_filter(request, here, query), ids=tuple(query.ids))
        result = await _page(here.db, chosen, query, position=position, at=at)
        if at is None:
            total = await here.matches.count(
                here.db, chosen, before=before, after=here.hub.version(), seq=seq
            )
        else:
            total = await memories.count(here.db, chosen, at=at)
    return page(request, result.items, result.position, seq, total=total, **_as_of(at))


@operation("GET", "/memories/facets", "memories:read", shapes.Facets)
async def facets(request: Request, here: ApiContext, query: shapes.FacetQuery) -> dict[str, Any]:
    """Count memories by service, category, project and state."""
    at = _moment(query, here.now())
    async with changes.snapshot(here.db) as seq:
        chosen = await _caller_filter(request, here, query)
        totals = await counts.facets(here.db, chosen, at=at)
    return {
        "services": [{"service": name, "count": count} for name, count in totals.services],
        "categories": [{"category": name, "count": count} for name, count in totals.categories],
        "projects": [{"project": name, "count": count} for name, count in totals.projects],
        "states": totals.states,
        "seq": seq,
        **_as_of(at),
    }


@operation("GET", "/memories/views", "memories:read", shapes.Views)
async def views(request: Request, here: ApiContext, query: shapes.ViewQuery) -> dict[str, Any]:
    """Count memories by view: fading soon, unused, single source, edited by a person."""
    async with changes.snapshot(here.db) as seq:
        found = await counts.views(here.db, await _caller_filter(request, here, query))
    return {"views": found, "seq": seq}


@operation("POST", "/memories", "memories:write", shapes.MemoryOut, status=201, rules=rules)
async def create(here: ApiContext, body: shapes.MemoryIn) -> Response:
    """Add a memory."""
    values = {**msgspec.structs.asdict(body), "tags": tuple(body.tags)}
    values["confidence"] = _finite(body.confidence)
    values["expires_at"] = period.parse_future_moment(body.expires_at, "expires_at", now=here.now())
    memory = await curate.create(here, _candidate(**values), services=here.services().names)
    location = f"/api/v1/memories/{memory.id}"
    return versioned(serialize.memory(memory), 201, Location=location)


@operation("GET", "/memories/{id:int}", "memories:read", shapes.MemoryOut, check=require_memory)
async def show(request: Request, here: ApiContext, query: shapes.AsOfQuery) -> Response:
    """Read a memory."""
    at = period.parse_elapsed_moment(query.as_of, "as_of", now=here.now())
    async with reading(here.db):
        memory = await lookup.get(here.db, params.number(request), at=at)
    return versioned({**serialize.memory(memory), **_as_of(at)})


@operation("PATCH", "/memories/{id:int}", "memories:write", shapes.MemoryOut, rules=rules)
async def update(
    here: ApiContext, number: int, body: shapes.MemoryEdit, version: Version
) -> Response:
    """Edit a memory."""
    edit = _edit(body, now=here.now())
    names = here.services().names
    memory = await curate.edit(here, number, edit, version=version, services=names)
    return versioned(serialize.memory(memory))


@operation(
    "POST", "/memories/{id:int}/confirm", "memories:write", shapes.MemoryOut, problems=(409,)
)
async def confirm(here: ApiContext, number: int, version: Version) -> Response:
    """Confirm a memory: it is trusted and no longer labeled as unverified."""
    memory = await curate.confirm(here.db, number, version=version, now=here.now())
    return versioned(serialize.memory(memory))


@operation("DELETE", "/memories/{id:int}", "memories:write", None)
async def delete(here: ApiContext, number: int, version: Version) -> None:
    """Move a memory to the trash."""
    await curate.delete(here.db, number, version=version, now=here.now())


@operation(
    "GET", "/memories/{id:int}/history", "memories:read", shapes.HistoryPage, check=require_memory
)
async def read_history(
    request: Request, here: ApiContext, query: common_shapes.PageQuery, number: int
) -> Response:
    """List the changes of a memory."""
    position = params.position(query.cursor)
    async with changes.snapshot(here.db) as seq:
        found = await history.of_memory(here.db, number, limit=query.limit, position=position)
        if not found.items:
            await lookup.get(here.db, number)
        items = await undo.with_undo_state(here.db, number, found.items)
    return page(request, [entry(each, undoable=able) for each, able in items], found.position, seq)


@operation(
    "GET",
    "/memories/{id:int}/evidence",
    "memories:read",
    shapes.EvidenceOut,
    deprecated_path="/memories/{id:int}/grounds",
    check=require_memory,
)
async def read_evidence(
    here: ApiContext, query: shapes.EvidenceQuery, number: int
) -> dict[str, Any]:
    """Read the evidence for a memory: its sources, the prompts that included it, its conflicts."""
    return (await evidence_of(here.db, number, limit=query.limit)).as_json()


@operation(
    "POST",
    "/memories/{id:int}/history/{entry:int}/undo",
    "memories:write",
    shapes.MemoryOut,
    problems=(409,),
)
async def undo_change(
    request: Request, here: ApiContext, number: int, version: Version
) -> Response:
    """Undo one change of a memory."""
    step = params.number(request, "entry")
    memory = await undo.undo_step(here.db, number, step, version=version, now=here.now())
    return versioned(serialize.memory(memory))


@operation("POST", "/memories/bulk", "memories:write", shapes.BulkResultOut)
async def change_many(here: ApiContext, body: shapes.BulkIn) -> dict[str, Any]:
    """Delete, confirm or change several memories."""
    action = _bulk_action(body)
    if body.preview:
        return await _preview(here, body, action)
    done = await bulk.apply_action(here.db, await _selection(here, body), action, now=here.now())
    seq = await changes.last_seq(here.db)
    result = {"changed": len(done.ids), "left": done.left, "seq": seq, "act": done.act}
    return result if body.ids is None else {**result, "ids": done.ids}


@operation(
    "POST", "/memories/similar", "memories:read", shapes.SimilarOut, across=True, rules=rules
)
async def list_similar(here: ApiContext, body: shapes.SimilarIn) -> dict[str, Any]:
    """Find active memories that match or contradict a text."""
    matches = await find_similar(
        here,
        _candidate(category=body.category, service=body.service, observation=body.observation),
        here.active.lexicon,
        services=here.services().names,
        without=None if body.without is None else MemoryId(body.without),
    )
    items = [
        {"memory": serialize.memory(each.memory), **serialize.verdict(each.verdict)}
        for each in matches
    ]
    return {"items": items}


@operation("POST", "/memories/relate", "memories:read", shapes.RelationOut)
async def relate_pair(here: ApiContext, body: shapes.RelateIn) -> dict[str, Any]:
    """Compare a new observation with an existing one."""
    found = relate(body.new, body.old, service=body.service, lexicon=here.active.lexicon)
    return serialize.verdict(found)


@operation("GET", "/audit", "memories:read", review_shapes.AuditPage, across=True)
async def audit(request: Request, here: ApiContext, query: review_shapes.AuditQuery) -> Response:
    """List all memories about a service or topic, with their evidence."""
    position, names = params.position(query.cursor), here.services().names
    effects: Mapping[MemoryId, AuditEffect] = {}
    async with changes.snapshot(here.db) as seq:
        result = await page_on_topic(
            here.db, query.topic, services=names, limit=query.limit, position=position
        )
        if query.prompt:
            beliefs = [each.memory for each in result.beliefs]
            budget = here.active.budget
            effects = await prompt_effects(here.db, beliefs, budget=budget, now=here.now())
    items = [
        {**belief_as_json(each), "prompt": None if effect is None else asdict(effect)}
        for each in result.beliefs
        for effect in [effects.get(each.memory.id)]
    ]
    states = {"active": result.active, "inactive": result.inactive}
    about = {"topic": result.topic, "service": result.service, "states": states}
    return page(request, items, result.position, seq, **about)


def _candidate(**values: Any) -> Candidate:
    return Candidate(**values, tier=0, session_id=None, source=Source.OPERATOR, trust=Trust.TRUSTED)


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


def _as_of(at: datetime | None) -> dict[str, str | None]:
    return {} if at is None else {"as_of": serialize.format_moment(at)}


async def _caller_filter(
    request: Request, here: ApiContext, query: shapes.ViewQuery
) -> MemoryFilter:
    """Return the filter of a query, limited to the memories that its caller may read."""
    chosen = await _filter(here, query)
    return replace(chosen, finds=await project_wall.project_bound(request))


async def _filter(here: ApiContext, query: shapes.ViewQuery) -> MemoryFilter:
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


def _moment(query: shapes.FacetQuery, now: datetime) -> datetime | None:
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


def _edit(body: shapes.MemoryEdit, *, now: datetime) -> Edit:
    fields = {
        name: value
        for name, value in msgspec.structs.asdict(body).items()
        if value is not msgspec.UNSET
    }
    if "tags" in fields:
        fields["tags"] = tuple(fields["tags"])
    if "confidence" in fields:
        fields["confidence"] = _finite(fields["confidence"])
    if "expires_at" in fields:
        fields["expires_at"] = period.parse_future_moment(
            fields["expires_at"], "expires_at", now=now
        )
    removed = {name: NONE_WORDS[name] for name in NONE_WORDS if fields.get(name, "") is None}
    return Edit(**fields | removed)


async def _preview(
    here: ApiContext, body: shapes.BulkIn, action: bulk.BulkAction
) -> dict[str, Any]:
    async with changes.snapshot(here.db) as seq:
        chosen = await _selection(here, body)
        result = await bulk.preview(here.db, chosen, action, now=here.now())
    preview = {
        "matched": result.matched,
        "turn_inactive": result.falling,
        "turn_active": result.rising,
        "examples": [
            {
                "before": serialize.memory(before),
                "after": None if after is None else serialize.memory(after),
            }
            for before, after in result.examples
        ],
    }
    return {
        "changed": result.changed,
        "left": result.left,
        "seq": seq,
        "act": None,
        "preview": preview,
    }


async def _selection(here: ApiContext, body: shapes.BulkIn) -> list[int] | MemoryFilter:
    if body.ids is not None and body.filter is None:
        return body.ids
    if body.filter is not None and body.ids is None:
        found = await _filter(here, body.filter)
        if found.everything and not body.all:
            raise Invalid(InvalidField("filter", EMPTY_FILTER))
        return found
    raise Invalid(InvalidField("ids", "is missing; send either ids or filter, not both"))


def _bulk_action(body: shapes.BulkIn) -> bulk.BulkAction:
    if body.action not in VALUE_MEANINGS:
        return bulk.BulkAction(action=body.action)
    if body.value is None:
        raise Invalid(InvalidField("value", f"is missing; send {VALUE_MEANINGS[body.action]}"))
    return bulk.BulkAction(action=body.action, value=_finite(body.value))


def _finite(confidence: float) -> float:
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
