"""The sender: delivers notifications, combined into one message if possible."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol

from lamplighter.domain.services.incident import IncidentOutcome
from lamplighter.domain.services.notice import (
    ABANDON_AFTER,
    GAP,
    GATHERED_KINDS,
    OPEN_STATES,
    Notice,
    NoticeMessage,
    NoticeState,
    NoticeTarget,
    compose_message,
    retry_delay,
    targets_for,
)
from lamplighter.domain.services.service import Services
from lamplighter.repository import Database, reading, writing
from lamplighter.repository.services import incidents, notices
from lamplighter.repository.store.driver import Error, severity
from lamplighter.usecases.services.notify import NOBODY
from lamplighter.usecases.services.silence import silences

logger = logging.getLogger(__name__)

POLL_SECONDS: Final = 1.0
AT_ONCE: Final = 5_000
SILENT: Final = "The service is paused or in maintenance."
UNANNOUNCED: Final = "Its beginning was not sent."


@dataclass(frozen=True, slots=True)
class _IncidentEnd:
    """What the end of an incident ends: its outcome, and the notices before it."""

    outcome: IncidentOutcome
    earlier: Sequence[Notice]

    @property
    def announced(self) -> bool:
        """Whether people were notified of the incident; old notices are pruned."""
        return not self.earlier or any(
            each.state is not NoticeState.SUPPRESSED for each in self.earlier
        )


class NoticeTransport(Protocol):
    """The transport of messages to one notification target."""

    async def targets(self) -> Sequence[NoticeTarget]:
        """Return the current targets."""

    async def send(self, target: NoticeTarget, message: NoticeMessage) -> str:
        """Send a message within a time; return the reason of a failure, empty after a delivery."""


@dataclass(slots=True)
class Sender:
    """Sends due notifications, and retries failed ones."""

    db: Database
    post: NoticeTransport
    now: Callable[[], datetime]
    url: str = ""
    version: Callable[[], int] = lambda: 0
    """A number that changes with each commit to the database; 0 or -1 if unknown."""
    services: Callable[[], Services] = Services
    """The declared services: the routes of their alerts, and their silent times."""
    _reached: dict[int, set[str]] = field(default_factory=dict)

    async def run(self) -> None:
        """Send until cancelled; what was under way when a sender or the database died is due."""
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
                worked, waiting, begun = False, True, False
            if not worked:
                await self._rest(version, waiting=waiting)

    async def _rest(self, version: int, *, waiting: bool) -> None:
        """Wait a second; if no notice is queued, wait for the next commit."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            if waiting or version <= 0 or self.version() != version:
                return

    async def begin(self) -> None:
        """Take over the deliveries of a dead sender."""
        async with writing(self.db):
            await notices.release_claimed(self.db, now=self.now())

    async def step(self) -> bool:
        """Send due notifications; return whether there were any."""
        now = self.now()
        async with reading(self.db):
            if not await notices.is_due(self.db, now=now, gap=GAP):
                return False
        async with writing(self.db):
            claimed = await notices.claim(self.db, limit=AT_ONCE, now=now)
            batch = await self._without_silent(claimed, now=now)
            ends = await self._ends(batch)
            batch = await self._without_unannounced(batch, ends, now=now)
        targets = await self.post.targets()
        recipients = self._recipients(batch, targets, ends)
        outcomes = {number: end.outcome for number, end in ends.items()}
        problem = await self._send(batch, targets, recipients, outcomes)
        await self._settle(batch, problem, targets, recipients)
        return bool(claimed)

    async def _without_silent(self, claimed: Sequence[Notice], *, now: datetime) -> list[Notice]:
        """Suppress events and incidents of silent services, and return the others.

        The end of an incident is sent to everyone who was notified of the incident.
        """
        silent = await silences(self.db, self.services(), at=now)
        over = [
            each
            for each in claimed
            if each.kind in GATHERED_KINDS
            and each.service in silent
            and each.ended_incident is None
        ]
        return await self._suppress(over, SILENT, claimed, now=now)

    async def _ends(self, batch: Sequence[Notice]) -> dict[int, _IncidentEnd]:
        """Return what the ends of incidents among some notices end, by notice."""
        ends = {}
        for each in batch:
            number = each.ended_incident
            if number and (incident := await incidents.get(self.db, number)):
                earlier = await notices.of_incident(self.db, incident, before=each.id)
                ends[each.id] = _IncidentEnd(incident.outcome, earlier)
        return ends

    async def _without_unannounced(
        self, batch: Sequence[Notice], ends: Mapping[int, _IncidentEnd], *, now: datetime
    ) -> list[Notice]:
        """Suppress the ends of incidents of which nobody was notified, and return the others."""
        over = [each for each in batch if each.id in ends and not ends[each.id].announced]
        return await self._suppress(over, UNANNOUNCED, batch, now=now)

    async def _suppress(
        self, over: Sequence[Notice], problem: str, batch: Sequence[Notice], *, now: datetime
    ) -> list[Notice]:
        """Suppress some notices of a batch, and return the others."""
        ids, values = [each.id for each in over], {"next_at": None, "problem": problem}
        if ids:
            await notices.settle(self.db, ids, NoticeState.SUPPRESSED, now=now, **values)
        return [each for each in batch if each not in over]

    def _recipients(
        self,
        batch: Sequence[Notice],
        targets: Sequence[NoticeTarget],
        ends: Mapping[int, _IncidentEnd],
    ) -> dict[int, set[str]]:
        """Return the targets of each notice; the end of an incident reaches all who know of it.

        Its routes may be others than those of its beginning.
        """
        recipients: dict[int, set[str]] = {}
        for each in batch:
            self._reached.setdefault(each.id, set()).update(each.reached)
            earlier = ends[each.id].earlier if each.id in ends else ()
            recipients[each.id] = self._informed(earlier, targets) or self._routed(each, targets)
        return recipients

    def _informed(self, earlier: Sequence[Notice], targets: Sequence[NoticeTarget]) -> set[str]:
        """Return the targets that got, or are about to get, what the end of an incident ends."""
        marks = {mark for each in earlier for mark in each.reached}
        waiting = (
            self._routed(each, targets)
            for each in earlier
            if each.state in OPEN_STATES and each.ended_incident is None
        )
        return {each.key for each in targets if each.mark in marks}.union(*waiting)

    def _routed(self, notice: Notice, targets: Sequence[NoticeTarget]) -> set[str]:
        service = self.services().find(notice.service) if notice.service else None
        return targets_for(service.notify if service else (), targets)

    async def _send(
        self,
        batch: Sequence[Notice],
        targets: Sequence[NoticeTarget],
        recipients: Mapping[int, Set[str]],
        outcomes: Mapping[int, IncidentOutcome],
    ) -> str:
        """Send to each target what it has not accepted yet; say what went wrong last.

        A target that does not answer delays no other.
        """
        deliveries = []
        for target in targets:
            own = (each for each in batch if target.key in recipients[each.id])
            if new := [each for each in own if not self._has(target, each)]:
                message = compose_message(new, url=self.url, outcomes=outcomes)
                deliveries.append(self._send_one(target, message, new))
        problem = "" if targets else NOBODY
        for result in await asyncio.gather(*deliveries, return_exceptions=True):
            if isinstance(result, BaseException):
                raise result
            problem = result or problem
        return problem

    async def _send_one(
        self, target: NoticeTarget, message: NoticeMessage, new: Sequence[Notice]
    ) -> str:
        why_not = await self.post.send(target, message)
        if not why_not:
            await self._note_reached(new, target)
        return why_not

    def _has(self, target: NoticeTarget, notice: Notice) -> bool:
        return target.mark in self._reached[notice.id]

    async def _note_reached(self, sent: Sequence[Notice], target: NoticeTarget) -> None:
        """Store at once who accepted notices: a sender that is killed repeats none of them."""
        by_marks = defaultdict[frozenset[str], list[int]](list)
        for each in sent:
            self._reached[each.id].add(target.mark)
        async with writing(self.db):
            for each in sent:
                by_marks[frozenset(self._reached[each.id])].append(each.id)
            for marks, ids in by_marks.items():
                await notices.set_reached(self.db, ids, marks)

    async def _settle(
        self,
        batch: Sequence[Notice],
        problem: str,
        targets: Sequence[NoticeTarget],
        recipients: Mapping[int, Set[str]],
    ) -> None:
        """Store the result of each delivery; retries, because it would be sent again otherwise."""
        left = [
            each
            for each in batch
            if not targets
            or any(t.key in recipients[each.id] and not self._has(t, each) for t in targets)
        ]
        sent = [each for each in batch if each not in left]
        now = self.now()
        over = [each for each in left if not targets or now - each.created_at > ABANDON_AFTER]
        async with writing(self.db):
            values = {"sent_at": now, "next_at": None, "problem": ""}
            ids = [each.id for each in sent]
            await notices.settle(self.db, ids, NoticeState.SENT, now=now, **values)
            values = {"next_at": None, "problem": problem}
            ids = [each.id for each in over]
            await notices.settle(self.db, ids, NoticeState.FAILED, now=now, **values)
            for each in left:
                if each not in over:
                    values = {"next_at": now + retry_delay(each.attempts), "problem": problem}
                    await notices.settle(self.db, [each.id], NoticeState.WAITING, now=now, **values)
        for each in (*sent, *over):
            self._reached.pop(each.id, None)
