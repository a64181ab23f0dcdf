"""Run one session: start its engine, take in what it prints while it runs, and end it."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from lamplighter.domain.halt import Halt
from lamplighter.domain.service import Services
from lamplighter.domain.session import Plan, Request, Session, Status
from lamplighter.engines import Engine, Task, Trait, process, tool_names
from lamplighter.repository import sessions
from lamplighter.supervisor import caps, follow, gateway, resume, tasks, tools, traced
from lamplighter.supervisor.files import Heard
from lamplighter.supervisor.gate import Gate
from lamplighter.supervisor.patience import patiently
from lamplighter.supervisor.recalling import recalling
from lamplighter.supervisor.telling import telling
from lamplighter.supervisor.toolbox import Toolbox
from lamplighter.supervisor.tools.bench import Bench
from lamplighter.supervisor.watch import Watch
from lamplighter.supervisor.workshop import Workshop
from lamplighter.usecases import access, approvals, chain, observe
from lamplighter.usecases import resume as reopening
from lamplighter.usecases import sessions as lifecycle
from lamplighter.usecases.analyse import catch_up
from lamplighter.usecases.sessions import Ending

logger = logging.getLogger(__name__)

TOKEN_MARGIN_SECONDS: Final = 300.0
MARGIN_BYTES: Final = 2**20
_DIED: Final = "its supervisor had ended; all that it had printed was taken in."
_GONE: Final = "the supervisor ended while it waited"
INTERRUPTED: Final = "The supervisor ended while it ran; all that it had printed was taken in."
LINGERED: Final = "It gave its result, but did not end by itself and was ended."


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
    Raises Conflict when its request was taken back meanwhile, and Halted.
    """
    await catch_up(shop.db, shop.lexicon)
    engine = shop.engines[plan.engine]
    left = await caps.left(shop.db, shop.caps, plan, engine, now=shop.now())
    thinks = Trait.MODEL in engine.traits
    now = shop.now()  # one moment: a clock that is set between two looks would cost belief
    begun = await lifecycle.begin(
        shop.db,
        replace(
            plan,
            model=shop.models.get(plan.tier, "") if thinks else "",
            budget_usd=left.budget_usd if thinks else None,
            tools=tool_names(
                engine,
                plan.tier,
                reads=bool(shop.readable.roots),
                commands=plan.tier in shop.shell.tiers,
            ),
        ),
        services=services,
        epoch=shop.epoch,
        budget=shop.budget,
        request=request,
        fading=shop.timepiece.steady(now),
        now=now,
    )
    why_not = why_not or await asyncio.to_thread(engine.probe) or left.why_not
    if why_not:
        ending = Ending(status=Status.FAILED, reason=why_not, begun=False)
        return await _ended(shop, begun.session, ending)
    draining = draining or asyncio.Event()
    return await _work(shop, begun, services, left.budget_usd, draining)


async def go_on(
    shop: Workshop, session: Session, services: Services, *, draining: asyncio.Event
) -> Session:
    """Go on with a session whose supervisor died, and return it as it ended."""
    why_not = shop.engines[session.engine].probe()
    if why_not:
        return await _ended(shop, session, Ending(status=Status.INTERRUPTED, reason=why_not))
    session = await patiently(
        lambda: reopening.go_on(shop.db, session, _DIED, epoch=shop.epoch, now=shop.now()),
        draining,
    )
    begun = await patiently(
        lambda: reopening.reopened(shop.db, session, services, now=shop.now()), draining
    )
    return await _work(shop, begun, services, session.budget_usd, draining)


@traced.about_it
async def _work(
    shop: Workshop,
    begun: lifecycle.Opened,
    services: Services,
    budget_usd: float | None,
    draining: asyncio.Event,
) -> Session:
    task = await patiently(
        lambda: tasks.task(shop.db, begun, services, max_tier=shop.max_tier, now=shop.now()),
        draining,
    )
    gate = Gate(
        db=shop.db,
        session=begun.session,
        services=services,
        redact=shop.redactor,
        now=shop.now,
        brake=shop.brake,
        approval_timeout=shop.approval_timeout,
        deadline=begun.session.started_at + timedelta(seconds=shop.limits.total),
        current=shop.current,
    )
    task = replace(task, budget_usd=budget_usd, max_turns=shop.max_turns)
    tell = telling(shop, begun.session, services, task.handoff)
    box = Toolbox(
        gate=gate,
        tools=tools.made(_bench(shop, gate)),
        recall=recalling(shop, begun.session),
        tell=tell,
    )
    if begun.session.resumed:
        task = await resume.resumed(shop, task)
    return await _run(shop, shop.engines[begun.session.engine], task, box, draining)


def _bench(shop: Workshop, gate: Gate) -> Bench:
    known = [service.name for service in gate.services]
    return Bench(
        gate=gate,
        taking=lambda: follow.taking(shop, gate.session, known),
        readable=shop.readable,
        shell=shop.shell,
    )


async def _run(
    shop: Workshop, engine: Engine, task: Task, box: Toolbox, draining: asyncio.Event
) -> Session:
    session = task.session
    watch = Watch(shop.limits, draining, turns=task.max_turns, dollars=task.budget_usd)
    watch.told.session = session
    if session.resumed:  # its time counts from its beginning
        watch.began -= (shop.now() - session.started_at).total_seconds()
    exit_code: int | None = None
    errors: Sequence[str] = ()
    try:
        output, scratch = shop.files.make(session.id), shop.files.scratch(session.id)
        async with AsyncExitStack() as doors:
            task = await _equipped(shop, engine, replace(task, scratch=str(scratch)), box, doors)
            env = traced.environment()
            if Trait.DOOR not in engine.traits:  # else its tools are all that it reaches us by
                env |= await _way_in(shop, session, draining)
            going: Task | None = task
            while going is not None:
                command = engine.command(going)
                command = replace(command, env={**command.env, **env})
                started = await process.start(
                    command,
                    session_id=session.id,
                    output=output,
                    scratch=scratch,
                    largest=shop.limits.most + MARGIN_BYTES,
                )
                exit_code = await _followed(shop, going, started, watch, box.gate)
                errors = started.last_words()
                going = await resume.again(shop, engine, going, watch, exit_code)
    except OSError as error:
        reason = f"The engine could not be started: {error.strerror} ({error.filename})."
        ending = Ending(status=Status.FAILED, reason=reason, begun=exit_code is not None)
        return await _ended(shop, session, ending)
    return await _close(shop, session, watch, exit_code, errors)


async def _followed(
    shop: Workshop, task: Task, started: process.Run, watch: Watch, gate: Gate
) -> int:
    """Follow an engine until it has ended, and all it started with it; return its exit code."""
    try:
        await follow.follow(shop, task, started, watch, gate)
    finally:
        if not started.ended:
            started.kill()
        exit_code = await started.wait()
        await process.sweep(started.mark)
    return exit_code


async def _equipped(
    shop: Workshop, engine: Engine, task: Task, box: Toolbox, doors: AsyncExitStack
) -> Task:
    """Open the doors that a session reaches us by, and say where they are."""
    socket = shop.sockets / gateway.NAME.format(task.session.id)
    gate = await doors.enter_async_context(gateway.opened(box, socket))
    door = None
    if Trait.DOOR in engine.traits and shop.doors is not None:
        door = await doors.enter_async_context(shop.doors(box))
    return replace(task, gate=str(gate), door=door, model=task.session.model or "")


async def _way_in(shop: Workshop, session: Session, draining: asyncio.Event) -> dict[str, str]:
    """Make the token a session asks the API with; it ends with the session, or soon after."""
    now = shop.now()
    expires_at = now + timedelta(seconds=shop.limits.total + TOKEN_MARGIN_SECONDS)
    token = await patiently(
        lambda: access.mint_for_session(shop.db, session, expires_at=expires_at, now=now),
        draining,
    )
    return {"LAMPLIGHTER_TOKEN": token, "LAMPLIGHTER_URL": shop.url}


async def _close(
    shop: Workshop, session: Session, watch: Watch, exit_code: int | None, errors: Sequence[str]
) -> Session:
    heard = await asyncio.to_thread(shop.files.heard, session.id)
    if watch.status is not None:
        status, reason = watch.status, watch.reason
    else:
        known = 0 if watch.lingered and heard.finished else exit_code
        status, reason = lifecycle.status_of(heard.finished, known, stderr=errors)
        if watch.lingered and status is Status.COMPLETED:
            reason = LINGERED
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
    ended = await patiently(
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
    await asyncio.to_thread(shop.files.clear, session.id)
    return ended


@dataclass(frozen=True, slots=True)
class Recovered:
    """What became of the sessions of a supervisor that died: they ended, or can go on."""

    ended: tuple[Session, ...]
    going_on: tuple[Session, ...]


async def recover(shop: Workshop, services: Services) -> Recovered:
    """Take in the rest of what the sessions of a supervisor that died printed.

    Those that cannot go on are ended.
    """
    await process.sweep()
    await asyncio.to_thread(gateway.forget, shop.sockets)
    await approvals.withdraw_all(shop.db, _GONE, now=shop.now())
    names = [service.name for service in services]
    halt = await shop.brake.pulled(shop.db)
    running = await sessions.running(shop.db)
    found = [await _recovered(shop, each, names, halt) for each in running]
    await chain.drop_stranded(shop.db, now=shop.now())
    return Recovered(
        tuple(each for each in found if not each.running),
        tuple(each for each in found if each.running),
    )


async def _recovered(
    shop: Workshop, session: Session, names: Sequence[str], halt: Halt | None
) -> Session:
    taking = follow.taking(shop, session, names)
    heard = Heard()
    if shop.files.path(session.id).exists():
        for lines in shop.files.lines(session.id, session.log_offset):
            for at in range(0, len(lines), follow.LINES_AT_ONCE):
                await observe.ingest(taking, lines[at : at + follow.LINES_AT_ONCE], now=shop.now())
        heard = await asyncio.to_thread(shop.files.heard, session.id)
    if halt is None and resume.can(shop, shop.engines.get(session.engine), session, heard):
        return session
    ending = Ending(
        status=Status.STOPPED if halt else Status.INTERRUPTED,
        reason=halt.words if halt else INTERRUPTED,
        finished=heard.finished,
        said=heard.said,
    )
    return await _ended(shop, session, ending)
