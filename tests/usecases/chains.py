"""Sessions that escalate services."""

from datetime import datetime, timedelta
from typing import Any

from examples import NOON, OPEN, rows, session, stream

from contexts import context, ingesting
from lamplighter.domain.configuration import Configuration
from lamplighter.domain.services.cooldown import UseOutcome
from lamplighter.domain.services.service import Action, ActionKind, Service, Services
from lamplighter.domain.sessions.session import CheckResult, Session, Status
from lamplighter.repository import Database, writing
from lamplighter.repository.services import checks
from lamplighter.usecases.ingest import session_lines
from lamplighter.usecases.services import act
from lamplighter.usecases.sessions import sessions
from lamplighter.usecases.sessions.sessions import SessionEnd

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
RESTART = Action(name="restart", kind=ActionKind.RESTART, argv=("/bin/true",))
REDEPLOY = Action(name="redeployment", kind=ActionKind.REDEPLOYMENT, argv=("/bin/true",))
DB = Service(name="db", actions=(RESTART, REDEPLOY))
WEB = Service(name="Web", actions=(RESTART,), depends_on=("db",))
BARE = Service(name="bare")
SERVICES = Services((DB, WEB, BARE))
NAMES = [each.name for each in SERVICES]


async def said(
    db: Database, by: Session, *words: str, max_tier: int = 3, redact: Any = OPEN
) -> None:
    taking = ingesting(db, by, redact, NAMES, max_tier=max_tier)
    await session_lines.ingest(taking, stream(*words), now=NOON)


async def finished(
    db: Database,
    by: Session,
    status: Status = Status.COMPLETED,
    *,
    max_tier: int = 3,
    now: datetime = NOON,
) -> Session:
    return await sessions.finish(
        context(db, now), Configuration(max_tier=max_tier), by, SessionEnd(status=status)
    )


async def states(db: Database) -> list[tuple[str, str, str]]:
    return [(row["service"], row["state"], row["why"]) for row in await rows(db, "escalations")]


async def seen(db: Database, by: Session, service: str, *, ok: bool, now: datetime = NOON) -> None:
    look = CheckResult(
        service=service, name="tcp", kind="tcp", ok=ok, detail="" if ok else "refused"
    )
    async with writing(db):
        await checks.insert(db, by.id, look, now=now)


async def used_up(db: Database, service: str = "Web") -> None:
    by = await session(db, tier=3)
    for _ in range(2):
        use = await act.reserve(db, by, service, RESTART, now=NOON)
        await act.settle(db, use, UseOutcome.FAILURE, text="exit 1", now=NOON)
    await finished(db, by)
