"""Acts on many memories at once."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import params
from lamplighter.api.context import Door, door
from lamplighter.api.memory import shapes
from lamplighter.api.memory.memories import filter_of, finite
from lamplighter.api.responses import answer
from lamplighter.domain.errors import Invalid, Wrong
from lamplighter.formats import serialize
from lamplighter.repository import reading
from lamplighter.repository.feed import changes
from lamplighter.repository.memory.memories import Filter
from lamplighter.usecases.memory import bulk

MEANT = {"confidence": "the confidence to set", "adjust": "what to add to each confidence"}
EVERY = 'is empty, which is every memory: if that is meant, say "all": true beside it'


async def act(request: Request) -> Response:
    """POST /api/v1/memories/bulk."""
    here, given = door(request), await params.body(request, shapes.Bulk)
    wanted = _act(given)
    if given.preview:
        return await _preview(here, given, wanted)
    done = await bulk.act_on(here.db, await _chosen(here, given), wanted, now=here.now())
    ids = {} if given.ids is None else {"ids": done.ids}
    return answer(await _said(here, done) | ids)


async def _preview(here: Door, given: shapes.Bulk, wanted: bulk.Act) -> Response:
    async with reading(here.db):
        chosen = await _chosen(here, given)
        found = await bulk.foresee(here.db, chosen, wanted, now=here.now())
        seq = await changes.last(here.db)
    examples = [
        {
            "before": serialize.memory(before),
            "after": None if after is None else serialize.memory(after),
        }
        for before, after in found.examples
    ]
    preview = {
        "matched": found.matched,
        "turn_inactive": found.falling,
        "turn_active": found.rising,
        "examples": examples,
    }
    return answer(
        {
            "changed": found.changed,
            "left": found.left,
            "seq": seq,
            "act": None,
            "preview": preview,
        }
    )


async def _said(here: Door, done: bulk.Done) -> dict[str, Any]:
    seq = await changes.last(here.db)
    return {"changed": len(done.ids), "left": done.left, "seq": seq, "act": done.act}


async def _chosen(here: Door, given: shapes.Bulk) -> list[int] | Filter:
    if given.ids is not None and given.filter is None:
        return given.ids
    if given.filter is not None and given.ids is None:
        found = await filter_of(here, given.filter)
        if found.everything and not given.all:
            raise Invalid(Wrong("filter", EVERY))
        return found
    raise Invalid(Wrong("ids", "or a filter says which memories: one of the two"))


def _act(given: shapes.Bulk) -> bulk.Act:
    if given.action not in MEANT:
        return bulk.Act(action=given.action)
    if given.value is None:
        raise Invalid(Wrong("value", f"is missing: {MEANT[given.action]}"))
    return bulk.Act(action=given.action, value=finite(given.value))
