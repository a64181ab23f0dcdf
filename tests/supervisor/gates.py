"""Named services, and gates of sessions that may act."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import psutil

from contexts import OPEN, context
from lamplighter.domain.configuration import Configuration
from lamplighter.domain.memory.memory import Candidate, Category, Trust
from lamplighter.domain.services.cooldown import CooldownUse
from lamplighter.domain.services.service import Action, ActionKind, Service, Services
from lamplighter.domain.sessions.session import Session, SessionPlan
from lamplighter.repository import Database, writing
from lamplighter.repository.services import cooldowns, events
from lamplighter.repository.services.events import EventSelection
from lamplighter.repository.sessions import sessions
from lamplighter.repository.upkeep import leases
from lamplighter.supervisor.actions.gate import Gate
from lamplighter.usecases.context import Context
from lamplighter.usecases.memory import curate

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
WAIT_SECONDS = 30
RESTART = Action(name="restart", kind=ActionKind.RESTART, argv=("/bin/true",))
REDEPLOY = Action(name="redeployment", kind=ActionKind.REDEPLOYMENT, argv=("/bin/true",))
PAUSE = Action(name="pause", kind=ActionKind.RESTART, argv=("/bin/sleep", "60"))
FAILS = Action(name="fails", kind=ActionKind.RESTART, argv=("/bin/false",))
WEB = Service(name="Web", actions=(RESTART, REDEPLOY, PAUSE, FAILS))
OTHER = Service(name="other", actions=(RESTART,))
SERVICES = Services((WEB, OTHER))
EVERY_TIER = Configuration(shell_tiers=(1, 2, 3))
UNDER_WAY = "another action on this service is running"


async def opened(
    db: Database, *, tier: int = 3, engine: str = "exec", epoch: int = 0, **more: Any
) -> Session:
    """Open a session like the supervisor, in the leader's epoch unless another one is passed."""
    async with writing(db):
        leader = await leases.get(db) or await leases.acquire(
            db, pid=1, engine="exec", interval_seconds=60, dry_run=False, now=NOON
        )
        plan = SessionPlan(tier=tier, engine=engine, **more)
        return await sessions.insert(db, plan, model=None, epoch=epoch or leader.epoch, now=NOON)


def gate(db: Database, session: Session, **more: Any) -> Gate:
    own = {name: more.pop(name) for name in ("redact", "now") if name in more}
    here = Context(db=db, **{"redact": OPEN, "now": lambda: NOON, **own})
    given: dict[str, Any] = {"services": SERVICES, **more}
    return Gate(here=here, session=session, **given)


def with_action(*argv: str, **more: Any) -> Services:
    action = replace(RESTART, argv=argv, **more)
    return Services((Service(name="Web", actions=(action,)),))


async def uses(db: Database) -> list[CooldownUse]:
    return await cooldowns.uses_since(db, NOON - timedelta(days=9))


async def told(db: Database) -> list[tuple[str, str]]:
    found = await events.page(db, EventSelection(), limit=100)
    return [(each.level, each.text) for each in reversed(found.items)]


def running(word: str) -> list[int]:
    """Return the ids of processes whose command line contains this word."""
    return [
        each.pid
        for each in psutil.process_iter(["cmdline", "status"])
        if any(word in part for part in each.info["cmdline"] or [])
        and each.info["status"] != psutil.STATUS_ZOMBIE
    ]


async def until(what: Callable[[], object]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not what():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


async def known_to_fail(db: Database) -> None:
    """Store a person's observation that the first restart of Web fails."""
    said = Candidate(
        category=Category.REMEDIATION,
        service="Web",
        observation="The first restart fails and the second one works",
        tier=0,
        session_id=None,
        trust=Trust.TRUSTED,
    )
    await curate.create(context(db), said)
