"""Approvals, for the command line: with or without a running server."""

import asyncio
import getpass
import os
from dataclasses import dataclass
from typing import Final

from lamplighter import clock
from lamplighter.config.settings import Settings
from lamplighter.domain.actions.approval import (
    Approval,
    ApprovalAnswer,
    ApprovalChoice,
    ApprovalState,
)
from lamplighter.domain.errors import Unavailable
from lamplighter.domain.memory.memory import Memory, MemoryId
from lamplighter.domain.services.cooldown import CooldownStatus
from lamplighter.engines.process import MARK
from lamplighter.repository import Database, reading
from lamplighter.repository.memory import memories
from lamplighter.repository.sessions import approvals as rows
from lamplighter.repository.sessions.approvals import ApprovalFilter
from lamplighter.serve import home
from lamplighter.serve.commands.access import run_in_database
from lamplighter.usecases.services import act
from lamplighter.usecases.sessions import approvals

LIST_LIMIT: Final = 200


@dataclass(frozen=True, slots=True)
class ApprovalDetails:
    """An approval, what its session was told about the service, what is left of the cooldown."""

    approval: Approval
    told: tuple[Memory, ...]
    standing: CooldownStatus | None


def list_approvals(settings: Settings, *, whole: bool) -> list[Approval]:
    """Return the approvals that wait, the longest first; the whole of them newest first."""
    home.prepare(settings)
    wanted = ApprovalFilter(state=None if whole else ApprovalState.OPEN)
    found = asyncio.run(
        run_in_database(settings, lambda db: rows.page(db, wanted, limit=LIST_LIMIT))
    )
    now = clock.now()
    return [each for each in found.items if whole or not each.expired(now=now)]


def get_approval(settings: Settings, number: int) -> ApprovalDetails:
    """Return an approval with what helps to decide it; raises NotFound."""
    home.prepare(settings)
    return asyncio.run(run_in_database(settings, lambda db: _get_approval(db, number)))


def decide(
    settings: Settings, number: int, answer: ApprovalAnswer, *, at_once: bool = False
) -> Approval:
    """Decide on an approval and return the one that stands; `at_once` approves an edit too.

    Raises NotFound, Invalid and Conflict, and Unavailable within a session: what
    an engine runs never says yes to itself.
    """
    if os.environ.get(MARK):
        raise Unavailable("A session cannot decide on approvals. Ask a person.")
    home.prepare(settings)
    return asyncio.run(
        run_in_database(settings, lambda db: _decide(settings, db, number, answer, at_once))
    )


async def _get_approval(db: Database, number: int) -> ApprovalDetails:
    async with reading(db):
        found = await approvals.get(db, number)
        held = await memories.by_ids(db, [MemoryId(each) for each in found.memories])
        standings = (await act.usage_by_service(db, [found.service], now=clock.now()))[
            found.service
        ]
        standing = next((one for one in standings if one.action is found.action), None)
        return ApprovalDetails(found, tuple(held.values()), standing)


async def _decide(
    settings: Settings, db: Database, number: int, answer: ApprovalAnswer, at_once: bool
) -> Approval:
    by, here = _who(), home.context(settings, db)
    stands = await approvals.decide(here, number, answer, by=by)
    if not at_once:
        return stands
    yes = ApprovalAnswer(choice=ApprovalChoice.APPROVE)
    return await approvals.decide(here, stands.id, yes, by=by)


def _who() -> str:
    try:
        return f"{getpass.getuser()} (command line)"
    except (KeyError, OSError):  # a container may run as a user that has no name
        return "command line"
