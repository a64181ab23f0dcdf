"""Approvals: requests to a person whether a session may act, and the decisions."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.actions.approval import (
    OPEN_STATES,
    ActionRequest,
    Approval,
    ApprovalState,
    can_become,
)
from lamplighter.domain.sessions.session import Session
from lamplighter.formats import serialize
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import NUMBER, UTCDateTime
from lamplighter.repository.store.statements import (
    Fetch,
    Key,
    Page,
    PublishedRows,
    Statement,
    equal_to,
    has_row,
    in_order,
    publisher,
)
from lamplighter.repository.store.tables import approvals, reader

ENTITY: Final = "approval"
APPROVED_STATES: Final = (ApprovalState.APPROVED, ApprovalState.USED)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalFilter:
    """Filter for approvals; None matches all."""

    state: ApprovalState | None = None
    session: int | None = None


async def insert(
    db: Database,
    session: Session,
    request: ActionRequest,
    *,
    displayed: Sequence[str],
    expires_at: datetime,
    now: datetime,
    **more: Any,
) -> Approval:
    """Request approval. `more` are extra columns: memories, edited, replaces, note, decided_by."""
    values = {
        "session_id": session.id,
        "tier": session.tier,
        "service": request.service,
        "action": request.action,
        "name": request.name,
        "argv": list(request.argv),
        "shown": list(displayed),
        "directory": request.directory,
        "reason": request.reason,
        "state": ApprovalState.OPEN,
        "created_at": now,
        "expires_at": expires_at,
    }
    usual = {"memories": [], "edited": False, "note": ""}
    return await _rows.insert(db, {**values, **usual, **more}, now=now)


async def get(db: Database, number: int) -> Approval | None:
    """Return one approval."""
    return await _rows.get(db, number)


_OF_SESSION: Final = Statement(
    sa.select(approvals)
    .where(approvals.c.session_id == sa.bindparam("session", type_=NUMBER))
    .order_by(approvals.c.id)
)


async def of_session(db: Database, session_id: int) -> list[Approval]:
    """Return the approvals that a session requested, oldest first."""
    return await _rows.fetch(db, _OF_SESSION(session=session_id))


async def open_for_service(db: Database, service: str) -> list[Approval]:
    """Return the approvals for a service whose actions have not started, oldest first."""
    return await _rows.oldest(
        db, approvals.c.state.in_(OPEN_STATES), approvals.c.service == service
    )


_WAITING: Final = Statement(
    sa.select(approvals.c.session_id, sa.func.min(approvals.c.created_at).label("since"))
    .where(approvals.c.state == ApprovalState.OPEN)
    .group_by(approvals.c.session_id)
    .order_by(approvals.c.session_id)
)
_COUNT_OPEN: Final = Statement(
    sa.select(sa.func.count().label("count"), sa.func.min(approvals.c.created_at).label("at"))
    .select_from(approvals)
    .where(approvals.c.state == ApprovalState.OPEN)
    .where(approvals.c.expires_at > sa.bindparam("now", type_=UTCDateTime()))
)


async def waiting_sessions(db: Database) -> dict[int, datetime]:
    """Return the sessions that wait for an approval, by ID, and since when."""
    return await db.fetch(waiting_fetch())


def waiting_fetch() -> Fetch[dict[int, datetime]]:
    """Build the fetch of the sessions that wait for an approval, and since when."""
    return Fetch(
        [_WAITING()], lambda found: {int(row["session_id"]): row["since"] for row in found[0]}
    )


async def was_refused(db: Database, session_id: int, service: str, *states: ApprovalState) -> bool:
    """Whether an approval of a session for a service ended in one of some states."""
    asked = await of_session(db, session_id)
    return any(each.state in states and each.service == service for each in asked)


async def replacement_of(db: Database, number: int) -> Approval | None:
    """Return the approval that replaces another approval."""
    return await _rows.one(db, approvals.c.replaces == number)


async def newest(db: Database, session_id: int, request: ActionRequest) -> Approval | None:
    """Return a session's last approval for exactly this request, without a person's edits."""
    edited = approvals.alias()
    own = sa.exists().where(edited.c.id == approvals.c.replaces, edited.c.session_id == session_id)
    return await _rows.last(db, *_bound(request), approvals.c.session_id == session_id, ~own)


async def newest_before(db: Database, session_id: int, request: ActionRequest) -> Approval | None:
    """Return the last approval for exactly this request by an earlier session."""
    return await _rows.last(db, *_bound(request), approvals.c.session_id < session_id)


async def was_approved(db: Database, request: ActionRequest) -> bool:
    """Whether a person ever approved exactly this command in this directory."""
    service, _, argv, directory = request.bound
    return await has_row(
        db,
        approvals.c.service == service,
        *_same_command(argv, directory),
        approvals.c.state.in_(APPROVED_STATES),
    )


async def change_state(
    db: Database,
    number: int,
    before: ApprovalState,
    state: ApprovalState,
    *,
    now: datetime,
    **values: Any,
) -> Approval | None:
    """Change the state of an approval; return None if its state is no longer `before`."""
    assert can_become(before, state), f"{before} never becomes {state}"
    still = [approvals.c.id == number, approvals.c.state == before]
    return await _rows.update_one(db, still, {"state": state, **values}, now=now)


async def reserve(db: Database, number: int, use_id: int, *, now: datetime) -> Approval | None:
    """Bind an approval to the use of its action; return None if it is not free for one."""
    free = [
        approvals.c.id == number,
        approvals.c.state == ApprovalState.APPROVED,
        approvals.c.use_id.is_(None),
    ]
    return await _rows.update_one(db, free, {"use_id": use_id}, now=now)


async def withdraw(
    db: Database,
    note: str,
    *,
    number: int | None = None,
    session_id: int | None = None,
    reserved: bool = False,
    now: datetime,
) -> list[Approval]:
    """Withdraw approvals that are not used: one, those of a session, or all.

    `reserved` withdraws only those whose action has a slot, and was about to start or has started.
    """
    chosen: list[sa.ColumnElement[bool]] = [approvals.c.state.in_(OPEN_STATES)]
    if number is not None:
        chosen.append(approvals.c.id == number)
    if session_id is not None:
        chosen.append(approvals.c.session_id == session_id)
    if reserved:
        chosen.append(approvals.c.use_id.is_not(None))
    at = sa.func.coalesce(approvals.c.decided_at, sa.literal(now, UTCDateTime()))
    values = {"state": ApprovalState.WITHDRAWN, "note": note, "decided_at": at}
    return await _rows.update(db, chosen, values, now=now)


async def page(
    db: Database, selection: ApprovalFilter, *, limit: int, position: Sequence[Any] | None = None
) -> Page[Approval]:
    """Return one page of approvals: open approvals oldest first, other lists newest first."""
    key = Key(approvals.c.id, descending=selection.state is not ApprovalState.OPEN)
    chosen = equal_to(approvals.c, state=selection.state, session_id=selection.session)
    query = sa.select(approvals).where(*chosen)
    return await in_order(db, query, key, _rows.read, limit=limit, position=position)


def count_open(now: datetime) -> Fetch[tuple[int, datetime | None]]:
    """Build the fetch of the number of open approvals, and since when the oldest is open."""
    return Fetch(
        [_COUNT_OPEN(now=now)], lambda found: (int(found[0][0]["count"]), found[0][0]["at"])
    )


def _bound(request: ActionRequest) -> list[sa.ColumnElement[bool]]:
    service, name, argv, directory = request.bound
    return [
        approvals.c.service == service,
        approvals.c.name == name,
        *_same_command(argv, directory),
    ]


def _same_command(argv: Sequence[str], directory: str | None) -> list[sa.ColumnElement[bool]]:
    return [
        approvals.c.argv == list(argv),
        approvals.c.directory.is_not_distinct_from(directory),
    ]


_rows: Final = PublishedRows(approvals, reader(Approval), publisher(ENTITY, serialize.approval))
