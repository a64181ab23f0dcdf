"""Observe: what a session prints becomes memories, events and findings while it still runs."""

import logging
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Final

from lamplighter.domain import evidence, markers
from lamplighter.domain.cooldown import Outcome as Used
from lamplighter.domain.errors import Invalid, Wrong
from lamplighter.domain.event import Level, level_of
from lamplighter.domain.evidence import Measured
from lamplighter.domain.handoff import REASON_CHARS, EscalationState, Finding
from lamplighter.domain.markers import Marker, Reading, What
from lamplighter.domain.marks import Look
from lamplighter.domain.memory import LONG_MARKER_CHARS, MAX_OBSERVATION_CHARS, Candidate, Category
from lamplighter.domain.offers import BLIND
from lamplighter.domain.reconcile import Outcome
from lamplighter.domain.service import GENERAL, ActionKind
from lamplighter.domain.session import MAX_TIER
from lamplighter.domain.text import one_line, shortened
from lamplighter.domain.transcript import (
    Cut,
    Finished,
    Item,
    Line,
    Odd,
    Spent,
    Started,
    Text,
    ToolResult,
    ToolUse,
)
from lamplighter.engines import stream
from lamplighter.repository import (
    checks,
    cooldowns,
    escalations,
    events,
    findings,
    marks,
    sessions,
    writing,
)
from lamplighter.usecases import act, hooks
from lamplighter.usecases.ingest import Ingest, Taken
from lamplighter.usecases.naming import spelled
from lamplighter.usecases.remember import remember
from lamplighter.usecases.repeated import SAID_BEFORE, said_before

logger = logging.getLogger(__name__)

EVENT_CHARS: Final = 2_000
IGNORED_CHARS: Final = MAX_OBSERVATION_CHARS + 200
PROBE: Final = "probe"
OURS: Final = "supervisor"
CUT_OFF: Final = (
    "An answer of the model was cut off at its limit: its last marker may say less than it should."
)


async def ingest(ingest: Ingest, lines: Sequence[Line], *, now: datetime) -> Taken:
    """Take in complete lines, and with them in one transaction how far the file was read.

    A kill at any moment therefore loses no line and doubles none: whoever goes
    on starts at `log_offset`.
    """
    taken = Taken()
    read = [(line, _items(line)) for line in lines]
    captured = await hooks.caught(ingest.hooked, read, ingest.session, ingest.redact)
    async with writing(ingest.db):
        for line, items in read:
            for item, found in enumerate(items):
                await _take(ingest, line, item, found, taken, now=now)
        for each in captured:
            await hooks.keep(ingest.db, ingest.hooked, each, ingest.redact, now=now)
        if taken.spent is not None:
            await sessions.spend(ingest.db, ingest.session.id, taken.spent)
        await sessions.progress(
            ingest.db,
            ingest.session.id,
            log_offset=lines[-1].end,
            learned=taken.learned,
            reinforced=taken.reinforced,
            events=taken.events,
            ignored=taken.ignored,
            now=now,
        )
    return taken


async def say(ingest: Ingest, marker: Marker, *, now: datetime) -> Taken:
    """Do what a session says by a tool, as if it were a marker; raises Invalid."""
    taken = Taken()
    async with writing(ingest.db):
        await act_on(ingest, marker, taken, now=now)
        await sessions.brought(
            ingest.db,
            ingest.session.id,
            learned=taken.learned,
            reinforced=taken.reinforced,
            events=taken.events,
            now=now,
        )
    return taken


def _items(line: Line) -> list[Item]:
    return [Odd(line.problem)] if line.problem else stream.parse(line.content)


async def _take(
    ingest: Ingest, line: Line, item: int, found: Item, taken: Taken, *, now: datetime
) -> None:
    match found:
        case Text():
            for marker in markers.read(found.believed):
                await _mark(ingest, line, item, marker, taken, now=now)
        case Started() | Cut() | Odd():
            await _told(ingest, found, taken, now=now)
        case ToolUse(name, given) if name.rpartition("__")[2] not in BLIND:
            ingest.uses(given)
        case ToolResult(found=dict(seen)) if ingest.session.engine == PROBE:
            await _seen(ingest, seen, now=now)
        case Spent():
            taken.spent = found
        case Finished():
            taken.finished = found


async def _mark(
    ingest: Ingest, line: Line, item: int, marker: Marker, taken: Taken, *, now: datetime
) -> None:
    printed = await marks.count(ingest.db, ingest.session.id)
    if printed >= ingest.max_markers:
        if printed == ingest.max_markers:
            await _too_many(ingest, line, item, marker, taken, now=now)
        return
    state, reason = marker.reading, marker.reason
    taken.outcome = {"outcome": "", "memory_id": None, "event_id": None}
    if state is Reading.TAKEN and await said_before(ingest, marker, _words(ingest, marker)):
        state, reason = Reading.IGNORED, SAID_BEFORE
    if state is Reading.TAKEN:
        try:
            await act_on(ingest, marker, taken, now=now)
        except Invalid as error:
            state, reason = Reading.REFUSED, "; ".join(wrong.message for wrong in error.wrong)
    if state is Reading.REFUSED:
        await _refuse(ingest, marker, reason, taken, now=now)
    if state is Reading.IGNORED:
        taken.ignored += 1
    await _keep(ingest, line, item, marker, state, reason, taken, now=now)


async def _keep(
    ingest: Ingest,
    line: Line,
    item: int,
    marker: Marker,
    state: Reading,
    reason: str,
    taken: Taken,
    *,
    now: datetime,
) -> None:
    await marks.insert(
        ingest.db,
        session_id=ingest.session.id,
        offset=line.start,
        item=item,
        line=marker.line,
        what=marker.what,
        state=state,
        reason=ingest.redact(reason) or taken.outcome.pop("why", ""),
        # what may yet be taken by hand is kept whole
        text=_words(ingest, marker, IGNORED_CHARS if state is Reading.IGNORED else EVENT_CHARS),
        service=marker.service,
        category=marker.category,
        now=now,
        **{name: value for name, value in taken.outcome.items() if name != "why"},
    )


def _words(ingest: Ingest, marker: Marker, limit: int = EVENT_CHARS) -> str:
    return shortened(ingest.redact(one_line(marker.text)), limit)


async def act_on(ingest: Ingest, marker: Marker, taken: Taken, *, now: datetime) -> None:
    """Do what a marker says; raises Invalid for what may not enter."""
    if not one_line(marker.body):
        raise Invalid(Wrong("text", "says nothing that can be seen"))
    match marker.what:
        case What.MEMORY:
            await _remember(ingest, marker, taken, now=now)
        case What.EVENT:
            level = level_of(marker.category or "")
            await _event(ingest, level, marker.body, taken, service=marker.service, now=now)
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
        await _event(ingest, Level.WARNING, text, taken, source=OURS, now=now)
    taken.outcome = {
        "outcome": result.outcome.value,
        "memory_id": result.memory.id,
        "event_id": None,
        "why": result.reason,
    }


async def _cooldown(ingest: Ingest, marker: Marker, taken: Taken, *, now: datetime) -> None:
    """Settle the use that a marker tells of; one that nobody reserved is a use all the same."""
    session, action = ingest.session, ActionKind(marker.category or "")
    service = await spelled(ingest.db, marker.service, ingest.known) or GENERAL
    told = {
        "outcome": Used(marker.outcome or ""),
        "text": ingest.redact(one_line(marker.body)),
        "marked": True,
        "settled_at": now,
    }
    held = await cooldowns.unmarked(ingest.db, session.id, service, action)
    if held is not None and held.outcome is Used.RESERVED:  # it still runs: the gate settles it
        await cooldowns.change(ingest.db, held.id, now=now, marked=True)
    elif held is not None:
        await cooldowns.change(ingest.db, held.id, now=now, **told)
    else:
        await act.admit(ingest.db, session, service, action, now=now, **told)
    level = Level.INFO if marker.outcome == "success" else Level.WARNING
    text = f"{action.capitalize()} ({marker.outcome}): {marker.body}"
    await _event(ingest, level, text, taken, service=marker.service, now=now)


async def _escalate(ingest: Ingest, marker: Marker, taken: Taken, *, now: datetime) -> None:
    """Keep what is handed on; the session's end decides. At the end of the ladder ask a person."""
    session, service = ingest.session, marker.service or ""
    last = session.tier >= min(ingest.max_tier, MAX_TIER) and not session.dry_run
    reason = shortened(one_line(ingest.redact(marker.body)), REASON_CHARS)
    await escalations.insert(
        ingest.db,
        session.id,
        session.tier + 1,
        await spelled(ingest.db, service, ingest.known) or GENERAL,
        reason,
        state=EscalationState.PERSON if last else EscalationState.OPEN,
        now=now,
    )
    level, asks = (
        (Level.CRITICAL, "Needs a person")
        if last
        else (Level.WARNING, f"Asks for tier {session.tier + 1}")
    )
    await _event(ingest, level, f"{asks}: {marker.body}", taken, service=service, now=now)


async def _refuse(
    ingest: Ingest, marker: Marker, reason: str, taken: Taken, *, now: datetime
) -> None:
    said = shortened(ingest.redact(one_line(marker.text)), 200)
    logger.warning("Session %s: marker not taken, %s: %s", ingest.session.id, reason, said)
    if marker.what is What.MEMORY:
        text = f"Not remembered, {reason}: {said}"
        await _event(ingest, Level.WARNING, text, taken, source=OURS, now=now)


async def _too_many(
    ingest: Ingest, line: Line, item: int, marker: Marker, taken: Taken, *, now: datetime
) -> None:
    text = f"More than {ingest.max_markers:,} markers in one session; the rest is not taken."
    await _event(ingest, Level.WARNING, text, taken, source=OURS, now=now)
    reason = "too many markers in this session"
    await _keep(ingest, line, item, marker, Reading.REFUSED, reason, taken, now=now)


async def _event(
    ingest: Ingest,
    level: Level,
    text: str,
    taken: Taken,
    *,
    service: str | None = None,
    source: str = "marker",
    now: datetime,
) -> None:
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


async def _told(ingest: Ingest, told: Started | Cut | Odd, taken: Taken, *, now: datetime) -> None:
    """Keep which model answers, and warn of what makes a session less than it should be."""
    if isinstance(told, Started) and told.model and ingest.session.model:
        await sessions.answered_by(ingest.db, ingest.session.id, told.model)
    for text in _shortcomings(told):
        await _event(ingest, Level.WARNING, text, taken, source=OURS, now=now)


def _shortcomings(told: Started | Cut | Odd) -> Iterator[str]:
    match told:
        case Started(missing=missing) if missing:
            names = ", ".join(missing)
            yield f"The session goes on without its tools: {names} could not be reached."
        case Cut():
            yield CUT_OFF
        case Odd(problem):
            yield problem


async def _seen(ingest: Ingest, found: dict[str, Any], *, now: datetime) -> None:
    """Keep what our own probe saw, found or measured."""
    seen = evidence.read(found)
    match seen:
        case Look():
            await checks.insert(ingest.db, ingest.session.id, seen, now=now)
        case Finding():
            await findings.insert(ingest.db, ingest.session.id, seen, now=now)
        case Measured(use_id, seconds):
            await cooldowns.measured(
                ingest.db, use_id, seconds, session_id=ingest.session.id, now=now
            )
