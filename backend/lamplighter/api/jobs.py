"""Jobs: what a request started and does not wait for."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

logger = logging.getLogger(__name__)


class Jobs:
    """The jobs of one web process, one of a name at a time; they end with the process."""

    def __init__(self) -> None:
        self._running: dict[str, asyncio.Task[None]] = {}

    async def start(self, name: str, work: Coroutine[Any, Any, None], *, wait: float = 0.0) -> None:
        """Start a job, unless one of this name still runs, and wait for it some seconds."""
        if name in self._running:
            work.close()
        else:
            self._running[name] = task = asyncio.create_task(work)
            task.add_done_callback(lambda done: self._over(name, done))
        await asyncio.wait({self._running[name]}, timeout=wait)

    async def end(self) -> None:
        """End what still runs: the next start resumes where it was."""
        running = list(self._running.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def _over(self, name: str, done: asyncio.Task[None]) -> None:
        del self._running[name]
        if not done.cancelled() and (error := done.exception()):
            logger.error("Work on %s ended: %s", name, error, exc_info=error)
