"""Leftover: markers over a session's limit stay in its file until a person ingests them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final

from lamplighter.domain.errors import Conflict, require
from lamplighter.domain.sessions.markers import Marker, MarkerKind, MarkerReading
from lamplighter.domain.sessions.session import Session
from lamplighter.domain.sessions.transcript import Line
from lamplighter.engines.claude import NAME as CLAUDE
from lamplighter.engines.cutting import PendingLines
from lamplighter.engines.tail import read_lines
from lamplighter.repository import Database, writing
from lamplighter.repository.sessions import sessions
from lamplighter.usecases.ingest.context import IngestContext, IngestResult
from lamplighter.usecases.ingest.session_lines import ingest_marker
from lamplighter.usecases.ingest.steps import StepQueue
from lamplighter.usecases.sessions.halt import HaltControl

FilePosition = tuple[int, int]

ENDED: Final = "its session has ended"


async def get_leftover(db: Database, session_id: int) -> Session:
    """Return a session with markers over its limit in its file; raises NotFound or Conflict."""
    session = require(await sessions.get(db, session_id), f"Session {session_id} not found.")
    if session.running:
        raise Conflict(f"Session {session_id} is still running. Wait until it has ended.")
    if not session.markers_left:
        raise Conflict(f"Session {session_id} has no more markers to ingest.")
    return session


async def ingest_leftover(ingest: IngestContext, file: Path, halt_control: HaltControl) -> None:
    """Ingest all leftover markers, in short transactions that each store their position.

    Stops on a halt, or if another process ingests the same markers.
    """
    place = ingest.session.left_offset, ingest.session.left_step
    for lines in _decided(ingest.session, read_lines(file, ingest.session.left_offset)):
        feed = StepQueue(ingest, lines, reached=place)
        while not feed.empty:
            if halt_control.by_file() is not None:
                return
            after = await _ingest_some(feed, place, now=ingest.now())
            if after is None:
                return
            place = after


async def _ingest_some(
    feed: StepQueue, place: FilePosition, *, now: datetime
) -> FilePosition | None:
    """Ingest some markers and return the position after them; None if none are left."""
    ingest, result, count, done = feed.ingest, IngestResult(), 0, 0
    steps = await feed.ahead()
    async with writing(ingest.db):
        existing = await sessions.get(ingest.db, ingest.session.id)
        if existing is None or (existing.left_offset, existing.left_step) != place:
            return None
        ingest.pace.begin()
        while done < len(steps) and count < existing.markers_left:
            step = steps[done]
            if isinstance(step.content, Marker):
                await ingest_marker(ingest, step, _of_ended(step.content), result, now=now)
                count += 1
            done += 1
            if ingest.pace.over():
                break
        place = steps[done - 1].reached
        await sessions.ingest_leftover(
            ingest.db, existing.id, count, offset=place[0], step=place[1]
        )
        await sessions.add_counts(ingest.db, existing.id, now=now, **result.counts)
    feed.drop(done)
    await ingest.pace.rest()
    return place if count < existing.markers_left else None


def _of_ended(marker: Marker) -> Marker:
    """Return a marker as it counts after the end of its session: an escalation is refused."""
    if marker.what is MarkerKind.ESCALATE and marker.reading is MarkerReading.TAKEN:
        return replace(marker, reading=MarkerReading.REFUSED, reason=ENDED)
    return marker


def _decided(session: Session, read: Iterator[list[Line]]) -> Iterator[Sequence[Line]]:
    """Yield lines once it is known whether they were cut off, as in the first reading."""
    if session.engine != CLAUDE:
        yield from read
        return
    undecided = PendingLines()
    for lines in read:
        yield undecided.ready(lines)
    yield undecided.rest()
