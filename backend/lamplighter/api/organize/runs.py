"""Runs of the organizer: started, listed, read and undone."""

from contextlib import suppress
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import common_shapes, params
from lamplighter.api.context import ApiContext
from lamplighter.api.op import operation
from lamplighter.api.organize import shapes
from lamplighter.api.responses import answer, page
from lamplighter.domain.clients.agent import silent_agents
from lamplighter.domain.errors import LamplighterError
from lamplighter.formats.upkeep import organizer as as_json
from lamplighter.repository.memory import reviews
from lamplighter.repository.organize import runs
from lamplighter.repository.store import changes
from lamplighter.usecases.organize import run as organizer
from lamplighter.usecases.organize import view


@operation("GET", "/organizer/runs", "memories:read", shapes.OrganizerRunPage, across=True)
async def index(request: Request, here: ApiContext, query: common_shapes.PageQuery) -> Response:
    """List the runs of the organizer, newest first."""
    position = params.position(query.cursor)
    async with changes.snapshot(here.db) as seq:
        found = await runs.page(here.db, limit=query.limit, position=position)
        undone = await view.undone(here.db, found.items)
    items = [as_json.run(each, undone.get(each.id)) for each in found.items]
    return page(request, items, found.position, seq)


@operation(
    "POST", "/organizer/runs", "memories:write", shapes.OrganizerRunOut, status=202, problems=(409,)
)
async def create(here: ApiContext, body: common_shapes.Empty) -> Response:
    """Queue a run of the organizer; the supervisor begins it within seconds."""
    run = await organizer.queue(here.db, now=here.now())
    return answer(as_json.run(run), 202, headers={"Location": f"/api/v1/organizer/runs/{run.id}"})


@operation("POST", "/organizer/preview", "memories:read", shapes.OrganizerReportOut, across=True)
async def preview(here: ApiContext, body: common_shapes.Empty) -> dict[str, Any]:
    """Show what a run of the organizer would do now."""
    names: frozenset[str] = frozenset()
    with suppress(LamplighterError):  # a broken services.yaml has no names
        names = here.services().folded_names
    silent = silent_agents(here.active.agents)
    asks = bool(here.active.organize_models)
    found = await organizer.preview(here, names=names, silent=silent, asks=asks)
    seq = await changes.last_seq(here.db)
    return {"counts": found.counts, "examples": found.examples, "seq": seq}


@operation("GET", "/organizer/runs/{id:int}", "memories:read", shapes.OrganizerDiffOut, across=True)
async def show(here: ApiContext, number: int) -> dict[str, Any]:
    """Read a run with what it changed."""
    found = await view.diff(here.db, number)
    out = as_json.diff(found.run, found.undone_by, found.replacements)
    async with changes.snapshot(here.db) as seq:
        opened = await reviews.as_json(here.db, found.reviews)
    return {**out, "reviews": opened, "seq": seq}


@operation(
    "POST", "/organizer/runs/{id:int}/undo", "memories:write", shapes.RunUndoneOut, problems=(409,)
)
async def undo(here: ApiContext, body: common_shapes.Empty, number: int) -> dict[str, Any]:
    """Undo a run: every memory is as before; 409 names the rows that changed since."""
    done = await view.undo(here.db, number, now=here.now())
    return {"act": done.act, "changed": done.rows, "seq": await changes.last_seq(here.db)}
