"""Retries while the database is locked, or its disk is full."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, Final, TypeVar

from lamplighter.repository.store.driver import OperationalError

logger = logging.getLogger(__name__)
T = TypeVar("T")

FIRST_PAUSE_SECONDS: Final = 0.2
MAX_PAUSE_SECONDS: Final = 5.0


async def retry_when_locked(work: Callable[[], Awaitable[T]], draining: asyncio.Event) -> T:
    """Retry until the database accepts it: it may be locked, or its disk full, for a while.

    Gives up when the supervisor is asked to end: the next one resumes from the file.
    """
    pause = FIRST_PAUSE_SECONDS
    while True:
        try:
            return await work()
        except OperationalError as error:
            if draining.is_set():
                raise
            logger.warning("The database is not available (%s); retrying.", error)
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await draining.wait()
            pause = min(MAX_PAUSE_SECONDS, pause * 2)


async def wait_for_first(*waits: Coroutine[Any, Any, object]) -> None:
    """Wait for the first of several to finish; the others are not awaited."""
    tasks = [asyncio.ensure_future(each) for each in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
