"""The supervisor's process, and one session run from the command line."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Final

from lamplighter import clock
from lamplighter.config import lexicon
from lamplighter.config.settings import Settings
from lamplighter.domain.actions.approval import ApprovalState
from lamplighter.domain.clients.agent import silent_agents
from lamplighter.domain.configuration import Configuration
from lamplighter.domain.errors import Conflict, Halted, Unavailable
from lamplighter.domain.limits import MAX_TIER
from lamplighter.domain.secrets.redact import Redactor
from lamplighter.domain.services.leader import HEARTBEAT
from lamplighter.domain.services.service import Services
from lamplighter.domain.sessions.handoff import EscalationState
from lamplighter.domain.sessions.session import RequestState, Session, SessionPlan, Status
from lamplighter.domain.sessions.transcript import transcript_entry
from lamplighter.engines import Engine, stream
from lamplighter.engines.tail import Tail
from lamplighter.mcp.session_server import SessionServer
from lamplighter.repository import Database
from lamplighter.repository.feed.signals import ChangeSignal, create_listener
from lamplighter.repository.sessions import approvals, escalations, requests, sessions
from lamplighter.repository.store.database import file_of, is_postgres
from lamplighter.repository.store.driver import OperationalError
from lamplighter.repository.upkeep import leases
from lamplighter.serve import home
from lamplighter.serve.configuration import build_configuration, build_retention
from lamplighter.serve.editing.live import follow_settings
from lamplighter.serve.local import run_directory, web_url
from lamplighter.serve.notebook.service import notebook_context
from lamplighter.serve.push.transport import build_outlets
from lamplighter.serve.services_file import ServicesFile
from lamplighter.serve.verify.tools import build_tools, private_paths
from lamplighter.supervisor.beside import (
    HealthSchedule,
    IncidentFollower,
    OrganizerSchedule,
    PushEvaluation,
    RetentionSchedule,
    Verifier,
)
from lamplighter.supervisor.checks.process import CheckProcesses
from lamplighter.supervisor.checks.scheduler import CheckScheduler
from lamplighter.supervisor.daemon import Supervisor
from lamplighter.supervisor.lease import SUFFIX, Lease, Lock
from lamplighter.supervisor.run.context import SessionContext
from lamplighter.supervisor.run.files import SessionFiles
from lamplighter.supervisor.sender import Sender
from lamplighter.supervisor.standby import STANDBY_SECONDS
from lamplighter.supervisor.tools.readable import Readable
from lamplighter.usecases.context import Context
from lamplighter.usecases.outages import describe_failed_command
from lamplighter.usecases.services.check_folding import CheckRetention
from lamplighter.usecases.sessions import sessions as lifecycle

FOLLOW_SECONDS: Final = 0.05

Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ChainRun:
    """A chain run from the command line: its first and last session; whether it needs a person."""

    first: Session
    last: Session
    person: bool = False


@dataclass(frozen=True, slots=True)
class SupervisorProcess:
    """A supervisor and its wake-up signals."""

    supervisor: Supervisor
    listener: ChangeSignal


def run(settings: Settings) -> None:
    """Run rounds until a signal."""
    home.prepare(settings, patience=home.SERVER_WAIT_SECONDS)
    home.write_starter(settings)
    asyncio.run(_run(settings))


def run_once(
    settings: Settings, plan: SessionPlan, *, engine: str | None, report: Report
) -> ChainRun:
    """Run one session now, and those it escalates to; `report` gets each output line.

    If another process is the leader, it runs the session, unless it ends before.
    """
    home.prepare(settings)
    home.write_starter(settings)
    try:
        return asyncio.run(_run_once(settings, plan, engine, report))
    except OperationalError as error:
        raise Unavailable(describe_failed_command(error)) from error


async def _run(settings: Settings) -> None:
    async with build_supervisor(settings) as here:
        _on_signals(here.supervisor.drain)
        await here.supervisor.run(here.listener)


async def _run_once(
    settings: Settings, plan: SessionPlan, engine: str | None, report: Report
) -> ChainRun:
    async with build_supervisor(settings) as here:
        services = here.supervisor.load()
        _on_signals(here.supervisor.drain)
        if await here.supervisor.lead():
            return await _run_alone(here.supervisor, plan, engine, services, report)
        return await _run_by_leader(here.supervisor, plan, engine, services, report)


async def _run_alone(
    supervisor: Supervisor,
    plan: SessionPlan,
    engine: str | None,
    services: Services,
    report: Report,
) -> ChainRun:
    pulled = await supervisor.context.halt_control.pulled(supervisor.db)
    if pulled is not None:
        await supervisor.step_down()
        raise Halted(f"{pulled.description} {supervisor.context.halt_control.release(pulled)}")
    filed = await lifecycle.file_request(
        supervisor.context,
        plan,
        services=services,
        max_tier=supervisor.context.active.max_tier,
        engine=engine,
    )
    return await _run_as_leader(supervisor, filed.id, report)


async def _run_as_leader(supervisor: Supervisor, request_id: int, report: Report) -> ChainRun:
    working = asyncio.create_task(_work_off(supervisor, request_id))
    try:
        return await _follow_request(supervisor, request_id, report)
    finally:
        await working
        await supervisor.context.cleaning.ended()
        await supervisor.step_down()


async def _work_off(supervisor: Supervisor, request_id: int) -> None:
    while not supervisor.draining.is_set():
        if await supervisor.halted():
            await asyncio.sleep(FOLLOW_SECONDS)
            continue
        if await supervisor.go_on():
            continue
        request = await requests.get(supervisor.db, request_id)
        if request is None or request.state is not RequestState.QUEUED:
            return
        await supervisor.answer(request)
        await supervisor.parking.ended()


async def _run_by_leader(
    supervisor: Supervisor,
    plan: SessionPlan,
    engine: str | None,
    services: Services,
    report: Report,
) -> ChainRun:
    filed = await lifecycle.file_request(
        supervisor.context,
        plan,
        services=services,
        max_tier=supervisor.context.active.max_tier,
        engine=engine,
    )
    queue = f"Request {filed.id} is number {filed.position} in its queue."
    report(f"A supervisor or another run is active. {queue}")
    pulled = await supervisor.context.halt_control.pulled(supervisor.db)
    if pulled is not None:
        release = supervisor.context.halt_control.release(pulled)
        report(f"{pulled.description} The request is queued. {release}")
    if await _lead_instead(supervisor, filed.id):
        return await _run_as_leader(supervisor, filed.id, report)
    return await _follow_request(supervisor, filed.id, report)


async def _lead_instead(supervisor: Supervisor, request_id: int) -> bool:
    """Wait until the leader takes a request; True if it ended before and this process leads."""
    db, due = supervisor.db, 0.0
    while True:
        request = await requests.get(db, request_id)
        queued = request is not None and request.state is RequestState.QUEUED
        if not queued or supervisor.draining.is_set():
            return False
        if time.monotonic() >= due:
            due = time.monotonic() + STANDBY_SECONDS
            if await _is_left_alone(supervisor) and await supervisor.lead():
                return True
        await asyncio.sleep(FOLLOW_SECONDS)


async def _is_left_alone(supervisor: Supervisor) -> bool:
    """Whether no leader has come for a while; a supervisor on standby or restarting leads first.

    False during a halt: without a session to run, a leader only keeps a supervisor from leading.
    """
    leader = await leases.get(supervisor.db)
    # a heartbeat far in the future is old too: the clock was set back
    if leader is not None and abs(supervisor.context.now() - leader.heartbeat_at) <= HEARTBEAT:
        return False
    return await supervisor.context.halt_control.pulled(supervisor.db) is None


async def _follow_request(supervisor: Supervisor, request_id: int, report: Report) -> ChainRun:
    """Print each line of the session that answers a request, until it ends."""
    db = supervisor.db
    while True:
        request = await requests.get(db, request_id)
        if request is None or request.state is RequestState.CANCELLED:
            raise Conflict(f"Request {request_id} was withdrawn.")
        if supervisor.draining.is_set() and request.state is RequestState.QUEUED:
            await lifecycle.cancel(db, request_id, now=supervisor.context.now())
            raise Conflict(f"Stopped. Request {request_id} was withdrawn.")
        if request.session_id is not None:
            first = await _follow(supervisor, request.session_id, report)
            return ChainRun(first, *await _follow_on(supervisor, first, report))
        await asyncio.sleep(FOLLOW_SECONDS)


async def _follow_on(
    supervisor: Supervisor, session: Session, report: Report
) -> tuple[Session, bool]:
    """Print the lines of the sessions that a session escalates to.

    Returns the last of them, and whether it requested a person.
    """
    db = supervisor.db
    while session.status is Status.ESCALATED:
        # read before the child: the child ends the escalation, and the other order may miss both
        waiting = await _has_escalation(db, session, EscalationState.ACCEPTED)
        child = await sessions.child(db, session.id)
        if child is not None:
            report(f"Session {session.id}: {session.reason} Escalated to session {child.id}.")
            session = await _follow(supervisor, child.id, report)
        elif not waiting or supervisor.draining.is_set():
            break
        else:
            await asyncio.sleep(FOLLOW_SECONDS)
    return session, await _has_escalation(db, session, EscalationState.PERSON)


async def _has_escalation(db: Database, session: Session, state: EscalationState) -> bool:
    """Whether an escalation of a session is in this state."""
    return any(each.state is state for each in await escalations.of_sessions(db, [session.id]))


async def _follow(supervisor: Supervisor, session_id: int, report: Report) -> Session:
    db, files, redact = supervisor.db, supervisor.context.files, supervisor.context.redact
    tail: Tail | None = None
    announced: set[int] = set()
    while True:
        session = await sessions.get(db, session_id)
        assert session is not None
        tail = tail or _open(files.path(session))
        if tail:
            _report_new(tail, redact, report)
        for each in await approvals.of_session(db, session_id):
            if each.state is ApprovalState.OPEN and each.id not in announced:
                announced.add(each.id)
                decide = f"lamplighter approvals approve {each.id}, or deny"
                report(f"Session {session_id} is waiting for approval of {each.wish}: {decide}.")
        if not session.running:
            _report_start(db, session, tail, report)
            return session
        if supervisor.draining.is_set() and db.fence is None:  # another process is the leader
            raise Conflict(f"Stopped. Session {session_id} continues.")
        await asyncio.sleep(FOLLOW_SECONDS)


def _report_start(db: Database, session: Session, tail: Tail | None, report: Report) -> None:
    if tail is None and db.home and not session.is_of(db.home.id):
        report(f"The session's output is on {session.host}.")


def _open(path: Path) -> Tail | None:
    return Tail(path) if path.exists() else None


def _report_new(tail: Tail, redact: Redactor, report: Report) -> None:
    while not tail.at_end:
        for line in tail.read():
            for item in stream.parse(redact.marked(line.content)):
                entry = transcript_entry(item)
                if entry:
                    report(redact(entry.text))


@asynccontextmanager
async def build_supervisor(settings: Settings) -> AsyncIterator[SupervisorProcess]:
    """Assemble a supervisor; it is not the leader yet."""
    active = build_configuration(settings, lexicon.active_lexicon(settings))
    services = ServicesFile(settings.services)
    lock = _lease(settings.database_url)
    directory = run_directory(settings.home)
    async with (
        home.tracing(settings, "supervisor"),
        home.database(settings) as db,
        create_listener(settings.database_url, directory) as listener,
        SessionServer() as server,
        aclosing(CheckProcesses()) as checks,
    ):
        here = home.context(settings, db)
        engines = {engine.name: engine for engine in home.engines(settings)}
        context = build_session_context(settings, here, active, server, services, engines, checks)
        outlets = build_outlets(settings, db)
        scheduler, evaluation = build_scheduler(settings, context)
        sender = Sender(
            db, outlets, clock.now, web_url(settings), listener.version, services.last_good
        )
        organizer = build_organizer(settings, here, context, services)
        measuring = HealthSchedule(here, _interval(settings.memory_health), services.last_good)
        verifier = build_verifier(settings, context, services)
        follower = IncidentFollower(here, services.last_good, listener.version)
        live = follow_settings(settings, db, active)
        steady = context.timepiece.steady
        keeper = RetentionSchedule(here, context.files, build_retention(settings), steady)
        work = (*(sender, organizer, measuring, verifier, follower, keeper, scheduler, evaluation),)
        led = Supervisor(context, services.load, lock, beside=tuple(each.run for each in work))

        def apply(new_settings: Settings) -> None:
            """Apply the settings to the parts; the configuration itself is already current."""
            outlets.addresses.urls = new_settings.notify
            engines.update({each.name: each for each in home.engines(new_settings)})
            organizer.interval = _interval(new_settings.organize)
            organizer.selector = partial(home.selector, new_settings)
            measuring.interval = _interval(new_settings.memory_health)
            verifier.interval = new_settings.verify_interval
            keeper.retention = build_retention(new_settings)
            scheduler.interval, scheduler.retention = (
                new_settings.check_interval,
                check_retention(new_settings),
            )
            scheduler.repairs = evaluation.repairs = may_repair(active)
            led.reconfigured.set()

        live.appliers.append(apply)
        async with live.following():
            yield SupervisorProcess(led, listener)


def _interval(seconds: float) -> timedelta | None:
    """Return an interval of the settings; 0 is none."""
    return timedelta(seconds=seconds) if seconds else None


def may_repair(active: Configuration) -> bool:
    """Return whether a known repair may begin without an investigation."""
    return active.max_tier >= MAX_TIER and not active.dry_run


def check_retention(settings: Settings) -> CheckRetention:
    """Return how long results of scheduled checks are stored."""
    return CheckRetention(
        points=timedelta(seconds=settings.check_result_retention),
        fine=timedelta(seconds=settings.check_series_retention),
        daily=timedelta(seconds=settings.check_day_retention),
    )


def build_scheduler(
    settings: Settings, context: SessionContext
) -> tuple[CheckScheduler, PushEvaluation]:
    """Return the scheduler of checks with their own intervals; an interval of 0 runs none."""
    repairs = may_repair(context.active)
    scheduler = CheckScheduler(
        context,
        context.current or Services,
        context.halt_control,
        settings.check_interval,
        check_retention(settings),
        repairs=repairs,
        processes=context.checks or CheckProcesses(),
    )

    async def halted() -> bool:
        return not scheduler.interval or await context.halt_control.pulled(context.db) is not None

    evaluation = PushEvaluation(
        context,
        context.current or Services,
        halted,
        check_now=scheduler.check_now,
        repairs=repairs,
    )
    return scheduler, evaluation


def build_session_context(
    settings: Settings,
    here: Context,
    active: Configuration,
    server: SessionServer,
    services: ServicesFile,
    engines: Mapping[str, Engine],
    checks: CheckProcesses,
) -> SessionContext:
    """Return the context in which the supervisor runs sessions."""
    return SessionContext(
        db=here.db,
        now=here.now,
        redact=here.redact,
        active=active,
        files=SessionFiles(settings.home / home.SESSIONS),
        engines=engines,
        sockets=run_directory(settings.home),
        url=web_url(settings),
        open_tools=server.open,
        halt_control=home.halt_control(settings),
        current=services.load,
        readable=readable(settings),
        notebook=notebook_context(settings, here, services),
        checks=checks,
    )


def readable(settings: Settings) -> Readable:
    """Return which files sessions may read; the files of Lamplighter are not among them."""
    return Readable(roots=settings.read_roots, private=private_paths(settings))


def build_verifier(settings: Settings, context: SessionContext, services: ServicesFile) -> Verifier:
    """Return the verifier of memories beside the rounds; it pauses during a halt."""
    tools = build_tools(settings, services)
    here = Context(db=context.db, now=context.now, redact=context.redact)
    halted = partial(_is_halted, context)
    return Verifier(here, tools.sources, tools.run_command, settings.verify_interval, halted)


def build_organizer(
    settings: Settings, here: Context, context: SessionContext, services: ServicesFile
) -> OrganizerSchedule:
    """Return the organizer of memories beside the rounds; it queries no model during a halt."""
    return OrganizerSchedule(
        here,
        _interval(settings.organize),
        services.last_good,
        partial(home.selector, settings),
        partial(_is_halted, context),
        lambda: silent_agents(context.active.agents),
        build_tools(settings, services).sources if settings.verify_interval > 0 else None,
    )


async def _is_halted(context: SessionContext) -> bool:
    return await context.halt_control.pulled(context.db) is not None


def _lease(url: str) -> Lease:
    if is_postgres(url):
        from lamplighter.repository.upkeep.lease_postgres import PostgresLock

        return PostgresLock(url)
    return Lock(Path(f"{file_of(url)}{SUFFIX}"))


def _on_signals(stop: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
