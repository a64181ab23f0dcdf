"""Lessons: the evidence of an ended incident for each fact."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from heapq import nlargest
from typing import Final

from lamplighter.domain.learning.changes import MIN_FAILURES
from lamplighter.domain.learning.changes import MIN_SHARE as MIN_CHANGES
from lamplighter.domain.learning.facts import MIN_CAUSED, MIN_MEASURED, FactKind, LearnedFact
from lamplighter.domain.learning.outcome import ActionResult, OutcomeRecord, count_outcomes
from lamplighter.domain.learning.patterns import SPAN, fits, pattern_at, time_pattern
from lamplighter.domain.memory.memory import MemoryId
from lamplighter.domain.services.incident import Incident, IncidentMember
from lamplighter.domain.services.service import Services, is_same_service, normalize_service_name
from lamplighter.repository import Database
from lamplighter.repository.memory import memories
from lamplighter.repository.services import events, incidents, outcomes
from lamplighter.usecases.services.incidents import fact_writes
from lamplighter.usecases.services.incidents.fact_writes import Lesson

KEPT_TIMES: Final = 20
"""The number of measured times to store with a memory, the newest."""

MAX_CAUSES: Final = 5
MAX_INCIDENTS: Final = 100
"""The most members to learn from, and the most incidents to count.

More would hold the write lock for long.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedIncident:
    """An ended incident with its related records."""

    incident: Incident
    members: Sequence[IncidentMember]
    records: Sequence[OutcomeRecord]
    history: Sequence[OutcomeRecord]
    """The outcomes of all its root's incidents, oldest first; its own are the last."""

    sessions: Sequence[int]
    services: Services


async def repairs(db: Database, ended: EndedIncident) -> list[Lesson]:
    """Return the evidence of each action on the root cause."""
    lessons = []
    for record in ended.records:
        own = is_same_service(record.target, record.service)
        if not own or record.result not in (ActionResult.FIXED, ActionResult.FAILED):
            continue
        fact = LearnedFact(
            kind=FactKind.REPAIR,
            service=record.service,
            action=record.action,
            cause=record.evidence,
            signature=record.signatures[0],
            at=record.at,
        )
        before, after = await fact_writes.before(db, fact, record.signatures, record.id - 1)
        if before is not None:  # the first lesson names the failure
            fact = replace(fact, cause=before.cause, signature=before.signature)
        else:
            fact = await _distinct(db, fact, record)
        counts = count_outcomes(
            [each for each in ended.history if each.id > after],
            record.action,
            record.signatures,
            record.circumstances,
        )
        fact = replace(
            fact,
            worked=counts.worked,
            tried=counts.tried,
            seconds=counts.seconds[-KEPT_TIMES:],
            counted_from=after,
        )
        helped = record.result is ActionResult.FIXED
        lessons.append(Lesson(fact, before, helped, record.by_session, record.tier))
    return lessons


async def _distinct(db: Database, fact: LearnedFact, record: OutcomeRecord) -> LearnedFact:
    """Add the check to the cause if another failure has the same text."""
    known = await outcomes.facts_of(db, fact.service)
    same = any((each.action, each.cause) == (fact.action, fact.cause) for each in known)
    return replace(fact, cause=f"{fact.cause} of {record.check}") if same and record.check else fact


async def start_ups(db: Database, ended: EndedIncident) -> list[Lesson]:
    """Return how long a service takes to be healthy after an action.

    Only cases with the same failing dependencies are counted.
    """
    lessons = []
    for record in ended.records:
        if record.healthy_seconds is None or record.result is not ActionResult.FIXED:
            continue
        kind = str(record.context["kind"])
        failed = _failing_needs(record, ended.services)
        fact = LearnedFact(
            kind=FactKind.START_UP,
            service=record.target,
            action=kind,
            cause=failed,
            at=record.at,
        )
        before, after = await fact_writes.before(db, fact, (), record.id - 1)
        seconds = tuple(
            each.healthy_seconds
            for each in ended.history
            if each.id > after
            and each.target == record.target
            and each.context.get("kind") == kind
            and _failing_needs(each, ended.services) == failed
            and each.result is ActionResult.FIXED
            and each.healthy_seconds is not None
        )
        if len(seconds) >= MIN_MEASURED:
            fact = replace(
                fact,
                worked=len(seconds),
                tried=len(seconds),
                seconds=seconds[-KEPT_TIMES:],
                counted_from=after,
            )
            lessons.append(Lesson(fact, before, True, record.by_session, record.tier))
    return lessons


def _failing_needs(record: OutcomeRecord, services: Services) -> str:
    """Return the dependencies of an action's target that failed with it."""
    target = services.find(record.target)
    needs = {each.name for each in services.with_needs([target] if target else [])}
    failed = {record.service, *record.context.get("affected", ())} & needs
    return " and ".join(sorted(failed - {record.target}))


async def causes(db: Database, ended: EndedIncident) -> list[Lesson]:
    """Return how often the root cause made other members fail; a trivial one is left out.

    Of many members, those that fail with it most often are selected.
    """
    incident, cause = ended.incident, ended.incident.service
    facts = [
        LearnedFact(kind=FactKind.CAUSE, service=each.service, cause=cause, at=incident.detected_at)
        for each in ended.members
        if normalize_service_name(each.service) != normalize_service_name(cause)
    ]
    known = await outcomes.facts_of(db, *(each.service for each in facts))
    by_service = {
        each.service: next((one for one in known if each.is_same(one)), None) for each in facts
    }
    kept = await memories.by_ids(
        db, [MemoryId(each.memory_id) for each in by_service.values() if each]
    )
    for name, each in by_service.items():
        if each and each.memory_id not in kept:
            by_service[name] = await fact_writes.restart(db, each, incident.id - 1)
    after = {name: each.counted_from for name, each in by_service.items() if each}
    counts = await incidents.count_roots(db, by_service, cause, after=after, limit=MAX_INCIDENTS)
    lessons = []
    for fact in facts:
        caused, all_of = counts.get(fact.service.lower(), (0, 0))
        declared = ended.services.find(fact.service)
        only = declared is not None and declared.depends_on == (cause,)
        if caused >= MIN_CAUSED and not (only and caused == all_of):
            start = after.get(fact.service, 0)
            fact = replace(fact, worked=caused, tried=all_of, counted_from=start)
            session = min(ended.sessions, default=None)
            lessons.append(
                Lesson(fact, by_service[fact.service], True, session, 1 if session else 0)
            )
    return nlargest(MAX_CAUSES, lessons, key=lambda each: (each.fact.worked, each.fact.service))


async def patterns(db: Database, ended: EndedIncident) -> list[Lesson]:
    """Return the time of day or week of the failure, and whether this incident fits it."""
    newest = ended.records[0]
    fact = LearnedFact(
        kind=FactKind.PATTERN,
        service=newest.service,
        cause=newest.evidence,
        signature=newest.signatures[0],
        at=newest.at,
    )
    before, after = await fact_writes.before(db, fact, newest.signatures, newest.id - 1)
    starts = {
        each.incident_id: each.started_at
        for each in ended.history
        if each.id > after
        and each.at >= newest.at - SPAN
        and newest.signatures[0] in each.signatures
    }
    pattern = time_pattern(list(starts.values()))
    previous = before if before and before.sentence else None
    if previous is not None:  # without a better pattern, the claim stays with the current counts
        pattern = pattern or pattern_at(previous.seconds[0], previous.action, list(starts.values()))
        fact = replace(fact, cause=previous.cause)
    if pattern is None:
        return []
    second, days = (
        (previous.seconds[0], previous.action) if previous else (pattern.second, pattern.days)
    )
    helped = fits(newest.started_at, second, days)
    fact = replace(
        fact,
        action=pattern.days,
        seconds=(pattern.second,),
        worked=pattern.times,
        tried=pattern.total,
        counted_from=after,
    )
    return (
        [Lesson(fact, before, helped, newest.by_session, newest.tier)] if previous or helped else []
    )


async def changes(db: Database, ended: EndedIncident) -> list[Lesson]:
    """Return how often the root cause failed soon after such a change; one change is chance."""
    newest, change = ended.records[0], ended.records[0].context.get("change")
    if change is None:
        return []
    kind, where = str(change["kind"]), str(change["service"])
    fact = LearnedFact(
        kind=FactKind.CHANGE, service=newest.service, action=kind, cause=where, at=newest.at
    )
    before, after = await fact_writes.before(db, fact, (), newest.id - 1)
    followed: dict[int, tuple[int, datetime, float]] = {}
    for each in ended.history:
        found = each.context.get("change") or {}
        if each.id <= after or each.at < newest.at - SPAN or found.get("event") is None:
            continue
        if (found["kind"], found["service"]) == (kind, where):
            first_one = each.incident_id, each.started_at, float(found["seconds"])
            followed.setdefault(found["event"], first_one)
    if followed[change["event"]][0] != newest.incident_id:
        return []  # an earlier incident followed the same change
    first = newest.at - SPAN
    if after:  # ignore everything before a person's deletion
        first = min(at - timedelta(seconds=seconds) for _, at, seconds in followed.values())
    until = ended.incident.started_at
    tried = await events.count_changes(db, where, kind, start=first, until=until)
    worked = len(followed)
    helped = worked >= MIN_FAILURES and worked >= MIN_CHANGES * tried
    if not helped and before is None:
        return []
    fact = replace(
        fact,
        worked=worked,
        tried=max(worked, tried),
        seconds=tuple(seconds for *_, seconds in followed.values())[-KEPT_TIMES:],
        counted_from=after,
    )
    return [Lesson(fact, before, helped, newest.by_session, newest.tier)]
