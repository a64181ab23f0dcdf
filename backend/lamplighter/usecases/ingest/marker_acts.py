"""Marker acts: what a session reports becomes a memory, an event, a cooldown or a handoff."""

from datetime import datetime
from typing import Final

from lamplighter.domain.errors import Invalid, Wrong
from lamplighter.domain.memory.memory import LONG_MARKER_CHARS, Candidate, Category
from lamplighter.domain.relate.reconcile import Outcome
from lamplighter.domain.services.cooldown import Outcome as Used
from lamplighter.domain.services.event import Level, level_of
from lamplighter.domain.services.service import GENERAL, ActionKind, undeclared
from lamplighter.domain.sessions.handoff import REASON_CHARS, EscalationState
from lamplighter.domain.sessions.markers import Marker, What
from lamplighter.domain.sessions.session import MAX_TIER
from lamplighter.domain.text import one_line, shortened
from lamplighter.repository.services import cooldowns, events
from lamplighter.repository.sessions import escalations
from lamplighter.usecases.ingest.awaiting_person import Awaited, awaited
from lamplighter.usecases.ingest.context import Ingest, Taken
from lamplighter.usecases.memory.remember import remember
from lamplighter.usecases.memory.service_names import spelled
from lamplighter.usecases.services import act

EVENT_CHARS: Final = 2_000
OURS: Final = "supervisor"
CLAIMED: Final = "claimed"
NOT_CONFIRMED: Final = "not confirmed"
HELD_BACK: Final = "held back"


async def act_on(ingest: Ingest, marker: Marker, taken: Taken, *, now: datetime) -> None:
    """Do what a marker says; raises Invalid for what may not enter."""
    if not one_line(marker.body):
        raise Invalid(Wrong("text", "says nothing that can be seen"))
    match marker.what:
        case What.MEMORY:
            await _remember(ingest, marker, taken, now=now)
        case What.EVENT:
            level = level_of(marker.category or "")
            await record_event(ingest, level, marker.body, taken, service=marker.service, now=now)
        case What.COOLDOWN:
            await _cooldown(ingest, marker, taken, now=now)
        case What.ESCALATE:
            await _escalate(ingest, marker, taken, now=now)


async def _remember(ingest: Ingest, marker: Marker, taken: Taken, *, now: datetime) -> None:
    session = ingest.session
    candidate = Candidate(
        category=Category(marker.category or ""),
        service=marker.service,
        observation=marker.body,
        tier=session.tier,
        session_id=session.id,
        source_ref=", ".join(filter(None, (f"session {session.id}", ingest.tool))),
    )
    result = await remember(ingest.db, candidate, now=now, manner=ingest.manner)
    taken.learned += result.outcome is Outcome.LEARNED
    taken.reinforced += result.outcome is Outcome.REINFORCED
    if len(marker.body) > LONG_MARKER_CHARS:
        text = f"Memory {result.memory.id} is {len(marker.body):,} characters long; it was kept."
        await record_event(ingest, Level.WARNING, text, taken, source=OURS, now=now)
    taken.outcome = {
        "outcome": result.outcome.value,
        "memory_id": result.memory.id,
        "event_id": None,
        "why": result.reason,
    }


async def _cooldown(ingest: Ingest, marker: Marker, taken: Taken, *, now: datetime) -> None:
    """Annotate the use that the gate reserved; without one the marker only claims it."""
    session, action = ingest.session, ActionKind(marker.category or "")
    service = await spelled(ingest.db, marker.service, ingest.known) or GENERAL
    use = await act.unmarked(ingest.db, session, service, action)
    outcome = marker.outcome if use else f"{CLAIMED} {marker.outcome}"
    if use is not None:
        told: dict[str, object] = {"marked": True}
        failed = marker.outcome == "failure" and use.outcome is not Used.RESERVED
        if failed or use.outcome is Used.SUCCESS:
            told["text"] = ingest.redact(one_line(marker.body))
        elif marker.outcome == "success":  # only a check says so: what the gate found stands
            outcome = f"success, {NOT_CONFIRMED}"
        if failed:
            told |= {"outcome": Used.FAILURE, "settled_at": now}
        await cooldowns.change(ingest.db, use.id, now=now, **told)
    level = Level.INFO if marker.outcome == "success" else Level.WARNING
    text = f"{action.capitalize()} ({outcome}): {marker.body}"
    await record_event(ingest, level, text, taken, service=marker.service, now=now)
    if use is None:
        taken.outcome["outcome"] = CLAIMED


async def _escalate(ingest: Ingest, marker: Marker, taken: Taken, *, now: datetime) -> None:
    """Record the escalation; the session's end decides. At the last tier a person is asked."""
    session, service = ingest.session, marker.service or ""
    if problem := undeclared(service, ingest.known):
        raise Invalid(Wrong("service", problem))
    reason = shortened(one_line(ingest.redact(marker.body)), REASON_CHARS)
    if before := await awaited(ingest, service, now=now):
        await _hold_back(ingest, before, service, reason, taken, now=now)
        return
    last = session.tier >= min(ingest.max_tier, MAX_TIER) and not session.dry_run
    asked = await escalations.asked(ingest.db, session.id, service)
    await escalations.insert(
        ingest.db,
        session.id,
        session.tier + 1,
        await spelled(ingest.db, service, ingest.known) or GENERAL,
        reason,
        state=EscalationState.PERSON if last else EscalationState.OPEN,
        now=now,
    )
    level, asks = Level.WARNING, f"Asks for tier {session.tier + 1}"
    if last:  # one alarm is enough
        level, asks = (
            (Level.WARNING, "Note for a person") if asked else (Level.CRITICAL, "Needs a person")
        )
    await record_event(ingest, level, f"{asks}: {marker.body}", taken, service=service, now=now)


async def _hold_back(
    ingest: Ingest, before: Awaited, service: str, reason: str, taken: Taken, *, now: datetime
) -> None:
    """Escalate nothing while a person is awaited; the same reason is one event until that ends."""
    text = f"Escalation held back, {before.words}: {reason}"
    name = await spelled(ingest.db, service, ingest.known)
    if not await events.recorded_after(ingest.db, text, name, before.since):
        await record_event(
            ingest, Level.WARNING, text, taken, service=service, source=OURS, now=now
        )
    taken.outcome |= {"outcome": HELD_BACK, "why": f"not escalated: {before.words}"}


async def record_event(
    ingest: Ingest,
    level: Level,
    text: str,
    taken: Taken,
    *,
    service: str | None = None,
    source: str = "marker",
    now: datetime,
) -> None:
    """Record an event of this session; by itself unless another source is named."""
    event = await events.insert(
        ingest.db,
        level,
        shortened(one_line(ingest.redact(text)), EVENT_CHARS),
        service=await spelled(ingest.db, service, ingest.known),
        session_id=ingest.session.id,
        tier=ingest.session.tier,
        source=source,
        now=now,
    )
    taken.events += 1
    taken.outcome = {"outcome": "recorded", "memory_id": None, "event_id": event.id}
