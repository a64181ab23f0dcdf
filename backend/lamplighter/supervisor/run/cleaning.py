"""Masking the files of ended sessions: small ones at once, large ones in the background."""

import asyncio
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from lamplighter.supervisor.run.files import SessionFiles

logger = logging.getLogger(__name__)

AT_ONCE_BYTES: Final = 8 * 2**20


@dataclass(slots=True)
class FileMasker:
    """Masks large files one after another; the next start finds those that remain.

    No interface shows unmasked parts of a waiting file: each read is masked line by line.
    """

    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _stopped: threading.Event = field(default_factory=threading.Event)

    async def clean(
        self, files: SessionFiles, output: str, masked: Callable[[bytes], bytes]
    ) -> None:
        """Remove a session's scratch directory, and mask its files now or soon."""
        await asyncio.to_thread(files.empty, output)
        work = partial(_mask_file, files, output, masked, self._stopped)
        if await asyncio.to_thread(files.size, output) <= AT_ONCE_BYTES:
            await asyncio.to_thread(work)
            return
        task = asyncio.create_task(self._in_turn(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def ended(self) -> None:
        """Wait until all files are masked."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def stop(self) -> None:
        """Stop between two blocks; the rest is done at the next start."""
        self._stopped.set()
        await self.ended()
        self._stopped.clear()

    async def _in_turn(self, work: Callable[[], None]) -> None:
        async with self._turn:
            await asyncio.to_thread(work)


def _mask_file(
    files: SessionFiles,
    output: str,
    masked: Callable[[bytes], bytes],
    stopped: threading.Event,
) -> None:
    try:
        if files.mask(output, masked, stopped):
            files.clear(output)
    except OSError as error:
        logger.warning("The secrets in the output %s could not be masked: %s", output, error)
