"""Queries on push checks: their keys, the signals of their jobs, and their evaluation."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.services.checks.push import (
    SIGNALS_STORED,
    PushSignal,
    PushState,
    SignalKind,
)
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.statements import Page, Rows, update_rows
from lamplighter.repository.store.tables import push_checks, push_signals, reader

MAX_WAITING: Final = 10_000
"""The maximum number of waiting signals per check; beyond that the oldest are removed."""


async def set_key(db: Database, state: PushState, key_hash: str, *, now: datetime) -> None:
    """Store the key of a check, replacing an earlier key, whose signals stay."""
    if not await update_rows(db, push_checks, *_of(state), key_hash=key_hash):
        statement = sa.insert(push_checks).values(**asdict(state), key_hash=key_hash)
        await db.execute(statement.values(created_at=now))


async def by_key(db: Database, key_hash: str) -> PushState | None:
    """Return the check with a key."""
    return await _checks.one(db, push_checks.c.key_hash == key_hash)


async def every(db: Database) -> list[PushState]:
    """Return all checks that have a key."""
    query = sa.select(push_checks).order_by(push_checks.c.service, push_checks.c.check)
    return await _checks.fetch(db, query)


async def update(db: Database, state: PushState) -> None:
    """Store the state of a check."""
    await update_rows(db, push_checks, *_of(state), **asdict(state))


async def insert_signal(
    db: Database,
    state: PushState,
    kind: SignalKind,
    *,
    exit_status: int | None,
    body: str,
    now: datetime,
) -> PushSignal:
    """Store a signal; of old signals, remove evaluated ones and the bodies of the others.

    If no supervisor evaluates signals for a long time, only the newest stay.
    """
    service, check = state.name
    signal = await _signals.store(
        db, service=service, check=check, kind=kind, exit_status=exit_status, body=body, at=now
    )
    if (last := await _before_newest(db, service, check, SIGNALS_STORED)) is not None:
        old = _sent(service, check) & (push_signals.c.id <= last)
        done = old & (push_signals.c.id <= state.evaluated_to)
        await db.execute(sa.delete(push_signals).where(done))
        await update_rows(db, push_signals, old, push_signals.c.body != "", body="")
    if (last := await _before_newest(db, service, check, MAX_WAITING)) is not None:
        beyond = _sent(service, check) & (push_signals.c.id <= last)
        await db.execute(sa.delete(push_signals).where(beyond))
    return signal


async def _before_newest(db: Database, service: str, check: str, count: int) -> int | None:
    """Return the ID of the newest signal before the `count` newest signals."""
    query = sa.select(push_signals.c.id).where(_sent(service, check))
    query = query.order_by(push_signals.c.id.desc()).offset(count).limit(1)
    found = await db.fetch_val(query)
    return None if found is None else int(found)


async def last_signals(db: Database) -> dict[tuple[str, str], int]:
    """Return the ID of the newest signal of each check."""
    names = push_signals.c.service, push_signals.c.check
    query = sa.select(*names, sa.func.max(push_signals.c.id).label("last")).group_by(*names)
    return {(row["service"], row["check"]): row["last"] for row in await db.fetch_all(query)}


async def count_signals(db: Database, service: str, check: str, *, since: datetime) -> int:
    """Return the number of signals of a check after a moment."""
    return await db.count_rows(push_signals, _sent(service, check), push_signals.c.at > since)


async def signals_after(db: Database, state: PushState, *, limit: int) -> list[PushSignal]:
    """Return the signals of a check that are not evaluated yet, oldest first."""
    new = push_signals.c.id > state.evaluated_to
    return await _signals.oldest(db, _sent(*state.name), new, limit=limit)


async def page(
    db: Database, service: str, check: str, *, limit: int, position: Sequence[Any] | None = None
) -> Page[PushSignal]:
    """Return one page of the signals of a check, newest first."""
    return await _signals.page(db, _sent(service, check), limit=limit, position=position)


def _of(state: PushState) -> tuple[sa.ColumnElement[bool], ...]:
    return push_checks.c.service == state.service, push_checks.c.check == state.check


def _sent(service: str, check: str) -> sa.ColumnElement[bool]:
    return (push_signals.c.service == service) & (push_signals.c.check == check)


_checks: Final = Rows(push_checks, reader(PushState))
_signals: Final = Rows(push_signals, reader(PushSignal))
