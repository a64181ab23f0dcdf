"""Notifications: a notice to people is stored first, and sent when possible."""

from datetime import datetime
from typing import Any, Final

from lamplighter.domain.services.event import Level
from lamplighter.domain.services.notice import Notice, NoticeKind, NoticeState
from lamplighter.repository import Database, writing
from lamplighter.repository.services import notices

NOBODY: Final = (
    "No notification target is configured. Set LAMPLIGHTER_NOTIFY, or subscribe a device in "
    "Settings."
)
TEST: Final = "This is a test notification."


async def enqueue(
    db: Database,
    kind: NoticeKind,
    level: Level,
    title: str,
    body: str = "",
    *,
    now: datetime,
    **about: str | None,
) -> Notice | None:
    """Add a notice to the outbox, within the transaction of its event.

    `about` are its service and its link. None if no address and no device is configured.
    """
    async with writing(db):
        if await notices.policy(db) is None:
            return None
        return await notices.insert(db, kind, level, title, body, now=now, **about)


async def enqueue_test(db: Database, *, now: datetime) -> Notice:
    """Add a test notice to the outbox; without an address it fails at once."""
    async with writing(db):
        if await notices.policy(db) is None:
            failed: dict[str, Any] = {
                "state": NoticeState.FAILED,
                "problem": NOBODY,
                "next_at": None,
            }
            return await notices.insert(db, NoticeKind.TEST, Level.INFO, TEST, now=now, **failed)
        return await notices.insert(db, NoticeKind.TEST, Level.INFO, TEST, now=now)
