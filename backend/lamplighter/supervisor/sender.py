"""The sender: delivers notifications, combined into one message where possible."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol

from lamplighter.domain.services.event import Level
from lamplighter.domain.services.notice import (
    ABANDON_AFTER,
    GAP,
    GATHERED_KINDS,
    Notice,
    NoticeKind,
    NoticeMessage,
    NoticeState,
    NoticeTarget,
    compose_message,
    retry_delay,
    targets_for,
)
from lamplighter.domain.services.service import Services
from lamplighter.repository import Database, reading, writing
from lamplighter.repository.services import notices
from lamplighter.repository.store.driver import Error, severity
from lamplighter.usecases.services.notify import NOBODY
from lamplighter.usecases.services.silence import silences

logger = logging.getLogger(__name__)

POLL_SECONDS: Final = 1.0
AT_ONCE: Final = 5_000
SILENT: Final = "The service is paused or in maintenance."


class NoticeTransport(Protocol):
    """Sends a message to one notification target."""

    async def targets(self) -> Sequence[NoticeTarget]:
        """Return the targets there are now."""

    async def send(self, target: NoticeTarget, message: NoticeMessage) -> str:
        """Send a message within a time; say why it was not taken, empty when it was."""


@dataclass(slots=True)
class Sender:
    """Sends what is due, and tries again what was not taken."""

    db: Database
    post: NoticeTransport
    now: Callable[[], datetime]
    url: str = ""
    version: Callable[[], int] = lambda: 0
    """A number that changes with each commit to the database; 0 or -1 where it is not known."""
    services: Callable[[], Services] = Services
    """The declared services: where their alerts go, and when they are silent."""
    _reached: dict[int, set[str]] = field(default_factory=dict)

    async def run(self) -> None:
        """Send until cancelled; what was under way when another sender died is sent again."""
        begun = False
        while True:
            version = self.version()
            try:
                if not begun:
                    await self.begin()
                    begun = True
                worked = await self.step()
                waiting = worked or await notices.has_waiting(self.db)
            except (Error, TimeoutError) as error:
                words = "Notifications are not available now: %s"
                logger.log(severity(error), words, error)
                worked, waiting = False, True
            if not worked:
                await self._rest(version, waiting=waiting)

    async def _rest(self, version: int, *, waiting: bool) -> None:
        """Wait a second, and while no notice waits, for the next commit."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            if waiting or version <= 0 or self.version() != version:
                return

    async def begin(self) -> None:
        """Take over what another sender left."""
        async with writing(self.db):
            await notices.release_claimed(self.db, now=self.now())

    async def step(self) -> bool:
        """Send what is due; say whether anything was."""
        now = self.now()
        async with reading(self.db):
            if not await notices.is_due(self.db, now=now, gap=GAP):
                return False
        async with writing(self.db):
            claimed = await notices.claim(self.db, limit=AT_ONCE, now=now)
            found = await self._without_silent(claimed, now=now)
        targets = await self.post.targets()
        problem = await self._send(found, targets)
        await self._settle(found, problem, targets)
        return bool(claimed)

    async def _without_silent(self, claimed: Sequence[Notice], *, now: datetime) -> list[Notice]:
        """Suppress events and incidents of services that are silent, and return the others.

        That an incident is over reaches those who were notified of it.
        """
        silent = await silences(self.db, self.services(), at=now)
        left = [
            each
            for each in claimed
            if each.kind not in GATHERED_KINDS
            or each.service not in silent
            or (each.kind is NoticeKind.INCIDENT and each.level is Level.INFO)
        ]
        ids = [each.id for each in claimed if each not in left]
        values = {"next_at": None, "problem": SILENT}
        await notices.settle(self.db, ids, NoticeState.SUPPRESSED, now=now, **values)
        return left

    async def _send(self, found: Sequence[Notice], targets: Sequence[NoticeTarget]) -> str:
        """Send to each target what it has not taken yet; say what went wrong last."""
        problem = "" if targets else NOBODY
        for target in targets:
            new = [each for each in found if target.key in self._missing(each, targets)]
            if not new:
                continue
            why_not = await self.post.send(target, compose_message(new, url=self.url))
            problem = why_not or problem
            if not why_not:
                for each in new:
                    self._reached.setdefault(each.id, set()).add(target.key)
        return problem

    def _missing(self, notice: Notice, targets: Sequence[NoticeTarget]) -> set[str]:
        """Return the targets that have not taken a notice yet."""
        service = self.services().find(notice.service) if notice.service else None
        wanted = targets_for(service.notify if service else (), targets)
        return wanted - self._reached.get(notice.id, set())

    async def _settle(
        self, batch: Sequence[Notice], problem: str, targets: Sequence[NoticeTarget]
    ) -> None:
        """Keep what became of each; this is tried until it is kept, or it would be sent again."""
        every = bool(targets)
        sent = [each for each in batch if every and not self._missing(each, targets)]
        left = [each for each in batch if each not in sent]
        now = self.now()
        over = [each for each in left if not every or now - each.created_at > ABANDON_AFTER]
        async with writing(self.db):
            ids = [each.id for each in sent]
            await notices.settle(
                self.db, ids, NoticeState.SENT, now=now, sent_at=now, next_at=None, problem=""
            )
            ids = [each.id for each in over]
            await notices.settle(
                self.db, ids, NoticeState.FAILED, now=now, next_at=None, problem=problem
            )
            for each in left:
                if each not in over:
                    values = {"next_at": now + retry_delay(each.attempts), "problem": problem}
                    await notices.settle(self.db, [each.id], NoticeState.WAITING, now=now, **values)
        for each in (*sent, *over):
            self._reached.pop(each.id, None)
