"""Approvals: a session asks a person, a person decides, and a yes is used once."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from lamplighter.domain.actions.approval import (
    MAX_REASON_CHARS,
    Answer,
    Approval,
    ApprovalState,
    Choice,
    Wish,
    in_full,
    told,
    unfit,
    unmasked,
    wrong_words,
)
from lamplighter.domain.actions.policy import Ask
from lamplighter.domain.actions.repairs import HEALTHY_AGAIN
from lamplighter.domain.errors import Conflict, Invalid, NotFound, Stale
from lamplighter.domain.memory.admit import Redact
from lamplighter.domain.services.cooldown import Outcome, Use
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.notice import Kind
from lamplighter.domain.services.service import Action, Approve, Services
from lamplighter.domain.sessions.session import Session
from lamplighter.domain.text import one_line, shortened
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import exposures
from lamplighter.repository.services import cooldowns, events
from lamplighter.repository.sessions import approvals, sessions
from lamplighter.repository.upkeep import leases
from lamplighter.usecases.access.recording import note as noted
from lamplighter.usecases.services import act, notify
from lamplighter.usecases.sessions import parking
from lamplighter.usecases.sessions.parking import Wait

MAX_EDITS: Final = 100
"""So many replacements of one wish are followed; nobody writes that many."""


async def reserve_or_ask(
    db: Database,
    session: Session,
    wish: Wish,
    action: Action,
    *,
    again: int | None = None,
    wait: Wait,
    redact: Redact,
    now: datetime,
) -> Use | Approval:
    """Reserve a slot for a wish, or refuse it, or ask a person: what comes back says which.

    `action` is the declared one, and says itself whether a person is asked. Nobody is
    asked for what may not run anyway, nor again for what was denied to this session.
    `wait` says for how long, and how many other sessions may do so.
    """
    async with writing(db):
        agreed = action.approve is Approve.FIRST and await approvals.given(db, wish)
        ruling = await act.wished(
            db, session, wish.service, action, again=again, agreed=agreed, now=now
        )
        if not isinstance(ruling, Ask):
            return await act.reserve(
                db, session, wish.service, action, again=again, agreed=agreed, now=now
            )
        before = await _newest(db, session.id, wish)
        if before is not None and before.state is ApprovalState.DENIED:
            return await refuse(db, session, before, told(before), now=now)
        if too_many := await parking.full(db, wait.most, but=session.id):
            return await _refused(db, session, wish, too_many, now=now)
        return await _ask(db, session, wish, seconds=wait.seconds, redact=redact, now=now)


async def _ask(
    db: Database, session: Session, wish: Wish, *, seconds: float, redact: Redact, now: datetime
) -> Approval:
    reason = shortened(one_line(redact(wish.reason)), MAX_REASON_CHARS)
    asked = await approvals.insert(
        db,
        session,
        replace(wish, reason=reason),
        shown=[redact(word) for word in wish.argv],
        memories=await exposures.about(db, session.id, wish.service),
        expires_at=now + timedelta(seconds=seconds),
        now=now,
    )
    text, body = f"Waits for a person: {wish}.", in_full(asked, now=now)
    await leases.leave(db, session.id, now=now)  # rounds continue while it waits
    await notify.tell(
        db, Kind.APPROVAL, Level.WARNING, text, body, service=wish.service, now=now
    )  # before its event is told
    await _tell(db, Level.WARNING, text, wish, session, now=now)
    return asked


async def decide(
    db: Database,
    number: int,
    answer: Answer,
    *,
    by: str,
    version: int | None = None,
    redact: Redact,
    now: datetime,
) -> Approval:
    """Do what a person decided and return the approval that stands: of an edit the new one.

    Raises NotFound, Invalid, Stale, and Conflict when it waits for nobody any more.
    """
    async with writing(db):
        held = await _expected(db, number, version)
        note = one_line(redact(answer.note))
        answer = replace(answer, note=note)
        wrong = wrong_words(answer)
        if wrong:
            raise Invalid(*wrong)
        session = await _waits(db, held, now=now)
        states = {
            Choice.APPROVE: ApprovalState.APPROVED,
            Choice.DENY: ApprovalState.DENIED,
            Choice.EDIT: ApprovalState.REPLACED,
        }
        decided = await approvals.move(
            db,
            held.id,
            ApprovalState.OPEN,
            states[answer.choice],
            decided_by=by,
            decided_at=now,
            note=note or held.note,
            now=now,
        )
        assert decided is not None  # nobody else writes now
        act = "replace" if answer.choice is Choice.EDIT else answer.choice.value
        await noted(db, act, str(held.wish), actor=by, service=held.wish.service, now=now)
        if answer.choice is Choice.EDIT:
            return await _instead(db, session, held, answer, redact=redact, now=now)
        if answer.choice is Choice.APPROVE:
            text = f"A person approved {held.wish}."
            await _tell(db, Level.INFO, text, held.wish, session, source="operator", now=now)
        return decided


async def get(db: Database, number: int) -> Approval:
    """Return an approval; raises NotFound."""
    held = await approvals.get(db, number)
    if held is None:
        raise NotFound(f"There is no approval {number}.")
    return held


async def redeem(
    db: Database,
    session: Session,
    number: int,
    *,
    services: Services,
    again: int | None = None,
    now: datetime,
) -> tuple[Use, Action | None]:
    """Use an approval: reserve the slot that its command runs under, once and for all.

    All that it rests on is looked at again, `services` being services.yaml as it is
    now. Returns the use, refused or reserved, and what may run when it is reserved.
    """
    async with writing(db):
        held = await get(db, number)
        declared = _declared(services, held)
        why_not = unfit(held, session_id=session.id, declared=declared, now=now)
        if why_not or declared is None:
            return await refuse(db, session, held, why_not, now=now), None
        action = replace(declared, argv=held.argv)
        use = await act.reserve(
            db, session, held.service, action, again=again, agreed=True, now=now
        )
        if use.outcome is Outcome.REFUSED:
            await approvals.withdraw(db, use.text, number=held.id, now=now)
            return use, None
        await approvals.move(
            db, held.id, ApprovalState.APPROVED, ApprovalState.USED, use_id=use.id, now=now
        )
        return use, action


async def expire(db: Database, number: int, *, now: datetime) -> Approval:
    """Let an approval that nobody answered wait no more; what was decided just now stands."""
    async with writing(db):
        states = ApprovalState.OPEN, ApprovalState.EXPIRED
        return await approvals.move(db, number, *states, now=now) or await get(db, number)


async def withdraw(db: Database, number: int, note: str, *, now: datetime) -> None:
    """Let nothing come any more of an approval that nobody waits for."""
    async with writing(db):
        await approvals.withdraw(db, note, number=number, now=now)


async def withdraw_all(db: Database, note: str, *, now: datetime) -> list[Approval]:
    """Withdraw what waits, or was approved and not used: those who asked are gone."""
    async with writing(db):
        return await approvals.withdraw(db, note, now=now)


async def successor(db: Database, replaced: Approval) -> Approval | None:
    """Return the approval that a person put in the place of another, and of that, the last."""
    found = None
    held: Approval | None = replaced
    for _ in range(MAX_EDITS):
        held = await approvals.instead_of(db, held.id) if held else None
        if held is None:
            break
        found = held
    return found


async def refuse(db: Database, session: Session, held: Approval, why: str, *, now: datetime) -> Use:
    """Record that what was asked for did not run, and why; nothing comes of it any more."""
    async with writing(db):
        await approvals.withdraw(db, why, number=held.id, now=now)
        outcome = Outcome.UNNEEDED if why == HEALTHY_AGAIN else Outcome.REFUSED
        return await _refused(db, session, held.wish, why, outcome=outcome, now=now)


async def _refused(
    db: Database,
    session: Session,
    wish: Wish,
    why: str,
    *,
    outcome: Outcome = Outcome.REFUSED,
    now: datetime,
) -> Use:
    return await cooldowns.settled(
        db, session, wish.service, wish.action, outcome, name=wish.name, text=why, now=now
    )


async def _instead(
    db: Database,
    session: Session,
    held: Approval,
    answer: Answer,
    *,
    redact: Redact,
    now: datetime,
) -> Approval:
    """Put what a person wrote in the place of what a session asked for; it waits for a yes."""
    argv = held.argv if answer.argv is None else unmasked(answer.argv, held)
    return await approvals.insert(
        db,
        session,
        replace(held.wish, argv=argv),
        shown=[redact(word) for word in argv],
        memories=list(held.memories),
        edited=held.edited or argv != held.argv,
        replaces=held.id,
        note=answer.note or held.note,
        expires_at=now + (held.expires_at - held.created_at),
        now=now,
    )


async def _expected(db: Database, number: int, version: int | None) -> Approval:
    held = await get(db, number)
    if version is not None and version != held.version:
        raise Stale(held)
    return held


async def _waits(db: Database, held: Approval, *, now: datetime) -> Session:
    """Return the session that waits for an approval; Conflict when none does."""
    session = await sessions.get(db, held.session_id)
    if held.state is not ApprovalState.OPEN:
        raise Conflict(f"Approval {held.id} waits no more: it was {held.became}.")
    if held.expired(now=now):
        raise Conflict(f"Approval {held.id} waits no more: its time is over.")
    if session is None or not session.running or session.stop_requested_at:
        raise Conflict(f"Approval {held.id} waits no more: session {held.session_id} is over.")
    return session


async def _newest(db: Database, session_id: int, wish: Wish) -> Approval | None:
    """Return what a session last asked for exactly this, or what a person put in its place."""
    held = await approvals.newest(db, session_id, wish)
    if held is not None and held.state is ApprovalState.REPLACED:
        return await successor(db, held) or held
    return held


def _declared(services: Services, held: Approval) -> Action | None:
    found = services.find(held.service)
    actions = found.actions if found and found.name == held.service else ()
    return next((each for each in actions if each.name == held.name), None)


async def _tell(
    db: Database,
    level: Level,
    text: str,
    wish: Wish,
    session: Session,
    *,
    source: str = "supervisor",
    now: datetime,
) -> None:
    await events.insert(
        db,
        level,
        text,
        service=wish.service,
        session_id=session.id,
        tier=session.tier,
        source=source,
        now=now,
    )
