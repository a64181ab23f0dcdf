"""The lines of a running session: its output becomes memories, events and findings."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from lamplighter.domain.actions.evidence import RecoveryTime, parse_evidence
from lamplighter.domain.errors import Invalid
from lamplighter.domain.memory.memory import MAX_OBSERVATION_CHARS, Candidate
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.service import GENERAL, ActionKind
from lamplighter.domain.sessions.handoff import Finding
from lamplighter.domain.sessions.markers import Marker, MarkerKind, MarkerReading
from lamplighter.domain.sessions.session import CheckResult
from lamplighter.domain.sessions.transcript import (
    AnswerCut,
    EngineStarted,
    Finished,
    Line,
    ToolResult,
    ToolUse,
    UnreadableLine,
    UsageReport,
)
from lamplighter.domain.text import one_line, shorten
from lamplighter.formats.tools import BLIND
from lamplighter.repository import writing
from lamplighter.repository.memory.memories import service_name
from lamplighter.repository.services import checks, cooldowns, findings
from lamplighter.repository.sessions import marker_results, sessions
from lamplighter.usecases.clients import tool_hooks
from lamplighter.usecases.ingest.context import IngestContext, IngestResult
from lamplighter.usecases.ingest.marker_acts import (
    EVENT_CHARS,
    SUPERVISOR,
    apply_marker,
    record_event,
)
from lamplighter.usecases.ingest.steps import IngestStep, StepQueue
from lamplighter.usecases.services import act

logger = logging.getLogger(__name__)

IGNORED_CHARS: Final = MAX_OBSERVATION_CHARS + 200
PROBE: Final = "probe"
LIMIT_REACHED: Final = (
    "Marker limit reached: {:,} were ingested; the rest stay in the output file of the session."
)
HALTED: Final = "Halted: further markers stay in the output file of the session."
CUT_OFF: Final = (
    "A model answer was cut off at its token limit; an incomplete marker is not ingested."
)


async def ingest(ingest: IngestContext, lines: Sequence[Line], *, now: datetime) -> IngestResult:
    """Ingest complete lines, in as many short transactions as needed."""
    feed, taken = StepQueue(ingest, lines), IngestResult()
    while not feed.empty:
        taken.add(await ingest_some(feed, now=now))
    return taken


async def ingest_some(feed: StepQueue, *, now: datetime) -> IngestResult:
    """Ingest the steps that fit one short transaction, and store the position after them.

    A kill at any moment therefore loses no step and repeats none: the process that resumes starts
    at `log_offset` and `log_step`. Other writers can write between two transactions. A connection
    may be lost before it reports the commit: then the next call finds the position stored.
    """
    ingest, result = feed.ingest, IngestResult()
    steps = await feed.ahead()
    if not steps:
        return result
    async with writing(ingest.db):
        done, stored = feed.unconfirmed
        if not done or not await _is_stored(ingest, steps[done - 1]):
            done, stored = 0, result
            ingest.pace.begin()
            while done < len(steps):
                await _ingest_step(ingest, steps[done], result, now=now)
                done += 1
                if ingest.pace.over():
                    break
            await _keep_place(ingest, steps[done - 1], result, now=now)
            feed.unconfirmed = done, result
    feed.drop(done)
    await ingest.pace.rest()
    return stored


async def _is_stored(ingest: IngestContext, last: IngestStep) -> bool:
    """Whether the position after a step was committed, although the connection was lost."""
    session = await sessions.get(ingest.db, ingest.session.id)
    return session is not None and (session.log_offset, session.log_step) == last.reached


async def _keep_place(
    ingest: IngestContext, last: IngestStep, result: IngestResult, *, now: datetime
) -> None:
    """Store the position in a session's file, and the counts and usage up to there."""
    number = ingest.session.id
    if result.spent is not None:
        await sessions.set_spent(ingest.db, number, result.spent)
    if result.first_left is not None:
        offset, step = result.first_left
        await sessions.add_leftover(ingest.db, number, result.left, offset=offset, step=step)
    offset, step = last.reached
    await sessions.progress(
        ingest.db,
        number,
        log_offset=offset,
        log_step=step,
        now=now,
        **result.counts,
    )


async def ingest_report(ingest: IngestContext, marker: Marker) -> IngestResult:
    """Ingest a report that a session made with a tool, like a marker; raises Invalid."""
    taken, now = IngestResult(), ingest.now()
    async with writing(ingest.db):
        await apply_marker(ingest, marker, taken, now=now)
        await sessions.add_counts(ingest.db, ingest.session.id, now=now, **taken.counts)
    return taken


async def _ingest_step(
    ingest: IngestContext, step: IngestStep, result: IngestResult, *, now: datetime
) -> None:
    match step.content:
        case Marker():
            if await _within_limit(ingest, step, result, now=now):
                await ingest_marker(ingest, step, step.content, result, now=now)
        case Candidate():
            window = ingest.active.duplicate_window
            await tool_hooks.save_capture(
                ingest, ingest.hooked, step.content, window=window, now=now
            )
        case EngineStarted() | AnswerCut() | UnreadableLine():
            await _record_notice(ingest, step.content, result, now=now)
        case ToolUse(name, given) if name.rpartition("__")[2] not in BLIND:
            ingest.uses(given)
        case ToolResult(structured=dict(found)) if ingest.session.engine == PROBE:
            await _store_result(ingest, found, now=now)
        case UsageReport() | Finished():
            result.hear(step.content)


async def _within_limit(
    ingest: IngestContext, step: IngestStep, result: IngestResult, *, now: datetime
) -> bool:
    """Whether a session may add one more marker; those over the limit stay in its file.

    They are counted.
    """
    if result.printed is None:
        result.printed = await marker_results.count(ingest.db, ingest.session.id)
    if not ingest.halted and result.printed < ingest.active.max_markers:
        result.printed += 1
        return True
    if result.first_left is None:
        result.first_left = step.line.start, step.number
        existing = await sessions.get(ingest.db, ingest.session.id)
        if existing is not None and not existing.markers_left:
            text = HALTED if ingest.halted else LIMIT_REACHED.format(ingest.active.max_markers)
            await record_event(ingest, Level.WARNING, text, result, source=SUPERVISOR, now=now)
    result.left += 1
    return False


async def ingest_marker(
    ingest: IngestContext, step: IngestStep, marker: Marker, result: IngestResult, *, now: datetime
) -> None:
    """Carry out a marker and record the outcome."""
    state, reason = marker.reading, marker.reason
    result.outcome = {"outcome": "", "memory_id": None, "event_id": None}
    if state is MarkerReading.TAKEN and await is_duplicate(
        ingest, marker, _redacted_text(ingest, marker)
    ):
        state, reason = MarkerReading.IGNORED, DUPLICATE_REASON
    if state is MarkerReading.TAKEN:
        try:
            await apply_marker(ingest, marker, result, now=now)
        except Invalid as error:
            state, reason = MarkerReading.REFUSED, "; ".join(wrong.message for wrong in error.wrong)
    if state is MarkerReading.REFUSED:
        await _refuse(ingest, marker, reason, result, now=now)
    if state is MarkerReading.IGNORED:
        result.ignored += 1
    await _keep(ingest, step, marker, state, reason, result, now=now)


async def _keep(
    ingest: IngestContext,
    step: IngestStep,
    marker: Marker,
    state: MarkerReading,
    reason: str,
    result: IngestResult,
    *,
    now: datetime,
) -> None:
    await marker_results.insert(
        ingest.db,
        session_id=ingest.session.id,
        offset=step.line.start,
        item=step.item,
        line=marker.line,
        what=marker.what,
        state=state,
        reason=ingest.redact(reason) or result.outcome.pop("why", ""),
        # the full text is stored if a person may still accept it
        text=_redacted_text(
            ingest, marker, IGNORED_CHARS if state is MarkerReading.IGNORED else EVENT_CHARS
        ),
        service=marker.service,
        category=marker.category,
        now=now,
        **{name: value for name, value in result.outcome.items() if name != "why"},
    )


def _redacted_text(ingest: IngestContext, marker: Marker, limit: int = EVENT_CHARS) -> str:
    return shorten(ingest.redact(one_line(marker.text)), limit)


async def _refuse(
    ingest: IngestContext, marker: Marker, reason: str, result: IngestResult, *, now: datetime
) -> None:
    said = shorten(ingest.redact(one_line(marker.text)), 200)
    logger.warning("Session %s: marker rejected, %s: %s", ingest.session.id, reason, said)
    text = f"Memory rejected, {reason}: {said}"
    if marker.what is MarkerKind.ESCALATE and marker.reading is MarkerReading.TAKEN:
        text = f"Not escalated: {reason}"
    elif marker.what is not MarkerKind.MEMORY:
        return
    await record_event(ingest, Level.WARNING, text, result, source=SUPERVISOR, now=now)


async def _record_notice(
    ingest: IngestContext,
    notice: EngineStarted | AnswerCut | UnreadableLine,
    result: IngestResult,
    *,
    now: datetime,
) -> None:
    """Record the model that answers, and warn of conditions that impair the session."""
    if isinstance(notice, EngineStarted) and notice.model and ingest.session.model:
        await sessions.set_model(ingest.db, ingest.session.id, notice.model)
    for text in _shortcomings(notice):
        await record_event(ingest, Level.WARNING, text, result, source=SUPERVISOR, now=now)


def _shortcomings(notice: EngineStarted | AnswerCut | UnreadableLine) -> Iterator[str]:
    match notice:
        case EngineStarted(missing=missing) if missing:
            names = ", ".join(missing)
            yield f"The session continues without these tools, which could not be reached: {names}."
        case AnswerCut():
            yield CUT_OFF
        case UnreadableLine(problem):
            yield problem


DUPLICATE_REASON: Final = "repeated in this session"


async def is_duplicate(ingest: IngestContext, marker: Marker, text: str) -> bool:
    """Whether a model's session repeats a marker that was already ingested.

    A model that is cut off, or prompted again, repeats its lines. An action that ran twice may have
    the same marker twice.
    """
    session = ingest.session
    if not session.model or not await marker_results.was_ingested(ingest.db, session.id, text):
        return False
    if marker.what is not MarkerKind.COOLDOWN:
        return True
    service = await service_name(ingest.db, marker.service, ingest.services.names) or GENERAL
    action = ActionKind(marker.category or "")
    return await act.unmarked(ingest.db, session, service, action) is None


async def _store_result(ingest: IngestContext, found: Mapping[str, Any], *, now: datetime) -> None:
    """Store one result of the built-in engine; ignore results of any other form."""
    db, number = ingest.db, ingest.session.id
    match parse_evidence(found):
        case CheckResult() as result:
            await checks.insert(db, number, result, now=now)
        case Finding() as finding:
            await findings.insert(db, number, finding, now=now)
        case RecoveryTime(use_id, seconds):
            await cooldowns.record_recovery(db, use_id, seconds, session_id=number, now=now)
