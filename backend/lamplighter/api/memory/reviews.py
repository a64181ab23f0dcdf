"""Reviews: listed, read, resolved and reverted."""

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import params
from lamplighter.api.access.project_wall import project_bound
from lamplighter.api.context import ApiContext
from lamplighter.api.memory import review_shapes
from lamplighter.api.memory.memories import entry
from lamplighter.api.op import operation
from lamplighter.api.params import Version
from lamplighter.api.responses import page, versioned
from lamplighter.domain.memory.memory import GENERAL, MemoryId
from lamplighter.domain.memory.review import (
    Resolution,
    Review,
    ReviewAnswer,
    ReviewKind,
    ReviewState,
)
from lamplighter.formats import serialize
from lamplighter.repository import Database, reading
from lamplighter.repository.memory import exposures, history, reviews
from lamplighter.repository.memory.memories import service_name
from lamplighter.repository.memory.reviews import ReviewFilter
from lamplighter.repository.store import changes
from lamplighter.usecases.access.project_wall import get_visible
from lamplighter.usecases.memory import review, undo

LIST_LIMIT: Final = 20


@operation("GET", "/reviews", "reviews:read", review_shapes.ReviewPage)
async def index(request: Request, here: ApiContext, query: review_shapes.ReviewQuery) -> Response:
    """List reviews: pairs of conflicting memories."""
    position = params.position(query.cursor)
    async with changes.snapshot(here.db) as seq:
        project = await project_bound(request)
        chosen = await _filter(here, query, project)
        result = await reviews.page(here.db, chosen, limit=query.limit, position=position)
        items = await reviews.as_json(here.db, result.items)
        total = await reviews.count(here.db, chosen)
        waiting = 0 if project is not None else (await reviews.waiting_pages(here.db))[0]
    return page(request, items, result.position, seq, total=total, pages=waiting)


@operation("GET", "/reviews/{id:int}", "reviews:read", review_shapes.ReviewCaseOut)
async def show(request: Request, here: ApiContext, number: int) -> Response:
    """Read a review."""
    project = await project_bound(request)
    async with reading(here.db):
        found = await review.get(here.db, number)
        if project is not None:
            for side in (found.old_id, found.new_id):
                await get_visible(here.db, project, side)
        return versioned(await review_case_out(here.db, found))


@operation(
    "PUT",
    "/reviews/{id:int}/resolution",
    "reviews:write",
    review_shapes.ReviewCaseOut,
    problems=(409,),
)
async def resolve(
    request: Request,
    here: ApiContext,
    body: review_shapes.ResolutionIn,
    number: int,
    version: Version,
) -> Response:
    """Resolve a review."""
    answer = ReviewAnswer(
        resolution=Resolution(body.resolution),
        old_scope=body.old_scope,
        new_scope=body.new_scope,
        observation=body.observation,
    )
    await review.resolve(here, number, answer, version=version)
    return await show(request, here, number)


@operation(
    "DELETE",
    "/reviews/{id:int}/resolution",
    "reviews:write",
    review_shapes.ReviewCaseOut,
    problems=(409,),
)
async def reopen(request: Request, here: ApiContext, number: int, version: Version) -> Response:
    """Revert the resolution of a review."""
    await review.reopen(here.db, number, version=version, now=here.now())
    return await show(request, here, number)


async def review_case_out(db: Database, each: Review) -> dict[str, Any]:
    """Return a review as JSON, with all that helps to decide it."""
    sides = {"old": each.old_id, "new": each.new_id}
    [case] = await reviews.as_json(db, [each])
    return {
        **case,
        "sources": {side: await _sources(db, number) for side, number in sides.items()},
        "exposed": {
            side: await exposures.sessions_including(db, number, limit=LIST_LIMIT)
            for side, number in sides.items()
        },
        "exposed_counts": {
            side: await exposures.count_sessions_including(db, number)
            for side, number in sides.items()
        },
        "changes": await _changes(db, each),
    }


async def _sources(db: Database, memory_id: MemoryId) -> list[dict[str, Any]]:
    return [
        {"session_id": said.session_id, "at": serialize.format_moment(said.at), "cause": said.cause}
        for said in await history.reports_of(db, memory_id, limit=LIST_LIMIT)
    ]


async def _changes(db: Database, each: Review) -> list[dict[str, Any]]:
    made = await review.changes_of_resolution(db, each)
    shown: dict[int, bool] = {}
    for memory_id in dict.fromkeys(step.memory_id for step in made):
        mine = [step for step in made if step.memory_id == memory_id]
        shown |= {step.id: able for step, able in await undo.with_undo_state(db, memory_id, mine)}
    return [{**entry(step, undoable=shown[step.id]), "memory_id": step.memory_id} for step in made]


async def _filter(
    here: ApiContext, query: review_shapes.ReviewQuery, project: str | None
) -> ReviewFilter:
    service = query.service
    if service is not None:
        service = await service_name(here.db, service, here.services().names) or GENERAL
    return ReviewFilter(
        state=None if query.state == "all" else ReviewState(query.state),
        service=service,
        kind=None if query.kind is None else ReviewKind(query.kind),
        session=query.session,
        finds=project,
    )
