"""Approvals: a session requests one, a person decides, and an approval is used once."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from lamplighter.domain.actions.approval import (
    MAX_REASON_CHARS,
    STARTED,
    ActionRequest,
    Approval,
    ApprovalAnswer,
    ApprovalChoice,
    ApprovalState,
    describe_request,
    describe_result,
    refusal_reason,
    restore_masked,
    validate_answer,
)
from lamplighter.domain.actions.policy import NeedsApproval
from lamplighter.domain.configuration import Configuration
from lamplighter.domain.errors import Conflict, Invalid, expect_version, require
from lamplighter.domain.services.cooldown import CooldownUse, UseOutcome
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.notice import APPROVAL_LINK, NoticeKind
from lamplighter.domain.services.service import Action, ApprovalPolicy, Services
from lamplighter.domain.sessions.session import Session, Status, Trigger
from lamplighter.domain.text import one_line, shorten
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import exposures
from lamplighter.repository.services import cooldowns, events, incidents
from lamplighter.repository.sessions import approvals, escalations, sessions
from lamplighter.repository.upkeep import leases
from lamplighter.usecases.access.recording import record_act as noted
from lamplighter.usecases.context import Context
from lamplighter.usecases.services import act, notify, session_outcomes
from lamplighter.usecases.sessions import parking

MAX_EDITS: Final = 100
"""The most replacements of one request to follow; people write fewer."""


async def reserve_or_ask(
    here: Context,
    active: Configuration,
    session: Session,
    request: ActionRequest,
    action: Action,
    *,
    again: int | None = None,
) -> CooldownUse | Approval:
    """Reserve a slot for a request, refuse it, or request approval; the result says which.

    `action` is the declared one, and determines whether approval is needed. No approval is
    requested for an action that may not run anyway, nor again after a denial to this session.
    """
    db, now = here.db, here.now()
    async with writing(db):
        agreed = action.approve is ApprovalPolicy.FIRST and await approvals.was_approved(
            db, request
        )
        ruling = await act.rule_on_request(
            db, session, request.service, action, again=again, agreed=agreed, now=now
        )
        if not isinstance(ruling, NeedsApproval):
            return await act.reserve(
                db, session, request.service, action, again=again, agreed=agreed, now=now
            )
        before = await _newest(db, session.id, request)
        if before is not None and before.state is ApprovalState.DENIED:
            return await refuse(db, session, before, describe_result(before), now=now)
        if too_many := await parking.capacity_reason(db, active.max_parked, but=session.id):
            return await _record_refusal(db, session, request, too_many, now=now)
        expires_at = now + timedelta(seconds=active.approval_seconds)
        return await _ask(here, session, request, now=now, expires_at=expires_at)


async def _ask(
    here: Context, session: Session, request: ActionRequest, *, now: datetime, expires_at: datetime
) -> Approval:
    db, reason = here.db, shorten(one_line(here.redact(request.reason)), MAX_REASON_CHARS)
    before = await _interrupted(db, session, request, now=now)
    decided = before is not None and await _decided_before(db, before)
    approval = await approvals.insert(
        db,
        session,
        replace(request, reason=reason),
        displayed=[here.redact(word) for word in request.argv],
        memories=await exposures.included_of_service(db, session.id, request.service),
        replaces=before.id if before else None,
        expires_at=before.expires_at if before and decided else expires_at,
        now=now,
    )
    # this approval replaces the requests to a person that earlier sessions left
    why = f"approval {approval.id} was requested"
    closed = await escalations.close(db, approval.service, why=why, but=session.id, now=now)
    await session_outcomes.refresh(db, [each.session_id for each in closed], now=now)
    if before and decided:
        return await _decide_again(db, approval, before, now=now)
    text, body = f"Waiting for approval: {request}.", describe_request(approval, now=now)
    await leases.clear_session(db, session.id, now=now)  # rounds continue during the wait
    about = {"service": request.service, "link": f"{APPROVAL_LINK}{approval.id}"}
    if before is None or before.decided_by is not None:  # else its own notification leads here
        await notify.enqueue(db, NoticeKind.APPROVAL, Level.WARNING, text, body, now=now, **about)
    service = request.service
    await events.insert_for(db, session, Level.WARNING, text, service=service, now=now)
    return approval


async def _interrupted(
    db: Database, session: Session, request: ActionRequest, *, now: datetime
) -> Approval | None:
    """Return the same request of an earlier session that ended with its supervisor.

    It is repeated by this session. A person was notified of it, and may still answer it. If its
    command was replaced, or its session was being stopped, it is a different request. A denial
    counts for the rest of its incident, except for a session that a person starts.
    """
    before = await approvals.newest_before(db, session.id, request)
    last = (await successor(db, before) or before) if before else None
    if last is None:
        return None
    if last.state is ApprovalState.DENIED:
        repeated = session.trigger is not Trigger.MANUAL and await _decided_before(db, last)
    else:
        repeated = last.abandoned and last.argv == request.argv and not last.expired(now=now)
    requester = await sessions.get(db, last.session_id) if repeated else None
    return last if requester is not None and _continues(session, requester) else None


def _continues(session: Session, before: Session) -> bool:
    """Whether a session continues the work of an earlier one that ended with its supervisor."""
    interrupted = before.status is Status.INTERRUPTED and before.stop_requested_at is None
    return interrupted and (before.tier, before.project, before.agent) == (
        session.tier,
        session.project,
        session.agent,
    )


async def _decided_before(db: Database, before: Approval) -> bool:
    """Whether a person decided on a command during an incident that is still open."""
    if before.decided_by is None:
        return False
    return any(
        before.service in each.services and each.detected_at <= before.created_at
        for each in await incidents.live(db)
    )


async def _decide_again(
    db: Database, approval: Approval, before: Approval, *, now: datetime
) -> Approval:
    """Apply a person's decision to a repeated request: the command has not run since."""
    denied = before.state is ApprovalState.DENIED
    decided = await approvals.change_state(
        db,
        approval.id,
        ApprovalState.OPEN,
        ApprovalState.DENIED if denied else ApprovalState.APPROVED,
        decided_by=before.decided_by,
        decided_at=before.decided_at,
        note=before.note if denied else approval.note,
        now=now,
    )
    return decided or approval


async def decide(
    here: Context, number: int, answer: ApprovalAnswer, *, by: str, version: int | None = None
) -> Approval:
    """Apply a person's decision and return the resulting approval: for an edit the new one.

    Raises NotFound, Invalid, Stale, and Conflict if it is no longer open.
    """
    db, now = here.db, here.now()
    async with writing(db):
        approval = await _expected(db, number, version)
        note = one_line(here.redact(answer.note))
        answer = replace(answer, note=note)
        wrong = validate_answer(answer)
        if wrong:
            raise Invalid(*wrong)
        session = await _waiting_session(db, approval, now=now)
        states = {
            ApprovalChoice.APPROVE: ApprovalState.APPROVED,
            ApprovalChoice.DENY: ApprovalState.DENIED,
            ApprovalChoice.EDIT: ApprovalState.REPLACED,
        }
        decided = await approvals.change_state(
            db,
            approval.id,
            ApprovalState.OPEN,
            states[answer.choice],
            decided_by=by,
            decided_at=now,
            note=note or approval.note,
            now=now,
        )
        assert decided is not None  # no other writer at this point
        act = "replace" if answer.choice is ApprovalChoice.EDIT else answer.choice.value
        await noted(db, act, str(approval.wish), actor=by, service=approval.wish.service, now=now)
        if answer.choice is ApprovalChoice.EDIT:
            return await _insert_replacement(here, session, approval, answer, now=now)
        if answer.choice is ApprovalChoice.APPROVE:
            text = f"A person approved {approval.wish}."
            by_person = {"service": approval.service, "source": "operator"}
            await events.insert_for(db, session, Level.INFO, text, **by_person, now=now)
        return decided


async def get(db: Database, number: int) -> Approval:
    """Return an approval; raises NotFound."""
    return require(await approvals.get(db, number), f"Approval {number} not found.")


async def redeem(
    db: Database,
    session: Session,
    number: int,
    *,
    services: Services,
    again: int | None = None,
    now: datetime,
) -> tuple[CooldownUse, Action | None]:
    """Reserve the slot that the command of an approval runs under, and only once.

    All conditions are checked again, with `services` as the current services.yaml. Returns the use,
    refused or reserved, and if reserved the action to run.
    """
    async with writing(db):
        approval = await get(db, number)
        if approval.living and approval.use_id is not None:
            why_not = f"approval {approval.id} is already in use"
            return await _record_refusal(db, session, approval.wish, why_not, now=now), None
        declared = _declared(services, approval)
        why_not = refusal_reason(approval, session_id=session.id, declared=declared, now=now)
        if why_not or declared is None:
            return await refuse(db, session, approval, why_not, now=now), None
        action = replace(declared, argv=approval.argv)
        use = await act.reserve(
            db, session, approval.service, action, again=again, agreed=True, now=now
        )
        if use.outcome is UseOutcome.REFUSED:
            await approvals.withdraw(db, use.text, number=approval.id, now=now)
            return use, None
        await approvals.reserve(db, approval.id, use.id, now=now)
        return use, action


async def start(
    db: Database, number: int, use: CooldownUse, *, services: Services, now: datetime
) -> str:
    """Use an approval: its reserved action starts in this transaction of the caller.

    Returns why the action may not start any more; empty if it may.
    """
    approval = await get(db, number)
    declared = _declared(services, approval)
    why_not = refusal_reason(approval, session_id=approval.session_id, declared=declared, now=now)
    if not why_not:
        states = ApprovalState.APPROVED, ApprovalState.USED
        await approvals.change_state(db, number, *states, use_id=use.id, now=now)
    return why_not


async def release(
    db: Database,
    session: Session,
    use: CooldownUse,
    why: str,
    number: int | None,
    first: CooldownUse | None,
    *,
    now: datetime,
) -> CooldownUse:
    """Record that a reserved action did not start, and withdraw its approval, if it has one."""
    async with writing(db):
        if number is not None:
            await approvals.withdraw(db, why, number=number, now=now)
        return await act.release(db, session, use, why, first=first, now=now)


async def expire(db: Database, number: int, *, now: datetime) -> Approval:
    """Expire an approval without a decision; a decision made just now remains."""
    async with writing(db):
        states = ApprovalState.OPEN, ApprovalState.EXPIRED
        expired = await approvals.change_state(db, number, *states, decided_at=now, now=now)
        return expired or await get(db, number)


async def withdraw(db: Database, number: int, note: str, *, now: datetime) -> None:
    """Cancel an approval that no session waits for."""
    async with writing(db):
        await approvals.withdraw(db, note, number=number, now=now)


async def withdraw_all(db: Database, note: str, *, now: datetime) -> list[Approval]:
    """Withdraw all open approvals, and approved ones that are unused: their sessions have ended.

    Returns those that the note applies to; another note is for the actions that may have started.
    """
    async with writing(db):
        await approvals.withdraw(db, STARTED, reserved=True, now=now)
        return await approvals.withdraw(db, note, now=now)


async def successor(db: Database, replaced: Approval) -> Approval | None:
    """Return the last approval in the chain of replacements of an approval."""
    last = None
    held: Approval | None = replaced
    for _ in range(MAX_EDITS):
        held = await approvals.replacement_of(db, held.id) if held else None
        if held is None:
            break
        last = held
    return last


async def refuse(
    db: Database, session: Session, approval: Approval, why: str, *, now: datetime
) -> CooldownUse:
    """Record that a request was refused, and why; its approval is withdrawn."""
    async with writing(db):
        await approvals.withdraw(db, why, number=approval.id, now=now)
        outcome = act.refused_outcome(why)
        return await _record_refusal(db, session, approval.wish, why, outcome=outcome, now=now)


async def _record_refusal(
    db: Database,
    session: Session,
    request: ActionRequest,
    why: str,
    *,
    outcome: UseOutcome = UseOutcome.REFUSED,
    now: datetime,
) -> CooldownUse:
    return await cooldowns.insert_settled(
        db, session, request.service, request.action, outcome, name=request.name, text=why, now=now
    )


async def _insert_replacement(
    here: Context, session: Session, approval: Approval, answer: ApprovalAnswer, *, now: datetime
) -> Approval:
    """Replace a session's request with a person's edit, which is then open for approval."""
    argv = approval.argv if answer.argv is None else restore_masked(answer.argv, approval)
    return await approvals.insert(
        here.db,
        session,
        replace(approval.wish, argv=argv),
        displayed=[here.redact(word) for word in argv],
        memories=list(approval.memories),
        edited=approval.edited or argv != approval.argv,
        replaces=approval.id,
        note=answer.note or approval.note,
        expires_at=now + (approval.expires_at - approval.created_at),
        now=now,
    )


async def _expected(db: Database, number: int, version: int | None) -> Approval:
    """Return the approval to decide on: the newest repetition of a repeated request."""
    held = await get(db, number)
    while held.abandoned and (repeated := await approvals.replacement_of(db, held.id)):
        held = repeated
    return expect_version(held, version)


async def _waiting_session(db: Database, approval: Approval, *, now: datetime) -> Session:
    """Return the session that waits for an approval; raises Conflict if there is none."""
    session = await sessions.get(db, approval.session_id)
    if approval.state is not ApprovalState.OPEN:
        why = f" ({approval.note})" if approval.state is ApprovalState.WITHDRAWN else ""
        raise Conflict(f"Approval {approval.id} is already closed: {approval.became}{why}.")
    if approval.expired(now=now):
        raise Conflict(f"Approval {approval.id} expired.")
    if session is None or not session.running or session.stop_requested_at:
        raise Conflict(
            f"Approval {approval.id} is closed: session {approval.session_id} has ended."
        )
    return session


async def _newest(db: Database, session_id: int, request: ActionRequest) -> Approval | None:
    """Return the last approval of a session for exactly this request, or its replacement."""
    held = await approvals.newest(db, session_id, request)
    if held is not None and held.state is ApprovalState.REPLACED:
        return await successor(db, held) or held
    return held


def _declared(services: Services, approval: Approval) -> Action | None:
    found = services.find(approval.service)
    actions = found.actions if found and found.name == approval.service else ()
    return next((each for each in actions if each.name == approval.name), None)
