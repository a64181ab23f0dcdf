"""Notify: a notice to people is a row first, and sent when possible."""

from datetime import datetime
from typing import Any, Final

from lamplighter.domain.services.event import Level
from lamplighter.domain.services.notice import Notice, NoticeKind, NoticeState
from lamplighter.repository import Database, writing
from lamplighter.repository.services import notices

NOBODY: Final = "No notification target is configured. Set LAMPLIGHTER_NOTIFY."
TEST: Final = "This is a test notification."


async def enqueue(
    db: Database,
    kind: NoticeKind,
    level: Level,
    title: str,
    body: str = "",
    *,
    service: str | None = None,
    now: datetime,
) -> Notice | None:
    """Send a notice at once, within the transaction of its event.

    None where nobody is to be told anything.
    """
    if db.telling is None:
        return None
    async with writing(db):
        return await notices.insert(db, kind, level, title, body, service=service, now=now)


async def enqueue_test(db: Database, *, now: datetime) -> Notice:
    """Put a test notice into the outbox; without an address it fails at once."""
    async with writing(db):
        if db.telling is None:
            failed: dict[str, Any] = {
                "state": NoticeState.FAILED,
                "problem": NOBODY,
                "next_at": None,
            }
            return await notices.insert(db, NoticeKind.TEST, Level.INFO, TEST, now=now, **failed)
        return await notices.insert(db, NoticeKind.TEST, Level.INFO, TEST, now=now)
