"""Acts on many memories at once."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import ask, shapes
from lamplighter.api.answer import answer
from lamplighter.api.door import Door, door
from lamplighter.api.memories import filter_of, finite
from lamplighter.domain import plain
from lamplighter.domain.errors import Invalid, Wrong
from lamplighter.repository import changes, reading
from lamplighter.repository.memories import Filter
from lamplighter.usecases import bulk

MEANT = {"confidence": "the confidence to set", "adjust": "what to add to each confidence"}
EVERY = 'is empty, which is every memory: if that is meant, say "all": true beside it'


async def act(request: Request) -> Response:
    """POST /api/v1/memories/bulk."""
    here, given = door(request), await ask.body(request, shapes.Bulk)
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
        {"before": plain.memory(before), "after": None if after is None else plain.memory(after)}
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
