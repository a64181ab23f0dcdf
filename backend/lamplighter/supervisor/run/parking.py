"""Parking: a chain runs alone until its session waits for a person.

From then on nothing waits for the chain: rounds and other sessions continue.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from lamplighter.supervisor.actions.consent import ApprovalWait


@dataclass(slots=True)
class ParkedChains:
    """The chains that run in the background because their session waits, or waited."""

    _left: set[asyncio.Task[None]] = field(default_factory=set)

    async def work(self, chain: Callable[[ApprovalWait], Awaitable[None]]) -> None:
        """Run a chain until it has ended or its session waits for a person."""
        waiting = ApprovalWait()
        task = asyncio.create_task(_done(chain, waiting))
        parked = asyncio.create_task(waiting.parked.wait())
        try:
            await asyncio.wait({task, parked}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await _ended(task)
            raise
        finally:
            parked.cancel()
        self._left.add(task)
        self.reap()

    def reap(self) -> None:
        """Forget the chains that have ended; raises the error of a failed one."""
        for task in [each for each in self._left if each.done()]:
            self._left.discard(task)
            task.result()

    async def ended(self) -> None:
        """Wait until all have ended; raises the error of a failed one."""
        while self._left:
            await asyncio.wait(self._left)
            self.reap()

    async def leave(self) -> None:
        """End all chains at once, because this supervisor no longer leads."""
        left, self._left = self._left, set()
        for task in left:
            await _ended(task)


async def _done(chain: Callable[[ApprovalWait], Awaitable[None]], waiting: ApprovalWait) -> None:
    await chain(waiting)


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
