"""Approvals: the list, and one approval with its evidence."""

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from lamplighter import clock
from lamplighter.domain.actions.approval import Approval, ApprovalState
from lamplighter.domain.errors import NotFound
from lamplighter.domain.memory.memory import MemoryId
from lamplighter.domain.text import format_time
from lamplighter.formats import serialize
from lamplighter.repository import reading
from lamplighter.repository.sessions import approvals as rows
from lamplighter.repository.sessions.approvals import ApprovalFilter

if TYPE_CHECKING:
    from lamplighter.serve.queries import QueryContext

LIST_LIMIT: Final = 200


async def list_approvals(here: "QueryContext", *, whole: bool) -> dict[str, Any]:
    """Return the approvals that wait, the longest first; the whole of them newest first."""
    selection = ApprovalFilter(state=None if whole else ApprovalState.OPEN)
    found, now = await rows.page(here.db, selection, limit=LIST_LIMIT), clock.now()
    items = [each for each in found.items if whole or not each.expired(now=now)]
    return {"items": [_as_json(each, now=now) for each in items]}


async def get_approval(here: "QueryContext", *, number: int) -> dict[str, Any]:
    """Return an approval with its evidence; raises NotFound.

    The evidence is the memories of its session about the service, and the rest of the cooldown.
    """
    from lamplighter.domain.services import cooldown  # not needed by the list
    from lamplighter.repository.memory import memories
    from lamplighter.repository.services import cooldowns

    now = clock.now()
    async with reading(here.db):
        approval = await rows.get(here.db, number)
        if approval is None:
            raise NotFound(f"Approval {number} not found.")
        instead = await rows.replacement_of(here.db, number)
        existing = await memories.by_ids(here.db, [MemoryId(each) for each in approval.memories])
        usages = (await cooldowns.usage_of(here.db, [approval.service], now=now))[approval.service]
    usage = next((one for one in usages if one.action is approval.action), None)
    return {
        **_as_json(approval, now=now),
        "replaced_by": None if instead is None else instead.id,
        "told": [serialize.memory(each) for each in existing.values()],
        "cooldown": None if usage is None else cooldown.describe_slots(usage, now=now),
    }


def _as_json(each: Approval, *, now: datetime) -> dict[str, Any]:
    return {
        "approval": serialize.approval(each),
        "request": str(each.wish),
        "state": _state(each, now=now),
        "created": format_time(each.created_at, now),
        "expires": format_time(each.expires_at, now),
    }


def _state(each: Approval, *, now: datetime) -> str:
    if each.state is not ApprovalState.OPEN:
        return each.became
    if each.expired(now=now):
        return "expired"
    return f"expires in {each.seconds_left(now=now):.0f} s"
