"""Consent: wait until a person has said what is to become of a wish."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import Final

from lamplighter.domain.approval import Approval, ApprovalState
from lamplighter.repository import Database
from lamplighter.repository import approvals as rows
from lamplighter.repository.driver import Error, OperationalError
from lamplighter.usecases import approvals

logger = logging.getLogger(__name__)

POLL_SECONDS: Final = 0.25
UNWANTED: Final = "its session waits for it no more"


async def decided(db: Database, asked: Approval, *, now: Callable[[], datetime]) -> Approval:
    """Wait until a person has decided, or the time is over; return what stands then.

    When a person puts another command in its place, that one is waited for. Nothing
    comes of it any more when nobody waits: the session was stopped, or went away.
    """
    held = asked
    try:
        while held.state is ApprovalState.OPEN:
            await asyncio.sleep(POLL_SECONDS)
            held = await _looked_at(db, held, now=now)
    except BaseException:
        leaving = asyncio.ensure_future(approvals.withdraw(db, held.id, UNWANTED, now=now()))
        with suppress(Error):  # the end of its session withdraws it
            await asyncio.shield(leaving)
        raise
    return held


async def _looked_at(db: Database, held: Approval, *, now: Callable[[], datetime]) -> Approval:
    try:
        found = await rows.get(db, held.id)
        if found is None:
            return held
        if found.state is ApprovalState.REPLACED:
            return await approvals.successor(db, found) or found
        if found.state is ApprovalState.OPEN and found.expired(now=now()):
            return await approvals.expire(db, found.id, now=now())
        return found
    except OperationalError as error:
        logger.warning("The database cannot be used now (%s); trying again.", error)
        return held
