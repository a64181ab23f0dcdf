"""Follow a running session: ingest its output, and end it when it has to stop."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Final

from lamplighter.domain.services.service import Services
from lamplighter.domain.sessions.session import Session, Status
from lamplighter.domain.sessions.transcript import Line
from lamplighter.engines import EngineInput, EngineRun, stream
from lamplighter.engines.claude import NAME as CLAUDE
from lamplighter.engines.cutting import PendingLines
from lamplighter.engines.line_times import LineTimes
from lamplighter.engines.tail import POLL_SECONDS, Tail, watch_growth
from lamplighter.repository.sessions import sessions
from lamplighter.repository.store.driver import Error, OperationalError
from lamplighter.supervisor.actions.gate import Gate
from lamplighter.supervisor.patience import retry_when_locked
from lamplighter.supervisor.run.context import SessionContext
from lamplighter.supervisor.run.limits import LimitWatch
from lamplighter.usecases.ingest import session_lines
from lamplighter.usecases.ingest.context import IngestContext, ingest_context
from lamplighter.usecases.ingest.steps import StepQueue

STOP_POLL_SECONDS: Final = 0.25
HALT_POLL_SECONDS: Final = 1.0
DRAINED: Final = "The supervisor was stopped."
STOPPED: Final = "Stopped by an operator."
PARKED: Final = "The supervisor stopped while the session waited for approval."


async def follow(
    here: SessionContext, task: EngineInput, started: EngineRun, watch: LimitWatch, gate: Gate
) -> None:
    """Ingest lines until the engine has ended and its file is read completely."""
    ingest = session_ingest(here, task.session, Services(task.declared))
    path, offset = here.files.path(task.session), task.session.log_offset
    tail = Tail(path, offset, max_line=here.files.max_line)
    times, undecided = LineTimes(path), PendingLines()
    ended = asyncio.ensure_future(started.wait())
    looked = 0.0

    async def look() -> None:
        nonlocal looked
        if time.monotonic() - looked > STOP_POLL_SECONDS:
            looked = time.monotonic()
            if gate.busy:  # an action may be slow: the engine waits for it
                watch.clock.last_output = looked
            watch.clock.waited = gate.waiting.seconds
            if watch.draining.is_set() and gate.waiting.now:
                watch.stop(Status.INTERRUPTED, PARKED, started)
            await _watch(here, task.session, started, watch, unfinished=tail.unfinished)
            gate.ending = watch.status is not None

    try:
        async with watch_growth(path) as grown, _stop_on_halt(here, started, watch, gate):
            ended.add_done_callback(lambda _: grown.set())
            while True:
                grown.clear()
                over = ended.done()
                printed = max(tail.size, here.files.size(task.session.output))
                watch.flooded(printed, started)
                enough = over and watch.enough(tail.position)
                lines = [tail.skip()] if enough and tail.left else tail.read()
                times.note(lines, here.now())
                await _ingest(
                    here, ingest, complete_lines(task.session, undecided, lines), watch, look
                )
                if over and tail.at_end:
                    break
                await look()
                if not lines and tail.at_end:
                    with suppress(TimeoutError):
                        async with asyncio.timeout(POLL_SECONDS):
                            await grown.wait()
        last = tail.last()
        ended_with = complete_lines(task.session, undecided, [last] if last else [])
        await _ingest(here, ingest, [*ended_with, *undecided.rest()], watch, look)
    finally:
        tail.close()
        times.close()


@asynccontextmanager
async def _stop_on_halt(
    here: SessionContext, started: EngineRun, watch: LimitWatch, gate: Gate
) -> AsyncIterator[None]:
    """End the session on a halt, even while its lines wait for the database."""

    async def obey() -> None:
        while True:
            halt = here.halt_control.by_file()  # needs no database
            with suppress(Error, TimeoutError):
                async with asyncio.timeout(HALT_POLL_SECONDS):
                    halt = halt or await here.halt_control.pulled(here.db)
            if halt:
                watch.halt(halt.description, started)
                gate.end_actions()
                watch.press_on()
            await asyncio.sleep(STOP_POLL_SECONDS)

    obeying = asyncio.create_task(obey())
    try:
        yield
    finally:
        obeying.cancel()
        await asyncio.gather(obeying, return_exceptions=True)


def session_ingest(here: SessionContext, session: Session, services: Services) -> IngestContext:
    """Return the ingest context of a session's lines and hooks."""
    ingest = ingest_context(here, here.active, session, services)
    ingest = replace(ingest, fading=here.timepiece.steady(here.now()))
    ingest.hooked.rules = here.active.hooks
    if here.active.hooks.save and session.log_offset:
        _restore_tool_uses(here, ingest)
    return ingest


def _restore_tool_uses(here: SessionContext, ingest: IngestContext) -> None:
    """Record the used tools before another process ingests their answers."""
    session = ingest.session
    for lines in here.files.lines(session):
        for line in lines:
            if line.start >= session.log_offset:
                return
            for item in stream.parse(line.content):
                ingest.hooked.note(item)


def complete_lines(
    session: Session, undecided: PendingLines, lines: Sequence[Line]
) -> Sequence[Line]:
    """Return the final lines: a later line of the Claude CLI may report one as cut off."""
    return undecided.ready(lines) if session.engine == CLAUDE else lines


async def _ingest(
    here: SessionContext,
    ingest: IngestContext,
    lines: Sequence[Line],
    watch: LimitWatch,
    poll: Callable[[], Awaitable[None]],
) -> None:
    """Ingest lines; between two transactions check whether the session has to stop."""
    feed = StepQueue(ingest, lines)
    while not feed.empty:
        fading = here.timepiece.steady(here.now())
        feed.ingest = replace(ingest, fading=fading, halted=watch.leaves_rest)
        some = partial(session_lines.ingest_some, feed, now=here.now())
        watch.take(await retry_when_locked(some, watch.draining))
        await poll()


async def _watch(
    here: SessionContext,
    session: Session,
    started: EngineRun,
    watch: LimitWatch,
    *,
    unfinished: int,
) -> None:
    if watch.draining.is_set() and watch.drained():
        watch.stop(Status.STOPPED, DRAINED, started)
    due = watch.due(unfinished=unfinished)
    if due and not started.ended:  # slow ingestion is not the engine's fault
        watch.stop(*due, started)
    watch.linger(started)
    with suppress(OperationalError):  # checked again in a moment
        existing = await sessions.get(here.db, session.id)
        if existing and existing.stop_requested_at is not None:
            watch.stop(Status.STOPPED, STOPPED, started)
    watch.press_on()
