"""Acts on many memories at once."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api.context import ApiContext, api_context
from lamplighter.api.memory import shapes
from lamplighter.api.memory.memories import filter_of, require_finite
from lamplighter.api.op import operation
from lamplighter.api.responses import answer
from lamplighter.domain.errors import Invalid, InvalidField
from lamplighter.formats import serialize
from lamplighter.repository.memory.memories import MemoryFilter
from lamplighter.repository.store import changes
from lamplighter.usecases.memory import bulk

VALUE_MEANINGS = {
    "confidence": "the new confidence",
    "adjust": ("the amount to add to each confidence"),
}
EMPTY_FILTER = 'is empty and matches every memory; send "all": true to confirm'


@operation("POST", "/memories/bulk", "memories:write", shapes.BulkResultOut)
async def act(request: Request, body: shapes.BulkIn) -> Response:
    """Delete, confirm or change several memories."""
    here = api_context(request)
    wanted = _act(body)
    if body.preview:
        return await _preview(here, body, wanted)
    done = await bulk.apply_action(here.db, await _selection(here, body), wanted, now=here.now())
    ids = {} if body.ids is None else {"ids": done.ids}
    return answer(await _result_out(here, done) | ids)


async def _preview(here: ApiContext, body: shapes.BulkIn, action: bulk.BulkAction) -> Response:
    async with changes.snapshot(here.db) as seq:
        chosen = await _selection(here, body)
        result = await bulk.preview(here.db, chosen, action, now=here.now())
    examples = [
        {
            "before": serialize.memory(before),
            "after": None if after is None else serialize.memory(after),
        }
        for before, after in result.examples
    ]
    preview = {
        "matched": result.matched,
        "turn_inactive": result.falling,
        "turn_active": result.rising,
        "examples": examples,
    }
    return answer(
        {
            "changed": result.changed,
            "left": result.left,
            "seq": seq,
            "act": None,
            "preview": preview,
        }
    )


async def _result_out(here: ApiContext, done: bulk.BulkResult) -> dict[str, Any]:
    seq = await changes.last_seq(here.db)
    return {"changed": len(done.ids), "left": done.left, "seq": seq, "act": done.act}


async def _selection(here: ApiContext, body: shapes.BulkIn) -> list[int] | MemoryFilter:
    if body.ids is not None and body.filter is None:
        return body.ids
    if body.filter is not None and body.ids is None:
        found = await filter_of(here, body.filter)
        if found.everything and not body.all:
            raise Invalid(InvalidField("filter", EMPTY_FILTER))
        return found
    raise Invalid(InvalidField("ids", "is missing; send either ids or filter, not both"))


def _act(body: shapes.BulkIn) -> bulk.BulkAction:
    if body.action not in VALUE_MEANINGS:
        return bulk.BulkAction(action=body.action)
    if body.value is None:
        raise Invalid(InvalidField("value", f"is missing; send {VALUE_MEANINGS[body.action]}"))
    return bulk.BulkAction(action=body.action, value=require_finite(body.value))
