"""Consent: wait for the decision of a person on a requested action."""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from lamplighter.domain.actions.approval import ABANDONED, Approval, ApprovalState
from lamplighter.domain.errors import LamplighterError, LeadershipLost
from lamplighter.domain.services.cooldown import SESSION_ENDED, CooldownUse, UseOutcome
from lamplighter.repository import Database
from lamplighter.repository.sessions import approvals as rows
from lamplighter.repository.store.driver import Error, OperationalError
from lamplighter.usecases.services import act
from lamplighter.usecases.sessions import approvals

logger = logging.getLogger(__name__)

POLL_SECONDS: Final = 0.25
ENDED: Final = SESSION_ENDED


@dataclass(slots=True)
class ApprovalWait:
    """When a session waits for a person, and its remaining seconds.

    `parked` is set with the first approval: from then on no other work waits for the session.
    """

    parked: asyncio.Event = field(default_factory=asyncio.Event)
    _open: int = 0
    _started_at: float = 0.0
    _passed: float = 0.0

    @property
    def now(self) -> bool:
        """Whether the session is waiting now."""
        return self._open > 0

    @property
    def seconds(self) -> float:
        """Return how long the session has waited, which does not count as working time."""
        return self._passed + (time.monotonic() - self._started_at if self._open else 0.0)

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count the time until the end of the context; overlapping times count once."""
        self._started_at = self._started_at if self._open else time.monotonic()
        self._open += 1
        self.parked.set()
        try:
            yield
        finally:
            self._passed = self.seconds if self._open == 1 else self._passed
            self._open -= 1


async def open_request(
    db: Database,
    asking: Coroutine[Any, Any, CooldownUse | Approval],
    *,
    now: Callable[[], datetime],
) -> CooldownUse | Approval:
    """Return the decision on a request; a canceled request leaves no row."""
    answering = asyncio.ensure_future(asking)
    try:
        return await asyncio.shield(answering)
    except asyncio.CancelledError:
        await asyncio.shield(asyncio.ensure_future(_cancel_request(db, answering, now=now)))
        raise


async def _cancel_request(
    db: Database, answering: asyncio.Future[CooldownUse | Approval], *, now: Callable[[], datetime]
) -> None:
    with suppress(Error, LamplighterError):  # the end of the session settles the request
        found = await answering
        if isinstance(found, Approval):
            await approvals.withdraw(db, found.id, ABANDONED, now=now())
        elif found.outcome is UseOutcome.RESERVED:
            await act.settle(db, found, UseOutcome.FAILURE, text=ENDED, now=now())


async def await_decision(
    db: Database, approval: Approval, *, now: Callable[[], datetime]
) -> Approval:
    """Wait for a decision or the deadline; return the resulting approval.

    A command that a person edits has a new approval, which is waited for instead. The approval is
    withdrawn if its session is stopped or disconnects.
    """
    current = approval
    try:
        while current.state is ApprovalState.OPEN:
            await asyncio.sleep(POLL_SECONDS)
            current = await _poll_decision(db, current, now=now)
    except BaseException:
        await asyncio.shield(asyncio.ensure_future(_leave(db, current.id, now=now())))
        raise
    return current


async def _leave(db: Database, number: int, *, now: datetime) -> None:
    """Withdraw the approval of a wait that was cancelled; nobody may be left to see an error."""
    with suppress(Error, LeadershipLost):  # the end of the session withdraws the request
        await approvals.withdraw(db, number, ABANDONED, now=now)


async def _poll_decision(
    db: Database, approval: Approval, *, now: Callable[[], datetime]
) -> Approval:
    try:
        stored = await rows.get(db, approval.id)
        if stored is None:
            return approval
        if stored.state is ApprovalState.REPLACED:
            return await approvals.successor(db, stored) or stored
        if stored.state is ApprovalState.OPEN and stored.expired(now=now()):
            return await approvals.expire(db, stored.id, now=now())
        return stored
    except OperationalError as error:
        logger.warning("The database is not available (%s); retrying.", error)
        return approval
