"""Named examples of the use case tests."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from contexts import learning
from lamplighter.domain.memory.memory import Candidate, Category, Memory
from lamplighter.domain.secrets.redact import Redactor
from lamplighter.domain.sessions.session import Session, SessionPlan, Trigger
from lamplighter.domain.sessions.transcript import Line
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import history, memories
from lamplighter.repository.memory.memories import MemoryFilter, Sort
from lamplighter.repository.sessions import sessions
from lamplighter.repository.store import tables
from lamplighter.repository.upkeep import leases
from lamplighter.usecases.memory.remember import LearningResult, remember

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)
OPEN = Redactor()
SECRETIVE = Redactor({"hunter2-hunter2": "DB_PASSWORD"})
SLOW_START = Candidate(
    category=Category.TIMING,
    service="jellyfin",
    observation="Takes 60s to start after restart",
    tier=1,
    session_id=None,
)


async def session(
    db: Database,
    *,
    tier: int = 1,
    engine: str = "exec",
    trigger: Trigger = Trigger.SCHEDULED,
    parent_id: int | None = None,
) -> Session:
    """Open a session like the supervisor, with the passed values."""
    async with writing(db):
        if await leases.get(db) is None:
            await leases.acquire(
                db, pid=1, engine=engine, interval_seconds=60, dry_run=False, now=NOON
            )
        plan = SessionPlan(tier=tier, engine=engine, trigger=trigger, parent_id=parent_id)
        return await sessions.insert(db, plan, model=None, epoch=1, now=NOON)


async def said(
    db: Database, by: Session | None, *, now: datetime = NOON, **more: Any
) -> LearningResult:
    """Remember SLOW_START with the changes in `more`, as a session or (None) as a person."""
    candidate = replace(SLOW_START, session_id=by.id if by else None, **more)
    return await remember(learning(db), candidate, now=now)


async def believed(db: Database, by: Session, **more: Any) -> Memory:
    """Store a session's observation as a memory, without comparing it with existing memories."""
    candidate = replace(SLOW_START, session_id=by.id, **more)
    async with writing(db):
        memory = await memories.insert(db, candidate, now=NOON)
        why = history.ChangeOrigin(cause="learned", actor="session", session_id=by.id)
        await history.append(db, None, memory, why, now=NOON)
    return memory


async def held(db: Database) -> list[Memory]:
    """Return all memories, oldest first."""
    found = await memories.page(db, MemoryFilter(), sort=Sort.CREATED, limit=1_000)
    return found.items[::-1]


async def rows(db: Database, table: str) -> list[dict[str, Any]]:
    """Return the rows of a table in the order of their keys."""
    found = getattr(tables, table)
    key = next(iter(found.primary_key))
    return [dict(row) for row in await db.fetch_all(found.select().order_by(key))]


def stream(*blocks: dict[str, Any] | str) -> list[Line]:
    """Return the lines of a stream: texts of the assistant, or unchanged messages."""
    found: list[Line] = []
    start = 0
    for block in blocks:
        line = text(block) if isinstance(block, str) else block
        content = json.dumps(line).encode()
        found.append(Line(start, start + len(content) + 1, content))
        start = found[-1].end
    return found


def text(words: str) -> dict[str, Any]:
    return {"type": "assistant", "message": {"content": [{"type": "text", "text": words}]}}
