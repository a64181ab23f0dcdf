"""The hub: each change is read and encoded once, then sent to every client.

Check results are not changes: the results of a second are one message, and are never sent again.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import msgspec

from lamplighter.domain.change import Change
from lamplighter.domain.services.series import EPOCH, CheckSeries
from lamplighter.formats import serialize
from lamplighter.repository import Database
from lamplighter.repository.feed.signals import ChangeSignal
from lamplighter.repository.services import series_totals
from lamplighter.repository.store import changes
from lamplighter.repository.store.driver import Error, severity

logger = logging.getLogger(__name__)

BUFFERED_CHANGES: Final = 2_000
WAIT_SECONDS: Final = 60.0
RETRY_SECONDS: Final = 0.5
PAUSE_SECONDS: Final = 0.02
"""The time between two reads of the feed: the commits meanwhile need one read."""

RESULTS_EVERY: Final = 1.0
"""How many seconds of check results are one message."""

BUFFERED_RESULTS: Final = 20
"""How many of these messages wait for a slow client."""

OVERLAP: Final = timedelta(seconds=10)
"""Results are stored in batches: one may be older than the newest that was sent."""

Frame = tuple[int, bytes]
_encode = msgspec.json.Encoder().encode


@dataclass(slots=True, eq=False)
class Follower:
    """A client of the feed, and the numbers of the last changes sent to it."""

    seq: int
    results: int = 0


class Hub:
    """Follows the change feed for all clients of this process."""

    def __init__(self, db: Database, listener: ChangeSignal) -> None:
        self._db, self._listener = db, listener
        self._ring: deque[Frame] = deque(maxlen=BUFFERED_CHANGES)
        self._next: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._results: deque[Frame] = deque(maxlen=BUFFERED_RESULTS)
        self._sent: dict[int, datetime] = {}
        self._results_expected = False
        self._reading: asyncio.Task[None] | None = None
        self.seq = 0
        self.followers: set[Follower] = set()
        self.watchers: list[Callable[[Change], None]] = []
        """Callbacks for each change, in this process."""

    async def follow(self) -> None:
        """Read new changes whenever the database may have some, until cancelled."""
        self.seq = await changes.last_seq(self._db)
        try:
            await self._follow()
        finally:
            if self._reading:
                self._reading.cancel()

    async def _follow(self) -> None:
        while True:
            try:
                await self._read()
            except Error as error:
                logger.log(severity(error), "Could not read the change feed: %s", error)
                await asyncio.sleep(RETRY_SECONDS)
                continue
            except Exception:  # every screen depends on this task
                logger.exception("Could not read the change feed; retrying.")
                await asyncio.sleep(RETRY_SECONDS)
                continue
            self._expect_results()
            await asyncio.sleep(PAUSE_SECONDS)
            await self._listener.wait(WAIT_SECONDS)

    @contextmanager
    def following(self, seq: int) -> Iterator[Follower]:
        """Count a client while it follows; the client updates its own position."""
        follower = Follower(seq)
        self.followers.add(follower)
        self._expect_results()
        try:
            yield follower
        finally:
            self.followers.discard(follower)

    def version(self) -> int:
        """Return a number that changes with every commit to the database; -1 if unknown."""
        return self._listener.version()

    def row_of(self, kind: str, number: int) -> tuple[object, ...] | None:
        """Return the row of a token or a login; None if it cannot be read at once."""
        return self._listener.row_of(kind, number)

    @property
    def behind(self) -> int:
        """How many changes the slowest client has still to be sent."""
        return max((self.seq - each.seq for each in self.followers), default=0)

    def frames_after(self, seq: int) -> list[Frame] | None:
        """Return the frames after `seq`; None when they are no longer all in memory."""
        if seq >= self.seq:
            return []
        if not self._ring or self._ring[0][0] > seq + 1:
            return None
        return [frame for frame in self._ring if frame[0] > seq]

    def results_after(self, number: int) -> list[Frame]:
        """Return the messages with check results after a number; some may be lost."""
        return [frame for frame in self._results if frame[0] > number]

    async def more(self, seconds: float) -> None:
        """Wait for the next frames, or to be woken, but no longer than so many seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await asyncio.shield(self._next)

    def wake(self) -> None:
        """Wake the clients that wait for frames."""
        waiting, self._next = self._next, asyncio.get_running_loop().create_future()
        with suppress(asyncio.InvalidStateError):
            waiting.set_result(None)

    def _expect_results(self) -> None:
        """Read check results soon, at most once a second, if a client follows."""
        self._results_expected = True
        if self.followers and (self._reading is None or self._reading.done()):
            self._reading = asyncio.create_task(self._read_results())

    async def _read_results(self) -> None:
        while self._results_expected and self.followers:
            self._results_expected = False
            try:
                newest = max(self._sent.values(), default=EPOCH + OVERLAP)
                found = await series_totals.checked_since(self._db, newest - OVERLAP)
            except (Error, TimeoutError) as error:
                logger.info("Could not read check results: %s", error)
                return
            self._announce([each for each in found if self._sent.get(each.id) != each.checked_at])
            await asyncio.sleep(RESULTS_EVERY)

    def _announce(self, fresh: Sequence[CheckSeries]) -> None:
        self._sent |= {each.id: each.checked_at for each in fresh if each.checked_at}
        if fresh:
            number = self._results[-1][0] + 1 if self._results else 1
            self._results.append((number, results_frame(fresh)))
            self.wake()

    async def _read(self) -> None:
        full = True
        while full:
            batch = await changes.list_encoded_after(self._db, self.seq)
            full = len(batch) == changes.PAGE  # else all was read: the next commit wakes us
            if not batch:
                return
            self._ring.extend((change.seq, frame(change)) for change in batch)
            for change in batch:
                for watch in self.watchers:
                    watch(change)
            self.seq = batch[-1].seq
            self.wake()


def frame(change: Change) -> bytes:
    """Encode a change as a server-sent event."""
    body = {"op": change.op, "id": change.entity_id, "version": change.version, "row": change.row}
    head = f"id: {change.seq}\nevent: {change.entity}\ndata: ".encode()
    return head + _encode(body) + b"\n\n"


def results_frame(series: Sequence[CheckSeries]) -> bytes:
    """Encode check results as a server-sent event without a number: it is not sent again."""
    items = [
        {
            "service": each.service,
            "check": each.check,
            "state": each.state,
            "silent": each.silent,
            "at": serialize.format_moment(each.checked_at),
            "latency_ms": each.latency_ms,
        }
        for each in series
    ]
    return b"event: check_results\ndata: " + _encode({"items": items}) + b"\n\n"


def as_json(change: Change) -> dict[str, object]:
    """Return a change as JSON."""
    return {
        "seq": change.seq,
        "entity": change.entity,
        "id": change.entity_id,
        "op": change.op,
        "version": change.version,
        "row": change.row,
        "at": serialize.format_moment(change.at),
    }
