"""Approvals, for the command line: with or without a running server."""

import asyncio
import getpass
import os
from dataclasses import dataclass
from typing import Final

from lamplighter import clock
from lamplighter.config.settings import Settings
from lamplighter.domain.actions.approval import Answer, Approval, ApprovalState, Choice
from lamplighter.domain.errors import Unavailable
from lamplighter.domain.memory.memory import Memory, MemoryId
from lamplighter.domain.services.cooldown import Standing
from lamplighter.engines.process import MARK
from lamplighter.repository import Database, reading
from lamplighter.repository.memory import memories
from lamplighter.repository.sessions import approvals as rows
from lamplighter.repository.sessions.approvals import Filter
from lamplighter.serve import home
from lamplighter.serve.commands.access import within
from lamplighter.usecases.services import act
from lamplighter.usecases.sessions import approvals

LISTED: Final = 200


@dataclass(frozen=True, slots=True)
class Case:
    """An approval, what its session was told about the service, what is left of the cooldown."""

    approval: Approval
    told: tuple[Memory, ...]
    standing: Standing | None


def listed(settings: Settings, *, whole: bool) -> list[Approval]:
    """Return the approvals that wait, the longest first; the whole of them newest first."""
    home.prepare(settings)
    wanted = Filter(state=None if whole else ApprovalState.OPEN)
    found = asyncio.run(within(settings, lambda db: rows.page(db, wanted, limit=LISTED)))
    now = clock.now()
    return [each for each in found.items if whole or not each.expired(now=now)]


def case(settings: Settings, number: int) -> Case:
    """Return an approval with what helps to decide it; raises NotFound."""
    home.prepare(settings)
    return asyncio.run(within(settings, lambda db: _case(db, number)))


def decide(settings: Settings, number: int, answer: Answer, *, at_once: bool = False) -> Approval:
    """Decide on an approval and return the one that stands; `at_once` approves an edit too.

    Raises NotFound, Invalid and Conflict, and Unavailable within a session: what
    an engine runs never says yes to itself.
    """
    if os.environ.get(MARK):
        raise Unavailable("A session decides on no approval; a person does.")
    home.prepare(settings)
    return asyncio.run(within(settings, lambda db: _decide(settings, db, number, answer, at_once)))


async def _case(db: Database, number: int) -> Case:
    async with reading(db):
        found = await approvals.get(db, number)
        held = await memories.several(db, [MemoryId(each) for each in found.memories])
        standings = (await act.standings(db, [found.service], now=clock.now()))[found.service]
        standing = next((one for one in standings if one.action is found.action), None)
        return Case(found, tuple(held.values()), standing)


async def _decide(
    settings: Settings, db: Database, number: int, answer: Answer, at_once: bool
) -> Approval:
    by, redact = _who(), home.secrets(settings)
    stands = await approvals.decide(db, number, answer, by=by, redact=redact, now=clock.now())
    if not at_once:
        return stands
    yes = Answer(choice=Choice.APPROVE)
    return await approvals.decide(db, stands.id, yes, by=by, redact=redact, now=clock.now())


def _who() -> str:
    try:
        return f"{getpass.getuser()} (command line)"
    except (KeyError, OSError):  # a container may run as a user that has no name
        return "command line"
