"""Run one session: start its engine, take in what it prints while it runs, and end it."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from lamplighter.domain.reconcile import Echo
from lamplighter.domain.redact import Redactor
from lamplighter.domain.relate import Lexicon, built_in
from lamplighter.domain.service import Services
from lamplighter.domain.session import MAX_TIER, Plan, Request, Session, Status
from lamplighter.domain.transcript import Line
from lamplighter.engines import Engine, Task, process
from lamplighter.engines.process import Run
from lamplighter.engines.tail import POLL_SECONDS, Tail, growing
from lamplighter.repository import Database, sessions
from lamplighter.repository.driver import OperationalError
from lamplighter.supervisor import gateway, tasks
from lamplighter.supervisor.files import SessionFiles
from lamplighter.supervisor.gate import Gate
from lamplighter.supervisor.timepiece import Timepiece
from lamplighter.supervisor.watch import Limits, Watch
from lamplighter.usecases import access, chain, observe
from lamplighter.usecases import sessions as lifecycle
from lamplighter.usecases.analyse import catch_up
from lamplighter.usecases.ingest import Ingest
from lamplighter.usecases.sessions import Ending

logger = logging.getLogger(__name__)
T = TypeVar("T")

FIRST_PAUSE_SECONDS: Final = 0.2
LONGEST_PAUSE_SECONDS: Final = 5.0
STOP_POLL_SECONDS: Final = 0.25
TOKEN_MARGIN_SECONDS: Final = 300.0
LINES_AT_ONCE: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
    """What every session needs: where it is kept, who runs it, and by which rules."""

    db: Database
    files: SessionFiles
    engines: Mapping[str, Engine]
    redactor: Redactor
    now: Callable[[], datetime]
    sockets: Path
    url: str = ""
    epoch: int = 0
    budget: int = 2_000
    max_tier: int = MAX_TIER
    lexicon: Lexicon = field(default_factory=built_in)
    echo: Echo = Echo.COUNT
    limits: Limits = field(default_factory=Limits)
    timepiece: Timepiece = field(default_factory=Timepiece)


async def run(
    shop: Workshop,
    plan: Plan,
    services: Services,
    *,
    request: Request | None = None,
    draining: asyncio.Event | None = None,
    why_not: str | None = None,
) -> Session:
    """Run one session from its opening to its end and return it as it ended.

    `why_not` is a reason, known before, for which it fails at once.
    Raises Conflict when its request was taken back meanwhile.
    """
    await catch_up(shop.db, shop.lexicon)
    begun = await lifecycle.begin(
        shop.db,
        plan,
        services=services,
        epoch=shop.epoch,
        budget=shop.budget,
        request=request,
        fading=shop.timepiece.steady(shop.now()),
        now=shop.now(),
    )
    engine = shop.engines[plan.engine]
    why_not = why_not or engine.probe()
    if why_not:
        return await _ended(shop, begun.session, Ending(status=Status.FAILED, reason=why_not))
    draining = draining or asyncio.Event()
    task = await _patiently(
        lambda: tasks.task(shop.db, begun, services, max_tier=shop.max_tier, now=shop.now()),
        draining,
    )
    gate = Gate(
        db=shop.db,
        session=begun.session,
        services=services,
        redact=shop.redactor,
        now=shop.now,
    )
    return await _run(shop, engine, task, gate, draining)


async def _run(
    shop: Workshop, engine: Engine, task: Task, gate: Gate, draining: asyncio.Event
) -> Session:
    session, watch = task.session, Watch(shop.limits, draining)
    try:
        output = shop.files.make(session.id)
        async with gateway.opened(gate, shop.sockets / gateway.NAME.format(session.id)) as door:
            command = engine.command(replace(task, gate=str(door)))
            command = replace(
                command, env={**command.env, **await _way_in(shop, session, draining)}
            )
            started = await process.start(command, session_id=session.id, output=output)
            try:
                await _follow(shop, task, started, watch, gate)
            finally:
                if not started.ended:
                    started.kill()
                exit_code = await started.wait()
                await process.sweep(started.mark)
    except OSError as error:
        reason = f"The engine could not be started: {error.strerror} ({error.filename})."
        return await _ended(shop, session, Ending(status=Status.FAILED, reason=reason))
    return await _close(shop, session, watch, exit_code, started.last_words())


async def _way_in(shop: Workshop, session: Session, draining: asyncio.Event) -> dict[str, str]:
    """Make the token a session asks the API with; it ends with the session, or soon after."""
    now = shop.now()
    expires_at = now + timedelta(seconds=shop.limits.total + TOKEN_MARGIN_SECONDS)
    token = await _patiently(
        lambda: access.mint_for_session(shop.db, session, expires_at=expires_at, now=now),
        draining,
    )
    return {"LAMPLIGHTER_TOKEN": token, "LAMPLIGHTER_URL": shop.url}


async def _follow(shop: Workshop, task: Task, started: Run, watch: Watch, gate: Gate) -> None:
    """Take in lines until the engine has ended and its file is read to the end."""
    known = [service.name for service in task.known]
    taking = _taking(shop, task.session, known)
    tail = Tail(shop.files.path(task.session.id), max_line=shop.files.max_line)
    ended = asyncio.ensure_future(started.wait())
    looked = 0.0
    try:
        async with growing(shop.files.path(task.session.id)) as grown:
            ended.add_done_callback(lambda _: watch.cramp(full=shop.files.full()))
            ended.add_done_callback(lambda _: grown.set())
            while True:
                grown.clear()
                over = ended.done()
                lines = tail.read()
                await _take(shop, taking, lines, watch)
                if over and tail.at_end:
                    break
                if time.monotonic() - looked > STOP_POLL_SECONDS:
                    looked = time.monotonic()
                    if gate.busy:  # an action may take its time: the engine waits for it
                        watch.heard = looked
                    await _watch(shop, task.session, started, watch)
                if not lines and tail.at_end:
                    with suppress(TimeoutError):
                        await asyncio.wait_for(grown.wait(), POLL_SECONDS)
        last = tail.last()
        if last:
            await _take(shop, taking, [last], watch)
    finally:
        tail.close()


def _taking(shop: Workshop, session: Session, known: Sequence[str]) -> Ingest:
    limits = shop.limits.markers, shop.max_tier, shop.timepiece.steady(shop.now())
    return Ingest(shop.db, session, shop.redactor, known, *limits, shop.lexicon, shop.echo)


async def _take(shop: Workshop, taking: Ingest, lines: Sequence[Line], watch: Watch) -> None:
    for at in range(0, len(lines), LINES_AT_ONCE):
        taking = replace(taking, fading=shop.timepiece.steady(shop.now()))
        some = partial(observe.ingest, taking, lines[at : at + LINES_AT_ONCE], now=shop.now())
        taken = await _patiently(some, watch.draining)
        watch.heard = time.monotonic()
        if taken.finished is not None:
            watch.result_at = time.monotonic()


async def _patiently(work: Callable[[], Awaitable[T]], draining: asyncio.Event) -> T:
    """Try until the database takes it: it may be locked, or its disk full, for a while.

    Gives up when the supervisor is asked to end: the next one goes on from the file.
    """
    pause = FIRST_PAUSE_SECONDS
    while True:
        try:
            return await work()
        except OperationalError as error:
            if draining.is_set():
                raise
            logger.warning("The database cannot be used now (%s); trying again.", error)
            with suppress(TimeoutError):
                await asyncio.wait_for(draining.wait(), pause)
            pause = min(LONGEST_PAUSE_SECONDS, pause * 2)


async def _watch(shop: Workshop, session: Session, started: Run, watch: Watch) -> None:
    if watch.draining.is_set() and watch.drained():
        watch.stop(Status.STOPPED, "The supervisor was asked to end.", started)
    overdue = watch.overdue()
    if overdue:
        watch.stop(Status.TIMED_OUT, overdue, started)
    if watch.lingers() and not watch.steps:
        watch.steps = [started.terminate, started.kill]
    with suppress(OperationalError):  # looked again in a moment
        held = await sessions.get(shop.db, session.id)
        if held and held.stop_requested_at is not None:
            watch.stop(Status.STOPPED, "An operator stopped it.", started)
    watch.press_on()


async def _close(
    shop: Workshop, session: Session, watch: Watch, exit_code: int, errors: Sequence[str]
) -> Session:
    heard = await asyncio.to_thread(shop.files.heard, session.id)
    if watch.status is not None:
        status, reason = watch.status, watch.reason
    else:
        lingered = watch.lingers()
        known = 0 if lingered and heard.finished else exit_code
        status, reason = lifecycle.status_of(heard.finished, known, stderr=errors)
        if watch.cramped and status is Status.FAILED:
            reason = f"{reason} There was no space left for its file."
    ending = Ending(
        status=status,
        reason=reason,
        exit_code=exit_code,
        finished=heard.finished,
        said=heard.said,
    )
    return await _ended(shop, session, ending, watch.draining)


async def _ended(
    shop: Workshop, session: Session, ending: Ending, draining: asyncio.Event | None = None
) -> Session:
    ended = await _patiently(
        lambda: lifecycle.finish(
            shop.db,
            session,
            ending,
            redact=shop.redactor,
            max_tier=shop.max_tier,
            now=shop.now(),
        ),
        draining or asyncio.Event(),
    )
    try:
        await asyncio.to_thread(shop.files.mask, session.id, shop.redactor.masked)
    except OSError as error:
        logger.warning("The file of session %s could not be masked: %s", session.id, error)
    return ended


async def recover(shop: Workshop, services: Services) -> list[Session]:
    """End the sessions of a supervisor that died: take in the rest of their files first."""
    await process.sweep()
    await asyncio.to_thread(gateway.forget, shop.sockets)
    names = [service.name for service in services]
    ended = [await _recovered(shop, each, names) for each in await sessions.running(shop.db)]
    await chain.drop_stranded(shop.db, now=shop.now())
    return ended


async def _recovered(shop: Workshop, session: Session, names: Sequence[str]) -> Session:
    taking = _taking(shop, session, names)
    heard = None
    if shop.files.path(session.id).exists():
        for lines in shop.files.lines(session.id, session.log_offset):
            for at in range(0, len(lines), LINES_AT_ONCE):
                await observe.ingest(taking, lines[at : at + LINES_AT_ONCE], now=shop.now())
        heard = await asyncio.to_thread(shop.files.heard, session.id)
    ending = Ending(
        status=Status.INTERRUPTED,
        reason="The supervisor ended while it ran; all that it had printed was taken in.",
        finished=heard.finished if heard else None,
        said=heard.said if heard else (),
    )
    return await _ended(shop, session, ending)
