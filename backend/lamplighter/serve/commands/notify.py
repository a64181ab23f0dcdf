"""A test of the notifications by a command, and its result."""

import asyncio
from typing import Final

from lamplighter import clock
from lamplighter.config.settings import Settings
from lamplighter.domain.services.notice import Notice, NoticeState
from lamplighter.repository import Database
from lamplighter.repository.services import notices
from lamplighter.repository.upkeep import leases
from lamplighter.serve import home
from lamplighter.serve.local import web_url
from lamplighter.serve.push.transport import build_outlets
from lamplighter.supervisor.sender import Sender
from lamplighter.usecases.services import notify

FOLLOW_SECONDS: Final = 60.0
POLL_SECONDS: Final = 0.1


def test(settings: Settings) -> Notice:
    """Put a test message into the outbox and wait for its delivery or failure."""
    return home.run(settings, lambda db: _test(settings, db))


async def _test(settings: Settings, db: Database) -> Notice:
    notice = await notify.enqueue_test(db, now=clock.now())
    leader = await leases.get(db)
    if leader is None or leader.state(now=clock.now()) == "away":
        sender = Sender(db, build_outlets(settings, db), clock.now, web_url(settings))
        await sender.step()
    try:
        async with asyncio.timeout(FOLLOW_SECONDS):
            while notice.state not in (NoticeState.SENT, NoticeState.FAILED) and not notice.problem:
                await asyncio.sleep(POLL_SECONDS)
                notice = await notices.get(db, notice.id) or notice
    except TimeoutError:
        pass
    return notice
