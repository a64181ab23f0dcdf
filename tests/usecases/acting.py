"""Services with actions, and the stored records."""

from datetime import datetime, timedelta
from typing import Any

from examples import NOON, OPEN, rows, stream

from contexts import ingesting
from lamplighter.domain.services.cooldown import CooldownUse, UseOutcome
from lamplighter.domain.services.service import Action, ActionKind, Service, Services
from lamplighter.domain.sessions.session import Session
from lamplighter.repository import Database
from lamplighter.repository.services import cooldowns
from lamplighter.usecases.ingest import session_lines
from lamplighter.usecases.services import act

HOUR = timedelta(hours=1)
RESTART = Action(name="restart", kind=ActionKind.RESTART, argv=("/bin/true",))
REDEPLOY = Action(name="redeployment", kind=ActionKind.REDEPLOYMENT, argv=("/bin/true",))
WEB = Service(name="Web", actions=(RESTART, REDEPLOY))
SERVICES = Services((WEB,))
SUCCESS = "[COOLDOWN:restart:web] success - Healthy again"
FAILURE = "[COOLDOWN:restart:web] failure - Still down"


async def uses(db: Database) -> list[CooldownUse]:
    return await cooldowns.uses_since(db, NOON - timedelta(days=9))


async def used(db: Database, *, now: datetime = NOON, service: str = "Web") -> list[int]:
    """Return the current number of used slots of the restart and the redeployment."""
    return [each.used for each in (await cooldowns.usage_of(db, [service], now=now))[service]]


async def marked(db: Database, by: Session, *words: str, now: datetime = NOON, **more: Any) -> None:
    """Ingest some lines of a session's output."""
    taking = ingesting(db, by, more.pop("redact", OPEN), more.pop("known", ["Web"]))
    await session_lines.ingest(taking, stream(*words), now=now)


async def acted(
    db: Database,
    by: Session,
    *,
    ok: bool = True,
    outcome: UseOutcome | None = None,
    service: str = "Web",
    action: Action = RESTART,
    healthy_after: float | None = None,
    now: datetime = NOON,
) -> CooldownUse:
    """Let a session act through the gate; `now` is when the action's command ends."""
    use = await act.reserve(db, by, service, action, now=now)
    outcome = outcome or (UseOutcome.SUCCESS if ok else UseOutcome.FAILURE)
    return await act.settle(db, use, outcome, text="done", healthy_after=healthy_after, now=now)


async def texts(db: Database, level: str) -> list[str]:
    return [row["text"] for row in await rows(db, "events") if row["level"] == level]
