"""Which supervisor leads: what others read, and the epoch that fences a former one off."""

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
    """Lead from now on, in an epoch of its own; call it while holding the lock."""
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
    """Return the supervisor that leads or led last."""
    return await db.fetch(leader_fetch())


def leader_fetch() -> Fetch[Leader | None]:
    """Return what fetches the supervisor that leads or led last."""
    return Fetch([_LEADER()], lambda found: _leader(found[0][0]) if found[0] else None)


async def ensure_leader(db: Database, epoch: int) -> None:
    """Make sure that the supervisor of an epoch still leads; raises Deposed."""
    now = await db.fetch_val(_EPOCH())
    if now != epoch:
        raise LeadershipLost(
            f"Another supervisor is the leader (epoch {now}); this one was leader in epoch {epoch}."
        )


async def record_heartbeat(db: Database, epoch: int, *, now: datetime) -> None:
    """Show that the supervisor is alive; no screen needs to hear of it."""
    await db.execute(heartbeat_statement(epoch, now=now))


def heartbeat_statement(epoch: int, *, now: datetime) -> sa.Update:
    """Return the statement that writes the heartbeat of an epoch, and of no later one."""
    return (
        sa.update(leases)
        .where(leases.c.name == SUPERVISOR)
        .where(leases.c.epoch == epoch)
        .values(heartbeat_at=now)
    )


def unchanged(leader: Leader) -> sa.Select[Any]:
    """Return the query that finds a row while the leader has sent no heartbeat since."""
    return (
        sa.select(leases.c.id)
        .where(leases.c.name == SUPERVISOR)
        .where(leases.c.epoch == leader.epoch)
        .where(leases.c.heartbeat_at == leader.heartbeat_at)
    )


async def update_status(db: Database, *, now: datetime, **values: Any) -> Leader:
    """Store what the supervisor does now (session_id, next_round_at, pid) and tell everyone."""
    return await _update(db, {"heartbeat_at": now, **values}, now=now)


async def clear_session(db: Database, session_id: int, *, now: datetime) -> None:
    """Say that the supervisor is not busy with a session any more, where it was."""
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
