"""The supervisor: scheduled rounds, requests in between, one session at a time.

Sessions that wait for a person are parked beside it.
"""

import asyncio
import logging
import os
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import Any, Final

from lamplighter.domain.errors import Conflict, Halted, LamplighterError, LeadershipLost
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.leader import Leader
from lamplighter.domain.services.service import Services
from lamplighter.domain.sessions.session import (
    Session,
    SessionPlan,
    SessionRequest,
    Status,
    Trigger,
)
from lamplighter.repository import Database, reading, writing
from lamplighter.repository.feed.signals import ChangeSignal
from lamplighter.repository.services import events
from lamplighter.repository.sessions import requests
from lamplighter.repository.store.driver import OperationalError, severity
from lamplighter.repository.upkeep import leases
from lamplighter.supervisor.actions.consent import ApprovalWait
from lamplighter.supervisor.heartbeat import Heartbeat
from lamplighter.supervisor.lease import Lease
from lamplighter.supervisor.patience import retry_when_locked, wait_for_first
from lamplighter.supervisor.run import recovery, runner, tracing
from lamplighter.supervisor.run.context import SessionContext
from lamplighter.supervisor.run.parking import ParkedChains
from lamplighter.supervisor.run.tasks import known_fixes
from lamplighter.supervisor.standby import RETRY_MESSAGE, Standby
from lamplighter.usecases.clients import client_sessions
from lamplighter.usecases.ingest.session_lines import PROBE
from lamplighter.usecases.memory import fade, journal
from lamplighter.usecases.services.silence import services_of_round
from lamplighter.usecases.sessions import chain, halt

logger = logging.getLogger(__name__)

POLL_SECONDS: Final = 0.5


async def record_file_changes(context: SessionContext, version: Callable[[], int]) -> None:
    """Record each appearance and removal of the halt file, until cancelled.

    The database is read when the file changed, or the number of commits that `version` returns;
    always if that number is unknown.
    """
    recorded = None
    while True:
        state = context.halt_control.by_file(), version()
        try:
            if state != recorded or state[1] <= 0:
                await halt.record_file(context.db, context.halt_control, now=context.now())
                recorded = state
        except OperationalError as error:
            logger.log(severity(error), "The halt file could not be recorded: %s", error)
        await asyncio.sleep(POLL_SECONDS)


LOCKED_SECONDS: Final = 1.0
NO_KNOWN_FIX: Final = "The known fix does not apply any more. A session will investigate."
NO_ROUND: Final = "and no rounds run"
LAST_VALID: Final = "and the last valid version stays active"


@dataclass(slots=True)
class Supervisor:
    """Runs the rounds while it holds the lock; `beside` are the leader's other tasks.

    Set `reconfigured` when the configuration of the context has changed.
    """

    context: SessionContext
    load: Callable[[], Services]
    lock: Lease
    beside: tuple[Callable[[], Coroutine[Any, Any, None]], ...] = ()
    draining: asyncio.Event = field(default_factory=asyncio.Event)
    reconfigured: asyncio.Event = field(default_factory=asyncio.Event)
    parking: ParkedChains = field(default_factory=ParkedChains)
    heartbeat: Heartbeat = field(default_factory=Heartbeat)
    standby: Standby = field(init=False)
    _due: float = 0.0
    _interval: float = 0.0
    _services: Services = field(default_factory=Services)
    _problem: str = ""
    _halted: str = ""
    _going_on: list[Session] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.standby = Standby(self.lock)

    @property
    def db(self) -> Database:
        """The database."""
        return self.context.db

    async def lead(self) -> bool:
        """Become the leader if there is none, and end the sessions of the previous leader."""
        if not await self.lock.take():
            return False
        self.db.fence = None  # a new epoch begins: no fence yet
        former, active = await leases.get(self.db), self.context.active
        async with writing(self.db):
            leader = await leases.acquire(
                self.db,
                pid=os.getpid(),
                engine=active.engine,
                interval_seconds=active.interval,
                dry_run=active.dry_run,
                now=self.context.now(),
            )
        self.context = replace(self.context, epoch=leader.epoch)
        self.db.fence = partial(leases.ensure_leader, self.db, leader.epoch)
        self.context.timepiece.steady(self.context.now())  # watch the clock from here on
        self.heartbeat.start(self.lock, self.db, leader.epoch, self.context.now)
        try:
            await self._recover(former)
        except BaseException:
            await self.heartbeat.stop()
            raise
        self._due, self._interval = time.monotonic(), self.context.active.interval
        return True

    async def _recover(self, former: Leader | None) -> None:
        """Read services.yaml, and end or resume the sessions of the previous leader."""
        await self.standby.watch.note(self.db, now=self.context.now())
        await self._read_services()
        await halt.record_file(self.db, self.context.halt_control, now=self.context.now())
        recovered = await recovery.recover(self.context, self._services, former)
        for session in recovered.ended:
            logger.warning("Session %s: %s. %s", session.id, session.status, session.reason)
        self._going_on = [*recovered.going_on]

    async def step(self) -> bool:
        """Run the oldest request, else a due round; return whether anything ran."""
        self.parking.reap()
        if self.draining.is_set() or await self.halted():
            return False
        if await self.go_on():
            return True
        request = await requests.next_queued(self.db)
        if request is not None:
            await self.answer(request)
            return True
        if time.monotonic() >= self._due:
            self._interval = self.context.active.interval
            due, self._due = self._due, time.monotonic() + self._interval
            try:
                await self._round()
            except OperationalError:
                self._due = due  # the round failed: retry now, not in an hour
                raise
            return True
        return False

    async def go_on(self) -> bool:
        """Resume a session of a crashed supervisor; return whether there was one."""
        if not self._going_on:
            return False
        await self.parking.work(partial(self._resume, self._going_on.pop(0)))
        return True

    async def _resume(self, session: Session, waiting: ApprovalWait) -> None:
        """Resume a session, and those it escalates to."""
        try:
            going = runner.resume_session(
                self.context, session, self._services, draining=self.draining, waiting=waiting
            )
            filed_in = await requests.trace(self.db, session.id)
            session = await tracing.trace_session(session.plan, going, filed_in=filed_in)
        except OperationalError:
            self._going_on.insert(0, session)
            raise
        except Conflict as error:
            logger.warning("%s", error)
            return
        await self._over(session)
        await self._escalate(session, None, waiting)

    async def run(self, listener: ChangeSignal) -> None:
        """Lead or stand by until stopped, and watch the leader all the time."""
        async with asyncio.TaskGroup() as both:
            watching = both.create_task(self.standby.watch.follow(self.db, self.lock))
            while not self.draining.is_set():
                await self._take_part(listener)
            watching.cancel()

    async def _take_part(self, listener: ChangeSignal) -> None:
        """Stand by, then lead, and return when leadership ends."""
        try:
            async with asyncio.TaskGroup() as both:
                if await self.standby.until_leader(self.lead, self._ingest_pending, self.draining):
                    recording = record_file_changes(self.context, listener.version)
                    along = [self.heartbeat.ended(), recording, self._follow_configuration()]
                    along += [each() for each in self.beside]
                    beside = [both.create_task(each) for each in along]
                    await self._work(listener)
                    await self.parking.ended()
                    for task in beside:
                        task.cancel()
        except* LeadershipLost as deposed:
            logger.error("%s Sessions and actions here were stopped.", deposed.exceptions[0])
        finally:
            await self.parking.leave()
            if self.db.fence is not None:  # we were the leader
                await self.step_down()
                self.db.fence = None  # our sessions have ended; their output may be ingested

    async def _work(self, listener: ChangeSignal) -> None:
        """Run due work until asked to end."""
        announced = False
        while not self.draining.is_set():
            try:
                if not self.lock.owned:
                    await self.lock.take()  # a faster supervisor has fenced us off
                if not announced:
                    await self._tell_next_round()
                    announced = True
                worked = await self.step()
            except OperationalError as error:
                logger.log(severity(error), RETRY_MESSAGE, error)
                await asyncio.sleep(LOCKED_SECONDS)
                continue
            if not worked:
                await self._idle(listener)

    async def halted(self) -> bool:
        """Whether Lamplighter is halted: nothing starts, and requests wait."""
        pulled = await self.context.halt_control.pulled(self.db)
        words = pulled.description if pulled else ""
        if words != self._halted:
            logger.warning("%s", words or "Resumed.")
        self._halted = words
        return bool(words)

    def drain(self) -> None:
        """Shut down: start nothing new, stop running sessions."""
        self.draining.set()

    async def _ingest_pending(self) -> None:
        """Ingest the output of this home's sessions that ended under another home's leader."""
        with suppress(LamplighterError):
            self._services = self.load()
        await recovery.ingest_pending(self.context, self._services)

    async def _idle(self, listener: ChangeSignal) -> None:
        # removing the halt file sends no signal
        left = POLL_SECONDS if self._halted else max(0.0, self._due - time.monotonic())
        await wait_for_first(self.draining.wait(), self.reconfigured.wait(), listener.wait(left))

    async def _follow_configuration(self) -> None:
        """Schedule the next round by the active interval, also during a session."""
        while True:
            await self.reconfigured.wait()
            self.reconfigured.clear()
            self._due += self.context.active.interval - self._interval
            self._interval = self.context.active.interval
            try:
                await self._tell_next_round()
            except OperationalError as error:
                logger.log(severity(error), "The settings could not be recorded: %s", error)
                await asyncio.sleep(LOCKED_SECONDS)
                self.reconfigured.set()

    async def _round(self) -> None:
        await self._read_services()
        context, active = self.context, self.context.active
        await journal.purge_expired(self.db, active.trash_retention, now=context.now())
        await client_sessions.close_inactive(self.db, now=context.now())
        if context.timepiece.steady(context.now()):
            await fade.expire(self.db, active.lifetimes, now=context.now())
        if self._problem and not self._services.path:
            await self._tell_next_round()
            return
        plan = SessionPlan(
            tier=1,
            engine=active.engine,
            trigger=Trigger.SCHEDULED,
            services=await services_of_round(self.db, self._services, at=context.now()),
            dry_run=active.dry_run,
        )
        if plan.services == ():
            await self._tell_next_round()
            return
        await self.parking.work(partial(self._chain, plan, None))

    async def answer(self, request: SessionRequest) -> None:
        """Run the requested session and its escalations, until one waits for approval."""
        await self._read_services()
        if request.engine not in self.context.engines:
            request = replace(request, engine=None)
        known = request.trigger is Trigger.KNOWN_FIX  # the action is known: no model is needed
        engine = PROBE if known else self.context.active.engine_of(request.tier)
        plan = request.plan(engine=engine)
        plan = replace(plan, dry_run=plan.dry_run or self.context.active.dry_run)
        await self.parking.work(partial(self._chain, plan, request))

    @tracing.trace_chain
    async def _chain(
        self, plan: SessionPlan, request: SessionRequest | None, waiting: ApprovalWait
    ) -> None:
        """Run a session, and the next tier's while sessions escalate.

        A requested engine runs them all, else each tier's own.
        """
        asked = request.engine if request else None
        await self._escalate(await self._run(plan, request, waiting), asked, waiting)

    async def _escalate(
        self, session: Session | None, question: str | None, waiting: ApprovalWait
    ) -> None:
        """Run the next tier's session while sessions escalate."""
        while session is not None and session.status is Status.ESCALATED:
            following = partial(self._run_next, session, question, waiting)
            session = await retry_when_locked(following, self.draining)

    async def _run_next(
        self, session: Session, question: str | None, waiting: ApprovalWait
    ) -> Session | None:
        """Run the session that a session escalated to, unless nothing may start."""
        halted = await self.halted()
        if halted or self.draining.is_set():
            why = "halted" if halted else "the supervisor was stopped"
            await chain.drop(self.db, session, why, now=self.context.now())
            return None
        plan = await chain.next_plan(self.db, session)
        engine = question or self.context.active.engine_of(plan.tier)
        return await self._run(replace(plan, engine=engine), None, waiting)

    async def _run(
        self, plan: SessionPlan, request: SessionRequest | None, waiting: ApprovalWait
    ) -> Session | None:
        try:
            running = runner.run(
                self.context,
                plan,
                self._services,
                request=request,
                draining=self.draining,
                why_not=self._why_not(plan) or await self._why_unknown(plan),
                waiting=waiting,
            )
            session = await tracing.trace_session(plan, running)
        except Conflict:
            return None  # the request was withdrawn
        except Halted:
            await chain.drop_stranded(self.db, now=self.context.now())
            return None
        await self._over(session)
        return session

    async def _over(self, session: Session) -> None:
        reason = f": {session.reason}" if session.reason else ""
        logger.info("Session %s (%s): %s%s", session.id, session.trigger, session.status, reason)
        await retry_when_locked(self._tell_next_round, self.draining)

    def _why_not(self, plan: SessionPlan) -> str | None:
        if self._problem and not self._services.path:
            return f"services.yaml cannot be read: {self._problem}"
        highest = self.context.active.max_tier
        if plan.tier > highest:
            return f"Tier {plan.tier} is not allowed. LAMPLIGHTER_MAX_TIER is {highest}."
        return None

    async def _why_unknown(self, plan: SessionPlan) -> str | None:
        """Return why a known fix is no longer valid: its memory, service or incident changed."""
        if plan.trigger is not Trigger.KNOWN_FIX:
            return None
        names, now = plan.services or (), self.context.now()
        async with reading(self.db):
            fixes = await known_fixes(self.db, names, self._services, now=now)
        return None if fixes else NO_KNOWN_FIX

    async def _read_services(self) -> None:
        """Reload services.yaml; keep the last valid version if it is not valid."""
        try:
            self._services, problem = self.load(), ""
        except LamplighterError as error:
            problem = "; ".join(str(error).splitlines())
        if problem and problem != self._problem:
            logger.error("%s", problem)
            active = LAST_VALID if self._services.path else NO_ROUND
            async with writing(self.db):
                text = f"services.yaml is not valid, {active}: {problem}"
                await events.insert(self.db, Level.CRITICAL, text, now=self.context.now())
        self._problem = problem

    async def _tell_next_round(self) -> None:
        left = timedelta(seconds=max(0.0, self._due - time.monotonic()))
        async with writing(self.db):
            now = self.context.now()
            await leases.update_status(
                self.db,
                next_round_at=now + left,
                interval_seconds=self._interval,
                dry_run=self.context.active.dry_run,
                now=now,
            )

    async def step_down(self) -> None:
        """Stop leading, and record it."""
        await self.heartbeat.stop()
        await self.context.cleaning.stop()
        try:
            if self.db.fence is not None:
                await self.db.fence()  # a replaced leader is notified without a write
            async with writing(self.db):
                await leases.update_status(
                    self.db, pid=0, session_id=None, next_round_at=None, now=self.context.now()
                )
        except OperationalError as error:
            logger.warning("The supervisor's stop could not be recorded: %s", error)
        except LeadershipLost:
            logger.debug("The status row belongs to the current leader.")
        await self.lock.release()
