"""Chains: the handoff of a session to the next tier, and when a service counts as healthy again."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from lamplighter.domain.actions.approval import ApprovalState
from lamplighter.domain.configuration import Configuration
from lamplighter.domain.errors import Conflict, require
from lamplighter.domain.learning.changes import BEFORE
from lamplighter.domain.limits import MAX_TIER
from lamplighter.domain.services.cooldown import HEALTHY_ROUNDS, CooldownUse, UseOutcome
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.service import (
    GENERAL,
    ApprovalPolicy,
    Service,
    Services,
    is_same_service,
    normalize_service_name,
)
from lamplighter.domain.sessions import handoff as rules
from lamplighter.domain.sessions.handoff import Escalation, EscalationState, Finding, Handoff
from lamplighter.domain.sessions.session import CheckResult, Session, SessionPlan, Status, Trigger
from lamplighter.domain.text import one_line, shorten
from lamplighter.repository import Database, writing
from lamplighter.repository.services import checks, cooldowns, events, findings, notices, series
from lamplighter.repository.sessions import approvals, escalations, sessions
from lamplighter.usecases.services import act, session_outcomes
from lamplighter.usecases.sessions import parking

ASK_AGAIN_AFTER: Final = timedelta(hours=24)
"""A service without a remaining repair is escalated again after this time."""

HEALTHY: Final = "healthy"


@dataclass(frozen=True, slots=True)
class WaitingService:
    """A service that waits for a person: since when, and until when it is not escalated again."""

    waiting_since: datetime
    until: datetime


async def conclude(
    db: Database, session: Session, status: Status, reason: str, *, max_tier: int, now: datetime
) -> tuple[Status, str]:
    """Return the status and reason of an ending session, and update its escalations."""
    handed = await escalations.of_sessions(db, [session.id])
    step = rules.next_step(session, handed, status=status, reason=reason, max_tier=max_tier)
    if step.state is not None:
        why = f"its session {status.replace('_', ' ')}" if status is not Status.COMPLETED else ""
        moved = await escalations.change_state(
            db, session.id, EscalationState.OPEN, step.state, why=why, now=now
        )
        await _record_escalations(db, session, moved, now=now)
    return step.status, step.reason


async def next_plan(db: Database, session: Session) -> SessionPlan:
    """Return the plan of the session that follows a session with the status `escalated`."""
    handed = await escalations.of_sessions(db, [session.id])
    names = [each.service for each in handed if each.state is EscalationState.ACCEPTED]
    return SessionPlan(
        tier=session.next_tier,
        engine=session.engine,
        trigger=Trigger.ESCALATION,
        services=tuple(name for name in names if normalize_service_name(name) != GENERAL) or None,
        dry_run=session.dry_run,
        parent_id=session.id,
    )


async def handoff_from(
    db: Database,
    parent_id: int,
    *,
    services: Services,
    state: EscalationState = EscalationState.ACCEPTED,
    now: datetime,
) -> Handoff | None:
    """Return the open escalations of a session; None without any.

    Another `state` selects escalations in that state, such as taken ones.
    """
    ids = await sessions.lineage(db, parent_id)
    accepted = [
        each for each in await escalations.of_sessions(db, [parent_id]) if each.state is state
    ]
    if not accepted:
        return None
    named = [each.service for each in accepted]
    around = [*named, *services.neighbors(named)]
    results = [result for each in ids for result in await checks.of_session(db, each, around)]
    needs = services.with_needs([each for each in services if each.name in named])
    changed = await events.last_change(
        db, [each.name for each in needs] or named, start=now - BEFORE, until=now
    )
    tried = await cooldowns.spent(db, now=now)
    return Handoff(
        session_id=parent_id,
        tier=accepted[0].tier,
        escalations=tuple(accepted),
        check_results=tuple(_newest(results)),
        findings=tuple(await findings.of_sessions(db, ids)),
        tried=tuple(use for use in tried if use.service in named),
        changed=(changed,) if changed else (),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionChain:
    """A whole chain: its sessions, the root first, with escalations, findings and actions."""

    sessions: tuple[Session, ...]
    handed: tuple[Escalation, ...]
    findings: tuple[Finding, ...]
    uses: tuple[CooldownUse, ...]

    @property
    def cost_usd(self) -> float | None:
        """The total cost of its sessions; None if no session reports its cost."""
        known = [each.cost_usd for each in self.sessions if each.cost_usd is not None]
        return round(sum(known), 6) if known else None


async def get_chain(db: Database, session_id: int) -> SessionChain:
    """Return the chain of a session."""
    found = [await sessions.get(db, number) for number in await sessions.lineage(db, session_id)]
    whole = [each for each in found if each is not None]
    while whole and len(whole) <= MAX_TIER and (child := await sessions.child(db, whole[-1].id)):
        whole.append(child)
    ids = [each.id for each in whole]
    return SessionChain(
        sessions=tuple(whole),
        handed=tuple(await escalations.of_sessions(db, ids)),
        findings=tuple(await findings.of_sessions(db, ids)),
        uses=tuple(await cooldowns.of_sessions(db, ids)),
    )


async def ask_person(
    db: Database, session: Session, service: str, reason: str, *, now: datetime
) -> None:
    """Escalate a service to a person, once for each session."""
    async with writing(db):
        if await escalations.needs_person(db, session.id, service):
            return
        escalation = await escalations.insert(
            db,
            session.id,
            session.tier + 1,
            service,
            shorten(one_line(reason), rules.REASON_CHARS),
            state=EscalationState.PERSON,
            why=rules.NO_ACTION,
            now=now,
        )
        await _record_escalations(db, session, [escalation], now=now)


async def drop(db: Database, session: Session, why: str, *, now: datetime) -> None:
    """Drop the escalations of a session."""
    async with writing(db):
        for state in (EscalationState.OPEN, EscalationState.ACCEPTED):
            moved = await escalations.change_state(
                db, session.id, state, EscalationState.DROPPED, why=why, now=now
            )
            await _record_escalations(db, session, moved, now=now)


async def drop_stranded(db: Database, *, now: datetime) -> None:
    """Drop escalations left by a dead supervisor; the next round checks the services again."""
    for number in {each.session_id for each in await escalations.unfinished(db)}:
        session = await sessions.get(db, number)
        if session and not session.running:
            await drop(db, session, "the supervisor ended before the next session started", now=now)


async def confirm(db: Database, session: Session, *, reset_after: timedelta, now: datetime) -> None:
    """Record the healthy services of a round: they no longer wait for a person.

    After two healthy scheduled rounds in a row, and `reset_after`, the service's cooldowns are
    reset. Requested rounds do not count.
    """
    check_results = await checks.of_session(db, session.id)
    failing = {result.service for result in check_results if not result.ok}
    for service in sorted({result.service for result in check_results} - failing):
        await parking.withdraw_recovered(db, service, check_results, now=now)
        await _close(db, service, now=now)
        if session.trigger is Trigger.SCHEDULED:
            await _clear(db, session, service, reset_after=reset_after, now=now)


async def notify_recovered(db: Database, session: Session, *, now: datetime) -> None:
    """Notify the people who were alarmed about a service that a session found healthy."""
    results = await checks.of_session(db, session.id)
    for service in {result.service: None for result in results}:
        newest = _newest(result for result in results if result.service == service)
        if all(result.ok and not result.warned for result in newest):
            uses = await cooldowns.uses_since(db, now - timedelta(hours=24))
            own = [use for use in uses if is_same_service(use.service, service)]
            await notices.insert_recovery(db, service, own, now=now)


async def mark_handled(db: Database, number: int, *, now: datetime) -> Escalation:
    """Mark a service as handled by a person; raises NotFound or Conflict.

    If the service still fails at the next round, it is escalated again.
    """
    async with writing(db):
        existing = require(await escalations.get(db, number), f"Escalation {number} not found.")
        if existing.state is not EscalationState.PERSON:
            raise Conflict(f"Escalation {number} is not open: it is {existing.state}.")
        handled = await escalations.close(db, existing.service, why=escalations.HANDLED, now=now)
        await session_outcomes.refresh(db, [each.session_id for each in handled], now=now)
        closed = await escalations.get(db, number)
        assert closed is not None
        return closed


async def services_waiting(
    db: Database, services: Iterable[Service], active: Configuration, *, now: datetime
) -> dict[str, WaitingService]:
    """Return the services that wait for a person and for which nothing else can be tried yet.

    That includes services with a denied action, and services that need approval while too many
    sessions are waiting. A service whose scheduled checks pass again does not explain failures of
    its dependents.
    """
    by_service = {
        normalize_service_name(each.service): each for each in await escalations.open_for_people(db)
    }
    here = [service for service in services if normalize_service_name(service.name) in by_service]
    well = await series.recovered(db, [each.name for each in here]) if here else set()
    here = [each for each in here if each.name not in well]
    waiting: dict[str, WaitingService] = {}
    used = await cooldowns.usage_of(db, [service.name for service in here], now=now)
    full = await parking.capacity_reason(db, active.max_parked) if here else ""
    for service in here:
        request = by_service[normalize_service_name(service.name)]
        at, by = request.created_at, request.session_id
        actions = service.actions if active.max_tier == MAX_TIER else ()
        kinds = {action.kind for action in actions}
        free = [each for each in used[service.name] if each.action in kinds]
        policies = {service.approval_of(action) for action in service.actions}
        again: datetime | None = at + ASK_AGAIN_AFTER
        denied = await approvals.was_refused(db, by, service.name, ApprovalState.DENIED)
        blocked = denied or (full and ApprovalPolicy.NEVER not in policies)
        if free and request.why != rules.NO_ACTION and not blocked:
            again = act.first_free_at(free)
        if again is not None and now < again:
            waiting[service.name] = WaitingService(at, again)
    return waiting


async def _close(db: Database, service: str, *, now: datetime) -> None:
    """Close the escalations to a person once a service is healthy for some rounds, not just one."""
    asked = [
        each
        for each in await escalations.open_for_people(db)
        if is_same_service(each.service, service)
    ]
    for each in asked:
        well = await checks.rounds(db, service, after=each.created_at, limit=HEALTHY_ROUNDS)
        if len(well) == HEALTHY_ROUNDS and all(well):
            closed = await escalations.close(db, service, why="healthy again", now=now)
            await session_outcomes.refresh(db, [one.session_id for one in closed], now=now)


async def _clear(
    db: Database, session: Session, service: str, *, reset_after: timedelta, now: datetime
) -> None:
    uses = [
        use for use in await cooldowns.spent(db, now=now) if is_same_service(use.service, service)
    ]
    if not uses or any(use.outcome is UseOutcome.RESERVED for use in uses):
        return
    acted = max(use.settled_at or use.created_at for use in uses)
    well = await checks.rounds(db, service, after=acted, limit=HEALTHY_ROUNDS, scheduled=True)
    since = await checks.healthy_since(db, service, after=acted)
    if since is None or now - since < reset_after:
        return
    if len(well) == HEALTHY_ROUNDS and all(well):
        await cooldowns.clear(db, service, None, by=HEALTHY, now=now)
        text = f"Healthy for {HEALTHY_ROUNDS} rounds in a row; cooldowns reset."
        await _event(db, session, Level.INFO, text, service, now=now)


async def _record_escalations(
    db: Database, session: Session, moved: Sequence[Escalation], *, now: datetime
) -> None:
    for each in moved:
        match each.state:
            case EscalationState.PERSON:
                text = f"Needs a person: {each.reason}"
                await _event(db, session, Level.CRITICAL, text, each.service, now=now)
            case EscalationState.DRY:
                who = f"tier {each.tier}" if each.tier <= MAX_TIER else "a person"
                text = f"Dry run: would have escalated to {who}: {each.reason}"
                await _event(db, session, Level.INFO, text, each.service, now=now)
            case EscalationState.DROPPED:
                text = (
                    f"Not escalated to tier {each.tier}, {each.why}. The next round checks again."
                )
                await _event(db, session, Level.WARNING, text, each.service, now=now)


async def _event(
    db: Database, session: Session, level: Level, text: str, service: str, *, now: datetime
) -> None:
    name = None if normalize_service_name(service) == GENERAL else service
    await events.insert_for(db, session, level, text, service=name, now=now)


def _newest(results: Iterable[CheckResult]) -> list[CheckResult]:
    """Return the last result of each check."""
    return list({(result.service, result.name): result for result in results}.values())
