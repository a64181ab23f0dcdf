"""Sessions: requested, opened with their prompt, resumed, and ended with a reason."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Final

from lamplighter.domain.configuration import Configuration
from lamplighter.domain.errors import Conflict, Halted, Invalid, InvalidField, require
from lamplighter.domain.limits import DEFAULT_BUDGET
from lamplighter.domain.memory.admit import Redact
from lamplighter.domain.memory.memory import Memory
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.service import Services
from lamplighter.domain.sessions import exit_reasons
from lamplighter.domain.sessions.context import SessionPrompt
from lamplighter.domain.sessions.handoff import EscalationState, Handoff
from lamplighter.domain.sessions.session import (
    Session,
    SessionPlan,
    SessionRequest,
    Status,
    Trigger,
)
from lamplighter.domain.sessions.summary import summarize_session
from lamplighter.domain.sessions.transcript import Finished
from lamplighter.domain.text import clean_lines
from lamplighter.repository import Database, reading, writing
from lamplighter.repository.access import tokens
from lamplighter.repository.memory import exposures
from lamplighter.repository.services import events
from lamplighter.repository.sessions import approvals, escalations, halts, requests, sessions
from lamplighter.repository.upkeep import leases
from lamplighter.usecases import instrumentation
from lamplighter.usecases.context import Context
from lamplighter.usecases.memory.fade import fade_for_session
from lamplighter.usecases.services import act
from lamplighter.usecases.services.session_outcomes import outcome_of
from lamplighter.usecases.sessions import chain, prompts

MAX_PROMPT_CHARS: Final = 100_000
ALARMING: Final = {
    Status.FAILED: Level.CRITICAL,
    Status.TIMED_OUT: Level.CRITICAL,
    Status.INTERRUPTED: Level.WARNING,
}
ENDED: Final = {
    Status.FAILED: "failed",
    Status.TIMED_OUT: "timed out",
    Status.INTERRUPTED: "was interrupted",
}

MAX_RESUMES: Final = 3
"""The most resumes of one session; a session that dies again has failed."""

UNSETTLED_REASON: Final = "its supervisor ended before the result was known"


@dataclass(frozen=True, slots=True)
class OpenedSession:
    """A session that is about to run, and its prompt."""

    session: Session
    prompt: SessionPrompt
    included: tuple[Memory, ...]
    handoff: Handoff | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEnd:
    """The end of a session: the last report of its engine, and the content of its file.

    A session that never started (`begun` is false) cost nothing. `pending` means that its output is
    in another home and was not read.
    """

    status: Status
    reason: str = ""
    exit_code: int | None = None
    finished: Finished | None = None
    texts: tuple[str, ...] = ()
    uses: Mapping[str, int] = field(default_factory=dict)
    begun: bool = True
    pending: bool = False


async def file_request(
    here: Context,
    plan: SessionPlan,
    *,
    services: Services,
    max_tier: int,
    engine: str | None = None,
) -> SessionRequest:
    """File a request for a session; raises Invalid naming each wrong field."""
    plan = check_plan(replace(plan, prompt=here.redact(plan.prompt)), services, max_tier)
    async with writing(here.db):
        return await requests.insert(
            here.db,
            plan,
            engine=engine,
            traceparent=instrumentation.current_traceparent(),
            now=here.now(),
        )


def check_plan(plan: SessionPlan, services: Services, max_tier: int) -> SessionPlan:
    """Return a plan with the declared spelling of its services; raises Invalid."""
    wrong: list[InvalidField] = []
    if not 1 <= plan.tier <= max_tier:
        wrong.append(InvalidField("tier", f"is {plan.tier}; it must be between 1 and {max_tier}"))
    if len(plan.prompt) > MAX_PROMPT_CHARS:
        wrong.append(InvalidField("prompt", f"is longer than {MAX_PROMPT_CHARS:,} characters"))
    names: list[str] = []
    for name in plan.services or ():
        service = services.find(name)
        if service is None:
            wrong.append(
                InvalidField("services", f"{name!r} is not in {services.path or 'services.yaml'}")
            )
        else:
            names.append(service.name)
    if wrong:
        raise Invalid(*wrong)
    declared = None if plan.services is None else tuple(dict.fromkeys(names))
    return replace(plan, services=declared, prompt=clean_lines(plan.prompt))


async def cancel(db: Database, request_id: int, *, now: datetime) -> None:
    """Cancel a queued request; raises NotFound or Conflict."""
    async with writing(db):
        if await requests.cancel(db, request_id, now=now) is None:
            request = require(
                await requests.get(db, request_id), f"Request {request_id} not found."
            )
            raise Conflict(f"Request {request_id} is no longer waiting: it is {request.state}.")


async def stop(db: Database, session_id: int, *, now: datetime) -> Session:
    """Request the stop of a running session; raises NotFound or Conflict."""
    async with writing(db):
        existing = require(await sessions.get(db, session_id), f"Session {session_id} not found.")
        if existing.trigger is Trigger.CLIENT:
            raise Conflict(f"Session {session_id} belongs to a client. Only the client can end it.")
        session = await sessions.request_stop(db, session_id, now=now)
        if session is None:
            raise Conflict(f"Session {session_id} has already ended: it is {existing.status}.")
        return session


async def begin(
    db: Database,
    plan: SessionPlan,
    *,
    services: Services,
    epoch: int,
    budget: int = DEFAULT_BUDGET,
    request: SessionRequest | None = None,
    fading: bool = True,
    now: datetime,
) -> OpenedSession:
    """Apply due fading, then open a session with its prompt in one transaction.

    Without `fading` no memory fades, because the clock may be wrong. Raises Conflict if its request
    was canceled meanwhile, and Halted.
    """
    if fading:
        considered = partial(_considered, db, plan, services, budget=budget, now=now)
        await fade_for_session(db, considered, now=now)
    async with writing(db):
        halt = await halts.get_active(db)
        if halt is not None:
            raise Halted(halt.description)
        handoff = await _handoff(db, plan, services, now=now)
        block, environment = await prompts.build_context(
            db, plan, services, budget=budget, handoff=handoff, now=now
        )
        prompt = prompts.prompt_of(plan, block, environment, budget=budget)
        session = await sessions.insert(db, plan, model=plan.model or None, epoch=epoch, now=now)
        if plan.parent_id is not None:
            states = EscalationState.ACCEPTED, EscalationState.TAKEN
            await escalations.change_state(
                db, plan.parent_id, *states, child_id=session.id, now=now
            )
        if request and await requests.claim(db, request.id, session.id, now=now) is None:
            raise Conflict(f"Request {request.id} was canceled.")
        await exposures.insert(db, session.id, prompt, block.placements)
        await leases.update_status(db, session_id=session.id, now=now)
    included = tuple(each.memory for each in block.placements if each.included)
    instrumentation.trace_block("ops", block)
    return OpenedSession(session, prompt, included, handoff)


async def _considered(
    db: Database, plan: SessionPlan, services: Services, *, budget: int, now: datetime
) -> list[int]:
    """Return the memories from which the prompt of a session is selected."""
    async with reading(db):
        block, _ = await prompts.build_context(db, plan, services, budget=budget, now=now)
    return [each.memory.id for each in block.placements]


async def _handoff(
    db: Database, plan: SessionPlan, services: Services, *, now: datetime
) -> Handoff | None:
    if plan.parent_id is None:
        return None
    handoff = await chain.handoff_from(db, plan.parent_id, services=services, now=now)
    if handoff is None:
        raise Conflict(f"The escalation of session {plan.parent_id} is no longer open.")
    return handoff


async def resume_session(
    db: Database, session: Session, why: str, *, epoch: int, now: datetime
) -> Session:
    """Resume a session under this leader, with an event; raises Conflict if it has ended.

    Under another leader than before, unsettled uses are abandoned, and the token of the session is
    revoked.
    """
    async with writing(db):
        if epoch != session.leader_epoch:
            await act.abandon(db, session, UNSETTLED_REASON, now=now)
            await tokens.revoke_for_session(db, session.id, now=now)
            await leases.update_status(db, session_id=session.id, now=now)
        resumed = await sessions.resume(db, session.id, epoch=epoch, now=now)
        if resumed is None:
            raise Conflict(f"Session {session.id} has already ended.")
        count = f"{resumed.resumed} of at most {MAX_RESUMES} times"
        text = f"Session {session.id} resumes ({count}): {why}"
        await events.insert_for(db, session, Level.WARNING, text, now=now)
        return resumed


async def reopen(
    db: Database, session: Session, services: Services, *, now: datetime
) -> OpenedSession:
    """Return a session that resumes, with its original prompt."""
    prompt = await exposures.prompt(db, session.id)
    if prompt is None:
        raise Conflict(f"Session {session.id} has no stored prompt.")
    handoff = None
    if session.parent_id is not None:
        state = EscalationState.TAKEN
        handoff = await chain.handoff_from(
            db, session.parent_id, services=services, state=state, now=now
        )
    return OpenedSession(session, prompt, (), handoff)


async def finish(
    here: Context, active: Configuration, session: Session, ending: SessionEnd
) -> Session:
    """End a session with its summary and its place in the chain.

    Raises Conflict if it has already ended.
    """
    db, now, finished = here.db, here.now(), ending.finished
    passed = round((now - session.started_at).total_seconds() * 1000)
    async with writing(db):
        if ending.status is Status.COMPLETED and session.tier == 1:
            await chain.confirm(db, session, reset_after=active.cooldown_reset, now=now)
        await chain.notify_recovered(db, session, now=now)
        await act.abandon(db, session, "its session ended before the result was known", now=now)
        await approvals.withdraw(db, "its session ended", session_id=session.id, now=now)
        why = here.redact(ending.reason)
        status, reason = await chain.conclude(
            db, session, ending.status, why, max_tier=active.max_tier, now=now
        )
        outcome = await outcome_of(db, session.id, status)
        ended = await sessions.end(
            db,
            session.id,
            status,
            reason=reason,
            outcome=outcome.text,
            outcome_state=outcome.state,
            output_pending=ending.pending,
            exit_code=ending.exit_code,
            **texts_of(session, replace(ending, status=status, reason=reason), here.redact),
            **usage_of(session, ending),
            duration_ms=(finished.duration_ms if finished else None) or max(0, passed),
            now=now,
        )
        await requests.finish(db, session.id, now=now)
        await tokens.revoke_for_session(db, session.id, now=now)
        await leases.clear_session(db, session.id, now=now)
        if (level := ALARMING.get(ending.status)) is not None:
            text = f"Session {session.id} {ENDED[ending.status]}: {why}"
            await events.insert_for(db, session, level, text, now=now)
        if ended is None:
            raise Conflict(f"Session {session.id} has already ended.")
        return ended


def texts_of(session: Session, ending: SessionEnd, redact: Redact) -> dict[str, str]:
    """Return the last answer of a session and its summary, without secrets."""
    said = [redact(each) for each in ending.texts]
    response = (ending.finished.response if ending.finished else "") or (said[-1] if said else "")
    summary = summarize_session(session, said, ending.uses, ending.status, redact(ending.reason))
    return {"response": redact(response), "summary": summary}


def usage_of(session: Session, ending: SessionEnd) -> dict[str, float | None]:
    """Return the final usage of a session; without a report its spending so far."""
    finished = ending.finished
    if not ending.begun and session.budget_usd is not None:
        return {"cost_usd": 0.0}
    if finished is None:
        return {}
    found: dict[str, float | None] = {"cost_usd": finished.cost_usd}
    if finished.turns is not None:
        found["turns"] = finished.turns
    if finished.usage is not None:
        found |= sessions.usage_columns(finished.usage)
    return found


def status_of(
    finished: Finished | None, exit_code: int | None, *, stderr: Sequence[str] = ()
) -> tuple[Status, str]:
    """Return how a session ended by itself: completed needs a successful result and exit code 0."""
    last_words = f" Its last output: {stderr[-1]}" if stderr else ""
    ended = exit_reasons.describe_exit(exit_code)
    if finished is None:
        return Status.FAILED, f"The engine ended without a result ({ended}).{last_words}"
    if finished.is_error:
        why = finished.why or finished.response or "no reason given"
        return Status.FAILED, finished.reason or f"The engine reported an error: {why}"
    if exit_code != 0:
        return Status.FAILED, (
            f"The engine returned its result, then ended with {ended}.{last_words}"
        )
    return Status.COMPLETED, ""
