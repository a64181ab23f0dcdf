"""The lease of the supervisor: who is the leader, and the epoch that fences off a former one."""

from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.change import ChangeOp
from lamplighter.domain.errors import LeadershipLost
from lamplighter.domain.services.leader import Leader
from lamplighter.formats import serialize
from lamplighter.repository.store import changes
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.statements import Fetch, Statement
from lamplighter.repository.store.tables import leases

ENTITY = "supervisor"
SUPERVISOR = "supervisor"
_EPOCH = Statement(sa.select(leases.c.epoch).where(leases.c.name == SUPERVISOR))


async def acquire(
    db: Database,
    *,
    pid: int,
    engine: str,
    interval_seconds: float,
    dry_run: bool,
    now: datetime,
) -> Leader:
    """Become the leader, in a new epoch; call it while holding the lock."""
    values = {
        "pid": pid,
        "engine": engine,
        "interval_seconds": interval_seconds,
        "dry_run": dry_run,
        "heartbeat_at": now,
        "next_round_at": None,
        "session_id": None,
    }
    if await get(db) is None:
        await db.execute(sa.insert(leases).values(name=SUPERVISOR, epoch=0, **values))
    return await _update(db, {"epoch": leases.c.epoch + 1, **values}, now=now)


_LEADER: Final = Statement(sa.select(leases).where(leases.c.name == SUPERVISOR))


async def get(db: Database) -> Leader | None:
    """Return the current leader, or the last."""
    return await db.fetch(leader_fetch())


def leader_fetch() -> Fetch[Leader | None]:
    """Build the fetch of the current leader, or the last."""
    return Fetch([_LEADER()], lambda found: _leader(found[0][0]) if found[0] else None)


async def ensure_leader(db: Database, epoch: int) -> None:
    """Verify that the supervisor of an epoch is still the leader; raises LeadershipLost."""
    now = await db.fetch_val(_EPOCH())
    if now != epoch:
        raise LeadershipLost(
            f"Another supervisor is the leader (epoch {now}); this one was leader in epoch {epoch}."
        )


async def record_heartbeat(db: Database, epoch: int, *, now: datetime) -> None:
    """Record a heartbeat of the supervisor, without a change in the feed."""
    await db.execute(heartbeat_statement(epoch, now=now))


def heartbeat_statement(epoch: int, *, now: datetime) -> sa.Update:
    """Build the statement that writes the heartbeat of an epoch, and of no later epoch."""
    return (
        sa.update(leases)
        .where(leases.c.name == SUPERVISOR)
        .where(leases.c.epoch == epoch)
        .values(heartbeat_at=now)
    )


def unchanged(leader: Leader) -> sa.Select[Any]:
    """Build the query that finds a row while the leader has sent no further heartbeat."""
    return (
        sa.select(leases.c.id)
        .where(leases.c.name == SUPERVISOR)
        .where(leases.c.epoch == leader.epoch)
        .where(leases.c.heartbeat_at == leader.heartbeat_at)
    )


async def update_status(db: Database, *, now: datetime, **values: Any) -> Leader:
    """Store and publish the status of the supervisor (session_id, next_round_at, pid)."""
    return await _update(db, {"heartbeat_at": now, **values}, now=now)


async def clear_session(db: Database, session_id: int, *, now: datetime) -> None:
    """Clear the session in the status of the supervisor, if it is this session."""
    leader = await get(db)
    if leader is not None and leader.session_id == session_id:
        await update_status(db, session_id=None, now=now)


async def _update(db: Database, values: dict[str, Any], *, now: datetime) -> Leader:
    statement = (
        sa.update(leases)
        .where(leases.c.name == SUPERVISOR)
        .values(**values, version=leases.c.version + 1)
        .returning(leases)
    )
    leader = _leader(await db.fetch_one(statement))
    row = serialize.leader(leader, now=now)
    await changes.append(db, ENTITY, 1, ChangeOp.UPDATED, now=now, version=leader.version, row=row)
    return leader


def _leader(row: Any) -> Leader:
    return Leader(**{name: row[name] for name in row if name not in ("id", "name")})
