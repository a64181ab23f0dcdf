"""Uses of cooldowns, from the reservation of each use to its outcome."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.services.cooldown import (
    LONGEST_WINDOW,
    SPENDING_OUTCOMES,
    CooldownStatus,
    CooldownUse,
    UseOutcome,
    statuses_of,
)
from lamplighter.domain.services.service import ActionKind, is_same_service
from lamplighter.domain.sessions.session import Session
from lamplighter.formats import serialize
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import InIdList, Json, UTCDateTime
from lamplighter.repository.store.statements import (
    Fetch,
    Page,
    PublishedRows,
    Statement,
    equal_to,
    fetch_list,
    one_of,
    publisher,
)
from lamplighter.repository.store.tables import cooldowns, incident_sessions, reader

ENTITY: Final = "cooldown"
OPERATOR: Final = "operator"


@dataclass(frozen=True, slots=True, kw_only=True)
class CooldownFilter:
    """Filter for uses; None matches all."""

    service: str | None = None
    action: ActionKind | None = None


async def insert(
    db: Database,
    service: str,
    action: ActionKind,
    outcome: UseOutcome,
    *,
    session_id: int | None,
    tier: int,
    now: datetime,
    **columns: Any,
) -> CooldownUse:
    """Record a use. `columns` are further columns: name, text, attempts, marked, settled_at."""
    values = {"service": service, "action": action, "outcome": outcome}
    by = {"session_id": session_id, "tier": tier, "created_at": now}
    usual = {"text": "", "attempts": 0, "marked": False}
    return await _rows.insert(db, {**values, **by, **usual, **columns}, now=now)


async def insert_settled(
    db: Database,
    session: Session,
    service: str,
    action: ActionKind,
    outcome: UseOutcome,
    *,
    name: str,
    text: str,
    now: datetime,
) -> CooldownUse:
    """Record a use that a session requested and did not run: its outcome is known at once."""
    return await insert(
        db,
        service,
        action,
        outcome,
        session_id=session.id,
        tier=session.tier,
        name=name,
        text=text,
        settled_at=now,
        now=now,
    )


async def change(db: Database, use_id: int, *, now: datetime, **values: Any) -> CooldownUse:
    """Change a use: its outcome, text, attempts, healthy_after, or that a marker reported it."""
    return await _rows.change(db, use_id, values, now=now)


async def get(db: Database, use_id: int) -> CooldownUse | None:
    """Return one use."""
    return await _rows.get(db, use_id)


async def record_recovery(
    db: Database, use_id: int, seconds: float, *, session_id: int, now: datetime
) -> None:
    """Confirm a use by this session, and store how long its service took to recover."""
    conditions = [cooldowns.c.id == use_id, cooldowns.c.session_id == session_id]
    confirmed = sa.case(
        (cooldowns.c.outcome == UseOutcome.UNCONFIRMED, sa.literal(UseOutcome.SUCCESS.value)),
        else_=cooldowns.c.outcome,
    )
    await _rows.update(db, conditions, {"healthy_after": seconds, "outcome": confirmed}, now=now)


async def clear(
    db: Database,
    service: str,
    action: ActionKind | None,
    *,
    by: str,
    now: datetime,
    act_id: int | None = None,
) -> list[CooldownUse]:
    """Stop counting the uses of a service's cooldowns (of one, or of all).

    The case of the service name is ignored, as in the count of uses.
    """
    conditions = [
        cooldowns.c.service.in_(await _spellings(db, service)),
        cooldowns.c.outcome.in_(SPENDING_OUTCOMES),
        cooldowns.c.outcome != UseOutcome.RESERVED,
        cooldowns.c.cleared_at.is_(None),
    ]
    if action is not None:
        conditions.append(cooldowns.c.action == action)
    return await _rows.update(db, conditions, _cleared(now, by, act_id), now=now)


async def restore(db: Database, act_id: int, *, now: datetime) -> list[CooldownUse]:
    """Count the uses again that an operator's act cleared."""
    return await _rows.update(
        db, [cooldowns.c.act_id == act_id], _cleared(None, None, None), now=now
    )


def _cleared(at: datetime | None, by: str | None, act_id: int | None) -> dict[str, Any]:
    return {"cleared_at": at, "cleared_by": by, "act_id": act_id}


async def abandon(db: Database, session_id: int, text: str, *, now: datetime) -> list[CooldownUse]:
    """Settle the reserved uses of an ended session: they count as used."""
    conditions = [
        cooldowns.c.session_id == session_id,
        cooldowns.c.outcome == UseOutcome.RESERVED,
    ]
    values = {"outcome": UseOutcome.ABANDONED, "text": text, "settled_at": now}
    return await _rows.update(db, conditions, values, now=now)


async def unmarked(
    db: Database, session_ids: Sequence[int], service: str, action: ActionKind
) -> CooldownUse | None:
    """Return the newest use of some sessions that no marker has annotated."""
    return await _rows.last(
        db,
        cooldowns.c.session_id.in_(session_ids),
        cooldowns.c.service == service,
        cooldowns.c.action == action,
        cooldowns.c.outcome.in_(SPENDING_OUTCOMES),
        cooldowns.c.marked == 0,
    )


async def uses_since(db: Database, moment: datetime) -> list[CooldownUse]:
    """Return every use from a moment on, oldest first."""
    return await _rows.oldest(db, cooldowns.c.created_at >= moment)


_SPENT: Final = Statement(
    sa.select(cooldowns)
    .where(cooldowns.c.created_at >= sa.bindparam("moment", type_=UTCDateTime()))
    .where(one_of(cooldowns.c.outcome, SPENDING_OUTCOMES))
    .where(cooldowns.c.cleared_at.is_(None))
    .order_by(cooldowns.c.id),
    long=True,
)


async def spent(db: Database, *, now: datetime) -> list[CooldownUse]:
    """Return the uses that took a slot and can still occupy it, oldest first."""
    return await db.fetch(spent_fetch(now))


def spent_fetch(now: datetime) -> Fetch[list[CooldownUse]]:
    """Build the fetch of the uses that took a slot and can still occupy it."""
    return fetch_list(_SPENT(moment=now - LONGEST_WINDOW), _rows.read)


_OF_SESSIONS: Final = Statement(
    sa.select(cooldowns)
    .where(InIdList(cooldowns.c.session_id, sa.bindparam("ids", type_=sa.Text)))
    .order_by(cooldowns.c.id)
)


async def of_sessions(db: Database, session_ids: Sequence[int]) -> list[CooldownUse]:
    """Return the uses and refusals of some sessions, oldest first."""
    return await _rows.fetch(db, _OF_SESSIONS(ids=Json.written(list(session_ids))))


async def of_incidents(db: Database, incident_ids: Sequence[int]) -> list[tuple[int, CooldownUse]]:
    """Return the uses by the sessions of some incidents, each with its incident, oldest first."""
    query = (
        sa.select(incident_sessions.c.incident_id, cooldowns)
        .join(incident_sessions, incident_sessions.c.session_id == cooldowns.c.session_id)
        .where(incident_sessions.c.incident_id.in_(list(incident_ids)))
        .where(cooldowns.c.outcome.in_(SPENDING_OUTCOMES))
        .order_by(cooldowns.c.id)
    )
    return [(row["incident_id"], _rows.read(row)) for row in await db.fetch_all(query)]


async def recent(db: Database, service: str, *, limit: int) -> list[CooldownUse]:
    """Return the last uses of a service's cooldowns that ran, newest first."""
    return await _rows.newest(
        db, cooldowns.c.service == service, cooldowns.c.outcome.in_(SPENDING_OUTCOMES), limit=limit
    )


async def last_deployment(db: Database, service: str, *, before: datetime) -> CooldownUse | None:
    """Return the last deployment before `before` that succeeded, confirmed or not."""
    return await _rows.last(
        db,
        sa.func.lower(cooldowns.c.service) == service.lower(),
        cooldowns.c.action == ActionKind.REDEPLOYMENT,
        cooldowns.c.outcome.in_((UseOutcome.SUCCESS, UseOutcome.UNCONFIRMED)),
        cooldowns.c.created_at < before,
    )


async def spelling(db: Database, service: str) -> str | None:
    """Return the spelling of a service in the stored uses, ignoring case."""
    return next(iter(await _spellings(db, service)), None)


async def page(
    db: Database, selection: CooldownFilter, *, limit: int, position: Sequence[Any] | None = None
) -> Page[CooldownUse]:
    """Return one page of uses and refusals, newest first."""
    return await _rows.page(
        db, *equal_to(cooldowns.c, **asdict(selection)), limit=limit, position=position
    )


async def _spellings(db: Database, service: str) -> list[str]:
    query = sa.select(cooldowns.c.service).distinct().order_by(cooldowns.c.service)
    names = [row["service"] for row in await db.fetch_all(query)]
    return [name for name in names if is_same_service(name, service)]


async def usage_of(
    db: Database, names: Sequence[str], *, now: datetime
) -> dict[str, tuple[CooldownStatus, ...]]:
    """Return the usage of each cooldown of some services, by service."""
    return statuses_of(names, await spent(db, now=now), now=now)


_rows: Final = PublishedRows(
    cooldowns, reader(CooldownUse), publisher(ENTITY, serialize.cooldown_use)
)
