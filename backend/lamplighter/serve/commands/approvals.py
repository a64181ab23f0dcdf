"""Approvals, for the command line: with or without a running server."""

import getpass
import os
from datetime import datetime
from typing import Any, Final

from lamplighter import clock
from lamplighter.config.settings import Settings
from lamplighter.domain.actions.approval import (
    Approval,
    ApprovalAnswer,
    ApprovalChoice,
    ApprovalState,
)
from lamplighter.domain.errors import Unavailable
from lamplighter.domain.memory.memory import MemoryId
from lamplighter.domain.services import cooldown
from lamplighter.domain.text import format_time
from lamplighter.engines.process import MARK
from lamplighter.formats import serialize
from lamplighter.repository import Database, reading
from lamplighter.repository.memory import memories
from lamplighter.repository.sessions import approvals as rows
from lamplighter.repository.sessions.approvals import ApprovalFilter
from lamplighter.serve import home
from lamplighter.serve.local.queries import QueryContext
from lamplighter.usecases.services import act
from lamplighter.usecases.sessions import approvals

LIST_LIMIT: Final = 200


async def list_approvals(here: QueryContext, *, whole: bool) -> dict[str, Any]:
    """Return the approvals that wait, the longest first; the whole of them newest first."""
    wanted = ApprovalFilter(state=None if whole else ApprovalState.OPEN)
    found, now = await rows.page(here.db, wanted, limit=LIST_LIMIT), clock.now()
    items = [each for each in found.items if whole or not each.expired(now=now)]
    return {"items": [_as_json(each, now=now) for each in items]}


async def get_approval(here: QueryContext, *, number: int) -> dict[str, Any]:
    """Return an approval with what helps to decide it; raises NotFound.

    That is: what its session knew of the service, and what is left of the cooldown.
    """
    now = clock.now()
    async with reading(here.db):
        found = await approvals.get(here.db, number)
        held = await memories.by_ids(here.db, [MemoryId(each) for each in found.memories])
        usages = (await act.usage_by_service(here.db, [found.service], now=now))[found.service]
    usage = next((one for one in usages if one.action is found.action), None)
    return {
        **_as_json(found, now=now),
        "told": [serialize.memory(each) for each in held.values()],
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


def decide(
    settings: Settings, number: int, answer: ApprovalAnswer, *, at_once: bool = False
) -> Approval:
    """Decide on an approval and return the resulting one; `at_once` approves an edit too.

    Raises NotFound, Invalid and Conflict, and Unavailable within a session: what
    an engine runs never says yes to itself.
    """
    if os.environ.get(MARK):
        raise Unavailable("A session cannot decide on approvals. Ask a person.")
    return home.run(settings, lambda db: _decide(settings, db, number, answer, at_once))


async def _decide(
    settings: Settings, db: Database, number: int, answer: ApprovalAnswer, at_once: bool
) -> Approval:
    by, here = _who(), home.context(settings, db)
    decided = await approvals.decide(here, number, answer, by=by)
    if not at_once:
        return decided
    yes = ApprovalAnswer(choice=ApprovalChoice.APPROVE)
    return await approvals.decide(here, decided.id, yes, by=by)


def _who() -> str:
    try:
        return f"{getpass.getuser()} (command line)"
    except (KeyError, OSError):  # a container may run as a user that has no name
        return "command line"
