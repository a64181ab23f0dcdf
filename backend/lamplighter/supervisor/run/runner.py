"""Run a session: start its engine, ingest its output while it runs, and end it."""

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from lamplighter.domain.actions.policy import REFUSALS
from lamplighter.domain.errors import Conflict
from lamplighter.domain.services.service import Services
from lamplighter.domain.sessions.cost import DAY, Allowance, SpendingCaps, compute_allowance
from lamplighter.domain.sessions.handoff import Handoff
from lamplighter.domain.sessions.session import (
    Session,
    SessionPlan,
    SessionRequest,
    Status,
    Trigger,
)
from lamplighter.engines import (
    CHECKPOINT,
    CHECKPOINT_LOCK,
    Engine,
    EngineInput,
    EngineRun,
    Trait,
    process,
    tool_names,
)
from lamplighter.repository import Database, reading, writing
from lamplighter.repository.sessions import sessions
from lamplighter.repository.store.driver import OperationalError
from lamplighter.supervisor import tools
from lamplighter.supervisor.actions.checking import check, check_at_once
from lamplighter.supervisor.actions.consent import ApprovalWait
from lamplighter.supervisor.actions.gate import Gate
from lamplighter.supervisor.patience import retry_when_locked
from lamplighter.supervisor.run import follow, inline, tasks, tracing
from lamplighter.supervisor.run.context import SessionContext
from lamplighter.supervisor.run.files import OutputSummary
from lamplighter.supervisor.run.limits import LimitWatch
from lamplighter.supervisor.tools import gateway
from lamplighter.supervisor.tools.context import ToolContext
from lamplighter.supervisor.tools.toolbox import Toolbox, UpdatePrompt
from lamplighter.usecases.access import access
from lamplighter.usecases.clients import tool_hooks
from lamplighter.usecases.memory.analyze import catch_up
from lamplighter.usecases.notebook.sync import keep_in_step
from lamplighter.usecases.sessions import parking
from lamplighter.usecases.sessions import sessions as lifecycle
from lamplighter.usecases.sessions.prompt_update import PromptRecipient, update_prompt
from lamplighter.usecases.sessions.sessions import SessionEnd


async def remaining_budget(
    db: Database, caps: SpendingCaps, plan: SessionPlan, engine: Engine, *, now: datetime
) -> Allowance:
    """Return the remaining budget of a session with this plan.

    An engine without a model begins in any case: it costs nothing unless it reports a cost.
    """
    async with reading(db):
        before = await sessions.lineage(db, plan.parent_id) if plan.parent_id else []
        spent = await sessions.total_charged(db, before)
        today = await sessions.charges_since(db, now - DAY)
    found = compute_allowance(caps, chain=spent, day=today, now=now)
    return found if Trait.MODEL in engine.traits else Allowance(found.budget_usd)


def prompt_updater(
    here: SessionContext, session: Session, services: Services, handoff: Handoff | None
) -> UpdatePrompt:
    """Return a function that builds the prompt updates of a session."""
    budget = here.active.budget
    about = PromptRecipient(session=session, services=services, budget=budget, handoff=handoff)

    async def update(query: str) -> Mapping[str, Any]:
        updated = await update_prompt(here, about, query)
        return {
            "text": updated.text,
            "handoffs": [
                {"tier": each.tier, "service": each.service, "reason": each.reason}
                for each in updated.open
            ],
            "approvals": [
                {"id": each.id, "service": each.service, "name": each.name}
                for each in updated.approvals
            ],
        }

    return update


logger = logging.getLogger(__name__)

ENDING_SECONDS: Final = 10.0
PAUSE_SECONDS: Final = 0.05


async def can_resume(
    here: SessionContext, engine: Engine | None, session: Session, output: OutputSummary
) -> bool:
    """Whether a session whose engine has ended can be resumed: it left a checkpoint and no result.

    A session that was asked to stop cannot, nor one that was resumed too often.
    """
    return (
        engine is not None
        and Trait.RESUMES in engine.traits
        and output.finished is None
        and session.running
        and session.stop_requested_at is None
        and session.resumed < lifecycle.MAX_RESUMES
        and here.files.holds(session, CHECKPOINT)
        and await _is_released(here, session)
    )


async def _is_released(here: SessionContext, session: Session) -> bool:
    """Whether no process has the session any more; an ending process gets some time to finish."""
    deadline = time.monotonic() + ENDING_SECONDS
    while not here.files.free(session, CHECKPOINT_LOCK):
        if time.monotonic() >= deadline:
            return False
        await asyncio.sleep(PAUSE_SECONDS)
    return True


async def resume_run(
    here: SessionContext, engine: Engine, task: EngineInput, watch: LimitWatch, exit_code: int
) -> EngineInput | None:
    """Return the task to continue with after the engine ended; None if the session is over."""
    if watch.status is not None or watch.disk_full or watch.draining.is_set():
        return None
    if await retry_when_locked(lambda: here.halt_control.pulled(here.db), watch.draining):
        return None
    stored = await retry_when_locked(lambda: sessions.get(here.db, task.session.id), watch.draining)
    heard = await asyncio.to_thread(here.files.heard, task.session)
    if stored is None or not await can_resume(here, engine, stored, heard):
        return None
    if await retry_when_locked(lambda: here.halt_control.pulled(here.db), watch.draining):
        return None
    why = f"its engine exited without a result (exit {exit_code})."
    logger.warning("Session %s resumes: %s", stored.id, why)
    session = await retry_when_locked(
        lambda: lifecycle.resume_session(here.db, stored, why, epoch=here.epoch, now=here.now()),
        watch.draining,
    )
    watch.clock.last_output = time.monotonic()
    return await resumed_task(here, replace(task, session=session))


async def resumed_task(here: SessionContext, task: EngineInput) -> EngineInput:
    """Record in a task how often its session was resumed, and how much it had printed."""
    said = await asyncio.to_thread(here.files.repair, task.session)
    return replace(task, resumed=task.session.resumed, printed=said)


TOKEN_MARGIN_SECONDS: Final = 300.0
MARGIN_BYTES: Final = 2**20
_DIED: Final = "the supervisor had stopped; all output was ingested."
LINGERED: Final = "The engine reported its result, but did not exit and was stopped."


async def run(
    here: SessionContext,
    plan: SessionPlan,
    services: Services,
    *,
    request: SessionRequest | None = None,
    draining: asyncio.Event | None = None,
    why_not: str | None = None,
    waiting: ApprovalWait | None = None,
) -> Session:
    """Run a session from its opening to its end and return its final row.

    `why_not` is an earlier known reason for which it fails at once; `waiting` records when it waits
    for a person. Raises Conflict if its request was withdrawn meanwhile, and Halted.
    """
    await catch_up(here.db, here.active.lexicon)
    if here.notebook is not None:
        await keep_in_step(here.notebook)
    engine = here.engines[plan.engine]
    left = await remaining_budget(here.db, here.active.caps, plan, engine, now=here.now())
    thinks = Trait.MODEL in engine.traits
    reads, commands = bool(here.readable.roots), plan.tier in here.active.shell_tiers
    plan = replace(
        plan,
        model=here.active.models.get(plan.tier, "") if thinks else "",
        budget_usd=left.budget_usd if thinks else None,
        tools=tool_names(engine, plan.tier, reads=reads, commands=commands),
    )
    draining = draining or asyncio.Event()
    begun = await _begin(here, plan, services, request, draining)
    why_not = why_not or await asyncio.to_thread(engine.probe) or left.why_not
    if why_not:
        ending = SessionEnd(status=Status.FAILED, reason=why_not, begun=False)
        return await end_session(here, begun.session, ending)
    waiting = waiting or ApprovalWait()
    return await _run_opened(here, begun, services, left.budget_usd, draining, waiting)


async def _begin(
    here: SessionContext,
    plan: SessionPlan,
    services: Services,
    request: SessionRequest | None,
    draining: asyncio.Event,
) -> lifecycle.OpenedSession:
    now = here.now()  # one time for all: a clock change between two reads would cost confidence
    try:
        return await lifecycle.begin(
            here.db,
            plan,
            services=services,
            epoch=here.epoch,
            budget=here.active.budget,
            request=request,
            fading=here.timepiece.steady(now),
            now=now,
        )
    except OperationalError:
        if not here.db.notifies:
            raise
        # PostgreSQL may have committed before the connection was lost
        session = await retry_when_locked(lambda: _begun(here, now), draining)
        if session is None:
            raise
        return await retry_when_locked(
            lambda: lifecycle.reopen(here.db, session, services, now=now), draining
        )


async def _begun(here: SessionContext, at: datetime) -> Session | None:
    """Return the session that this supervisor stored at a time and that still runs."""
    async with writing(here.db):  # waits for the end of a transaction that was left
        running = await sessions.running(here.db)
    ours = (each for each in running if each.leader_epoch == here.epoch)
    return next((each for each in ours if each.started_at == at), None)


async def resume_session(
    here: SessionContext,
    session: Session,
    services: Services,
    *,
    draining: asyncio.Event,
    waiting: ApprovalWait,
) -> Session:
    """Resume a session whose supervisor died, and return its final row."""
    why_not = here.engines[session.engine].probe()
    if why_not:
        return await end_session(
            here, session, SessionEnd(status=Status.INTERRUPTED, reason=why_not)
        )
    session = await retry_when_locked(
        lambda: lifecycle.resume_session(here.db, session, _DIED, epoch=here.epoch, now=here.now()),
        draining,
    )
    begun = await retry_when_locked(
        lambda: lifecycle.reopen(here.db, session, services, now=here.now()), draining
    )
    return await _run_opened(here, begun, services, session.budget_usd, draining, waiting)


@tracing.log_session
async def _run_opened(
    here: SessionContext,
    opened: lifecycle.OpenedSession,
    services: Services,
    budget_usd: float | None,
    draining: asyncio.Event,
    waiting: ApprovalWait,
) -> Session:
    session, hooks = opened.session, here.active.hooks
    task = await retry_when_locked(
        lambda: tasks.task(here.db, opened, services, here.active, now=here.now()), draining
    )
    gate = Gate(
        here=here,
        active=here.active,
        session=session,
        services=services,
        halt_control=here.halt_control,
        waiting=waiting,
        current=here.current,
        check=partial(check_at_once, here.checks) if here.checks else check,
    )
    task = replace(task, budget_usd=budget_usd, max_turns=here.active.max_turns)
    ingest = partial(follow.session_ingest, here, session, services)
    recall = partial(tool_hooks.tool_context, here, hooks, session, clean=here.redact)
    toolbox = Toolbox(
        gate=gate,
        tools=tools.build_tools(ToolContext(gate=gate, ingest=ingest, readable=here.readable)),
        recall=recall if hooks.inject else None,
        update_prompt=prompt_updater(here, session, services, task.handoff),
    )
    if session.resumed:
        task = await resumed_task(here, task)
    return await _run(here, here.engines[session.engine], task, toolbox, draining)


async def _run(
    here: SessionContext,
    engine: Engine,
    task: EngineInput,
    toolbox: Toolbox,
    draining: asyncio.Event,
) -> Session:
    session = task.session
    watch = LimitWatch(here.limits, draining, active=here.active, dollars=task.budget_usd)
    watch.spans.session = session
    if session.resumed:  # time counts from the start of the session, except waiting for people
        waited = await parking.time_waited(here.db, session.id)
        watch.clock.began -= (here.now() - session.started_at - waited).total_seconds()
    exit_code: int | None = None
    errors: Sequence[str] = ()
    try:
        files, scratch = here.files, here.files.scratch(session)
        output = files.path(session) if session.resumed else files.create(session)
        async with AsyncExitStack() as opened:
            opened.enter_context(files.claimed(session))
            task = await _open_tools(
                here, engine, replace(task, scratch=str(scratch)), toolbox, opened
            )
            env = tracing.trace_environment()
            if Trait.MCP not in engine.traits:  # otherwise its tools are its only access
                env |= await _create_token(here, session, draining)
            going: EngineInput | None = task
            while going is not None:
                command = engine.command(going)
                command = replace(command, env={**command.env, **env})
                started: EngineRun
                if here.checks and session.trigger is Trigger.KNOWN_FIX:
                    started = inline.start(command, output, here.checks.run_now)
                else:
                    started = await process.start(
                        command,
                        session_id=session.id,
                        output=output,
                        scratch=scratch,
                        largest=here.limits.most + MARGIN_BYTES,
                    )
                exit_code = await _follow_to_end(here, going, started, watch, toolbox.gate)
                errors, watch.disk_full = started.last_words(), started.disk_full
                going = await resume_run(here, engine, going, watch, exit_code)
    except OSError as error:
        reason = _start_problem(error)
        ending = SessionEnd(status=Status.FAILED, reason=reason, begun=exit_code is not None)
        return await end_session(here, session, ending)
    return await _close(here, session, watch, exit_code, errors)


def _start_problem(error: OSError) -> str:
    where = f" ({error.filename})" if error.filename else ""
    why = "too many processes" if isinstance(error, BlockingIOError) else error.strerror
    return f"The engine failed to start: {why or error}{where}."


async def _follow_to_end(
    here: SessionContext, task: EngineInput, started: EngineRun, watch: LimitWatch, gate: Gate
) -> int:
    """Follow an engine until it and all processes it started have ended; return its exit code."""
    try:
        await follow.follow(here, task, started, watch, gate)
    finally:
        if not started.ended:
            started.kill()
        exit_code = await started.wait()
        if started.mark:
            await process.sweep(started.mark)
    return exit_code


async def _open_tools(
    here: SessionContext,
    engine: Engine,
    task: EngineInput,
    toolbox: Toolbox,
    opened: AsyncExitStack,
) -> EngineInput:
    """Open the interfaces of a session, and return their addresses."""
    socket = here.sockets / gateway.NAME.format(task.session.id)
    gate = await opened.enter_async_context(gateway.serve_gate(toolbox, socket))
    endpoint = None
    if Trait.MCP in engine.traits and here.open_tools is not None:
        endpoint = await opened.enter_async_context(here.open_tools(toolbox))
    return replace(task, gate=str(gate), tools=endpoint, model=task.session.model or "")


async def _create_token(
    here: SessionContext, session: Session, draining: asyncio.Event
) -> dict[str, str]:
    """Create the session's API token; it ends with the session, or soon after."""
    now = here.now()
    waits = REFUSALS * here.active.approval_seconds  # the maximum of waits for a person
    expires_at = now + timedelta(seconds=here.active.session_seconds + waits + TOKEN_MARGIN_SECONDS)
    token = await retry_when_locked(
        lambda: access.mint_for_session(here.db, session, expires_at=expires_at, now=now),
        draining,
    )
    return {"LAMPLIGHTER_TOKEN": token, "LAMPLIGHTER_URL": here.url}


async def _close(
    here: SessionContext,
    session: Session,
    watch: LimitWatch,
    exit_code: int | None,
    errors: Sequence[str],
) -> Session:
    heard = await asyncio.to_thread(here.files.heard, session)
    if watch.status is not None:
        status, reason = watch.status, watch.reason
    else:
        known = 0 if watch.lingered and heard.finished else exit_code
        status, reason = lifecycle.status_of(heard.finished, known, stderr=errors)
        if watch.lingered and status is Status.COMPLETED:
            reason = LINGERED
        if watch.disk_full and status is Status.FAILED:
            reason = f"{reason} No disk space was left for the session's output."
    ending = heard.end(status=status, reason=reason, exit_code=exit_code)
    return await end_session(here, session, ending, watch.draining)


async def end_session(
    here: SessionContext,
    session: Session,
    ending: SessionEnd,
    draining: asyncio.Event | None = None,
) -> Session:
    """End a session, and remove everything that is only needed while it runs."""
    try:
        session = await retry_when_locked(
            lambda: lifecycle.finish(here, here.active, session, ending),
            draining or asyncio.Event(),
        )
    except Conflict:  # already ended: the connection was lost before it reported the commit
        stored = await sessions.get(here.db, session.id)
        if stored is None or stored.running:
            raise
        session = stored
    await clean_files(here, session)
    return session


async def clean_files(here: SessionContext, session: Session) -> None:
    """Mask the secrets in the closed files of a session, and remove its scratch directory."""
    await here.cleaning.clean(here.files, session.output, here.redact.masked)


async def clean_leftovers(here: SessionContext) -> None:
    """Remove everything that a previous supervisor left behind."""
    running = {each.output for each in await sessions.running(here.db)}
    for output in await asyncio.to_thread(here.files.unmasked):
        if output not in running:
            await here.cleaning.clean(here.files, output, here.redact.masked)
