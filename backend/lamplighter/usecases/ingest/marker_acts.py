"""Marker acts: reports of a session become memories, events, cooldowns or handoffs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from lamplighter.domain.actions.approval import ApprovalState
from lamplighter.domain.errors import Invalid, InvalidField
from lamplighter.domain.limits import MAX_TIER
from lamplighter.domain.memory.memory import LONG_MARKER_CHARS, Candidate, Category
from lamplighter.domain.relate.reconcile import ReconcileOutcome
from lamplighter.domain.services.cooldown import UseOutcome as Used
from lamplighter.domain.services.event import Level, parse_level
from lamplighter.domain.services.service import (
    GENERAL,
    ActionKind,
    Service,
    normalize_service_name,
    undeclared_error,
)
from lamplighter.domain.sessions.handoff import REASON_CHARS, EscalationState, is_new_failure
from lamplighter.domain.sessions.markers import Marker, MarkerKind
from lamplighter.domain.sessions.session import Session
from lamplighter.domain.text import format_time, one_line, shorten
from lamplighter.repository import Database
from lamplighter.repository.memory.memories import service_name
from lamplighter.repository.services import checks, cooldowns, events
from lamplighter.repository.sessions import approvals, escalations, sessions
from lamplighter.usecases.ingest.context import IngestContext, IngestResult
from lamplighter.usecases.memory.remember import remember
from lamplighter.usecases.services import act
from lamplighter.usecases.sessions import chain, parking

RECENT: Final = 10
"""The number of check results before this session's that decide whether a failure is new."""


@dataclass(frozen=True, slots=True)
class PendingRequest:
    """A request to which a person has not responded: its time and its description."""

    requested_at: datetime
    text: str


async def find_pending_request(
    ingest: IngestContext, service: str, *, now: datetime
) -> PendingRequest | None:
    """Return the pending request, for a service or a dependency, that prevents its escalation.

    A service that was escalated to this session continues: its parent session was checked already.
    A failure of a check that passed at the time of the request, and since, is a new failure.
    A session that is being stopped escalates nothing.
    """
    db, session = ingest.db, ingest.session
    current = await sessions.get(db, session.id)
    if current is not None and current.stop_requested_at is not None:
        return PendingRequest(current.stop_requested_at, "its session is being stopped")
    own = ingest.services.find(service) or Service(name=service)
    handed = session.parent_id is not None and normalize_service_name(service) in map(
        normalize_service_name, session.services or ()
    )
    around = [own] if handed else ingest.services.with_needs([own])
    if found := await _parked(db, session, around, now=now):
        return found
    if handed or await escalations.needs_person(db, session.id, service):
        return None
    waiting = await chain.services_waiting(db, around, ingest.active, now=now)
    for each in around:
        if each.name in waiting:
            since = waiting[each.name].waiting_since
            if await _has_new_failure(db, session, around[0], since):
                return None
            return PendingRequest(
                since, f"a person was notified{_for(each, around)} at {format_time(since, now)}"
            )
    return None


async def _parked(
    db: Database, session: Session, around: Sequence[Service], *, now: datetime
) -> PendingRequest | None:
    parked = await parking.services_in_use(db, but=session.id)
    for each in around:
        if since := parked.get(normalize_service_name(each.name)):
            what = f"approval{_for(each, around)}"
            words = f"another session is waiting for {what} since {format_time(since, now)}"
            return PendingRequest(since, words)
    return None


def _for(service: Service, around: Sequence[Service]) -> str:
    return "" if service is around[0] else f" for {service.name}"


async def _has_new_failure(
    db: Database, session: Session, service: Service, requested_at: datetime
) -> bool:
    """Whether a check of a service failed in this session and had passed since the request."""
    results = await checks.of_session(db, session.id, [service.name])
    newest = {result.name: result for result in results}
    for name in (name for name, result in newest.items() if not result.ok):
        limit = RECENT + len(results)
        past = await checks.recent(db, service.name, name, limit=limit)
        before = [result for result in past if result.session_id != session.id][:RECENT]
        if is_new_failure(before, requested_at):
            return True
    return False


EVENT_CHARS: Final = 2_000
SUPERVISOR: Final = "supervisor"
CLAIMED: Final = "claimed"
NOT_CONFIRMED: Final = "not confirmed"
ESCALATED_BEFORE: Final = "already escalated by this session"
SUPPRESSED: Final = "held back"


async def apply_marker(
    ingest: IngestContext, marker: Marker, result: IngestResult, *, now: datetime
) -> None:
    """Carry out a marker; raises Invalid for inadmissible content."""
    if not one_line(marker.body):
        raise Invalid(InvalidField("text", "must contain visible text"))
    match marker.what:
        case MarkerKind.MEMORY:
            await _remember(ingest, marker, result, now=now)
        case MarkerKind.EVENT:
            level = parse_level(marker.category or "")
            await record_event(ingest, level, marker.body, result, service=marker.service, now=now)
        case MarkerKind.COOLDOWN:
            await _cooldown(ingest, marker, result, now=now)
        case MarkerKind.ESCALATE:
            await _escalate(ingest, marker, result, now=now)


async def _remember(
    ingest: IngestContext, marker: Marker, ingested: IngestResult, *, now: datetime
) -> None:
    session = ingest.session
    candidate = Candidate(
        category=Category(marker.category or ""),
        service=marker.service,
        observation=marker.body,
        tier=session.tier,
        session_id=session.id,
        source_ref=", ".join(filter(None, (f"session {session.id}", ingest.tool))),
    )
    result = await remember(ingest, candidate, closing=marker.closing, now=now)
    ingested.learned += result.outcome is ReconcileOutcome.LEARNED
    ingested.reinforced += result.outcome is ReconcileOutcome.REINFORCED
    if len(marker.body) > LONG_MARKER_CHARS:
        text = (
            f"Memory {result.memory.id} is {len(marker.body):,} characters long; it was "
            f"stored in full."
        )
        await record_event(ingest, Level.WARNING, text, ingested, source=SUPERVISOR, now=now)
    ingested.outcome = {
        "outcome": result.outcome.value,
        "memory_id": result.memory.id,
        "event_id": None,
        "why": result.reason,
    }


async def _cooldown(
    ingest: IngestContext, marker: Marker, result: IngestResult, *, now: datetime
) -> None:
    """Annotate the use that the gate reserved; without one the marker is only a claim."""
    session, action = ingest.session, ActionKind(marker.category or "")
    service = await service_name(ingest.db, marker.service, ingest.services.names) or GENERAL
    use = await act.unmarked(ingest.db, session, service, action)
    outcome = marker.outcome if use else f"{CLAIMED} {marker.outcome}"
    if use is not None:
        values: dict[str, object] = {"marked": True}
        failed = marker.outcome == "failure" and use.outcome is not Used.RESERVED
        if use.did_not_last:  # later checks found this
            failed = False
        elif failed or use.outcome is Used.SUCCESS:
            values["text"] = ingest.redact(one_line(marker.body))
        elif marker.outcome == "success":  # only a check confirms success: keep the gate's outcome
            outcome = f"success, {NOT_CONFIRMED}"
        if failed:
            values["outcome"] = Used.FAILURE
        await cooldowns.change(ingest.db, use.id, now=now, **values)
    level = Level.INFO if marker.outcome == "success" else Level.WARNING
    text = f"{action.capitalize()} ({outcome}): {marker.body}"
    await record_event(ingest, level, text, result, service=marker.service, now=now)
    if use is None:
        result.outcome["outcome"] = CLAIMED


async def _escalate(
    ingest: IngestContext, marker: Marker, result: IngestResult, *, now: datetime
) -> None:
    """Record the escalation; it is decided at the end of the session.

    At the last tier, and after a denial, it goes to a person.
    """
    session, service = ingest.session, marker.service or ""
    if problem := undeclared_error(service, ingest.services.names):
        raise Invalid(InvalidField("service", problem))
    if marker.closing and await escalations.has_escalated(ingest.db, session.id, service):
        result.outcome |= {"outcome": ReconcileOutcome.UNCHANGED.value, "why": ESCALATED_BEFORE}
        return
    reason = shorten(one_line(ingest.redact(marker.body)), REASON_CHARS)
    if before := await find_pending_request(ingest, service, now=now):
        await _suppress_escalation(ingest, before, service, reason, result, now=now)
        return
    last = session.next_tier > min(ingest.active.max_tier, MAX_TIER) and not session.dry_run
    last = last or await approvals.was_refused(ingest.db, session.id, service, ApprovalState.DENIED)
    pending = await escalations.needs_person(ingest.db, session.id, service)
    await escalations.insert(
        ingest.db,
        session.id,
        session.tier + 1 if last else session.next_tier,
        await service_name(ingest.db, service, ingest.services.names) or GENERAL,
        reason,
        state=EscalationState.PERSON if last else EscalationState.OPEN,
        now=now,
    )
    level, asks = Level.WARNING, f"Escalation to tier {session.next_tier}"
    if last:  # one alarm is enough
        level, asks = (
            (Level.WARNING, "Note for a person") if pending else (Level.CRITICAL, "Needs a person")
        )
    await record_event(ingest, level, f"{asks}: {marker.body}", result, service=service, now=now)


async def _suppress_escalation(
    ingest: IngestContext,
    before: PendingRequest,
    service: str,
    reason: str,
    result: IngestResult,
    *,
    now: datetime,
) -> None:
    """Record a suppressed escalation, a repeated reason only once per pending request."""
    text = f"Escalation held back, {before.text}: {reason}"
    name = await service_name(ingest.db, service, ingest.services.names)
    if not await events.recorded_after(ingest.db, text, name, before.requested_at):
        await record_event(
            ingest, Level.WARNING, text, result, service=service, source=SUPERVISOR, now=now
        )
    result.outcome |= {"outcome": SUPPRESSED, "why": f"not escalated: {before.text}"}


async def record_event(
    ingest: IngestContext,
    level: Level,
    text: str,
    result: IngestResult,
    *,
    service: str | None = None,
    source: str = "marker",
    now: datetime,
) -> None:
    """Record an event of this session, with the source `marker` unless another one is named."""
    event = await events.insert_for(
        ingest.db,
        ingest.session,
        level,
        shorten(one_line(ingest.redact(text)), EVENT_CHARS),
        service=await service_name(ingest.db, service, ingest.services.names),
        source=source,
        now=now,
    )
    result.events += 1
    result.outcome = {"outcome": "recorded", "memory_id": None, "event_id": event.id}
