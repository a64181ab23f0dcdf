"""Lessons: the evidence of an ended incident for each fact, and how it changes its memory."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from heapq import nlargest
from typing import Final

from lamplighter.domain.errors import Invalid
from lamplighter.domain.learning.changes import MIN_FAILURES
from lamplighter.domain.learning.changes import MIN_SHARE as MIN_CHANGES
from lamplighter.domain.learning.extract import agrees, extract_claim
from lamplighter.domain.learning.facts import (
    MIN_CAUSED,
    MIN_MEASURED,
    FactKind,
    LearnedFact,
    decide_fact,
    render,
)
from lamplighter.domain.learning.outcome import ActionResult, OutcomeRecord, count_outcomes
from lamplighter.domain.learning.patterns import SPAN, fits, pattern_at, time_pattern
from lamplighter.domain.memory.admit import admit_candidate
from lamplighter.domain.memory.memory import Candidate, MemoryId, Source, Trust
from lamplighter.domain.services.incident import Incident, IncidentMember
from lamplighter.domain.services.service import Services, is_same_service
from lamplighter.repository import Database
from lamplighter.repository.memory import history, memories
from lamplighter.repository.memory.memories import MemoryFilter, Sort
from lamplighter.repository.services import events, incidents, outcomes
from lamplighter.repository.writes import store
from lamplighter.usecases.context import Context

logger = logging.getLogger(__name__)

MAX_ADOPTED: Final = 200
KEPT_TIMES: Final = 20
"""The number of measured times to store with a memory, the newest."""

MAX_CAUSES: Final = 5
MAX_INCIDENTS: Final = 100
"""The most members to learn from, and the most incidents to count.

More would hold the write lock for long.
"""


@dataclass(frozen=True, slots=True)
class Lesson:
    """The evidence for one fact: the fact, the fact before, and the session that showed it."""

    fact: LearnedFact
    before: LearnedFact | None
    helped: bool
    session_id: int | None = None
    tier: int = 0


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
        fact, before = await compare(db, fact, record.id - 1, record.signatures)
        if before is not None:  # the first lesson names the failure
            fact = replace(fact, cause=before.cause, signature=before.signature)
        elif record.check and any(
            (each.action, each.cause) == (fact.action, fact.cause)
            for each in await outcomes.facts_of(db, fact.service)
        ):  # another failure has the same text
            fact = replace(fact, cause=f"{fact.cause} of {record.check}")
        newer = [each for each in ended.history if each.id > fact.counted_from]
        counts = count_outcomes(newer, record.action, record.signatures, record.circumstances)
        fact = _counted(fact, counts.worked, counts.tried, counts.seconds)
        helped = record.result is ActionResult.FIXED
        lessons.append(Lesson(fact, before, helped, record.by_session, record.tier))
    return lessons


async def start_ups(db: Database, ended: EndedIncident) -> list[Lesson]:
    """Return how long a service takes to be healthy after an action.

    Only cases with the same failing dependencies are counted.
    """
    lessons = []
    for record in ended.records:
        if record.healthy_seconds is None or record.result is not ActionResult.FIXED:
            continue
        kind, failed = str(record.context["kind"]), _failing_needs(record, ended.services)
        fact = LearnedFact(
            kind=FactKind.START_UP, service=record.target, action=kind, cause=failed, at=record.at
        )
        fact, before = await compare(db, fact, record.id - 1)
        seconds = [
            each.healthy_seconds
            for each in ended.history
            if each.id > fact.counted_from
            and each.target == record.target
            and each.context.get("kind") == kind
            and _failing_needs(each, ended.services) == failed
            and each.result is ActionResult.FIXED
            and each.healthy_seconds is not None
        ]
        if len(seconds) >= MIN_MEASURED:
            fact = _counted(fact, len(seconds), len(seconds), seconds)
            lessons.append(Lesson(fact, before, True, record.by_session, record.tier))
    return lessons


def _failing_needs(record: OutcomeRecord, services: Services) -> str:
    """Return the dependencies of an action's target that failed with it."""
    failed = {record.service, *record.context.get("affected", ())}
    return " and ".join(sorted(failed & services.needs_of(record.target)))


async def causes(db: Database, ended: EndedIncident) -> list[Lesson]:
    """Return how often the root cause made other members fail; a trivial one is left out.

    Of many members, those that fail with it most often are selected.
    """
    incident, cause = ended.incident, ended.incident.service
    facts = [
        LearnedFact(kind=FactKind.CAUSE, service=each.service, cause=cause, at=incident.detected_at)
        for each in ended.members
        if not is_same_service(each.service, cause)
    ]
    known = await outcomes.facts_of(db, *(each.service for each in facts))
    before = {
        each.service: next((one for one in known if each.is_same(one)), None) for each in facts
    }
    kept = await memories.by_ids(db, [MemoryId(each.memory_id) for each in before.values() if each])
    for name, each in before.items():
        if each and each.memory_id not in kept:
            before[name] = await _restart(db, each, incident.id - 1)
    after = {name: each.counted_from for name, each in before.items() if each}
    counts = await incidents.count_roots(db, before, cause, after=after, limit=MAX_INCIDENTS)
    session = min(ended.sessions, default=None)
    lessons = []
    for fact in facts:
        caused, all_of = counts.get(fact.service.lower(), (0, 0))
        declared = ended.services.find(fact.service)
        only = declared is not None and declared.depends_on == (cause,)
        if caused >= MIN_CAUSED and not (only and caused == all_of):
            fact = replace(fact, counted_from=after.get(fact.service, 0))
            fact, tier = _counted(fact, caused, all_of), 1 if session else 0
            lessons.append(Lesson(fact, before[fact.service], True, session, tier))
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
    fact, before = await compare(db, fact, newest.id - 1, newest.signatures)
    by_incident = {
        each.incident_id: each.started_at
        for each in ended.history
        if each.id > fact.counted_from
        and each.at >= newest.at - SPAN
        and newest.signatures[0] in each.signatures
    }
    starts = list(by_incident.values())
    pattern = time_pattern(starts)
    previous = before if before and before.sentence else None
    if previous is not None:  # without a better pattern, the claim stays with the current counts
        pattern = pattern or pattern_at(previous.seconds[0], previous.action, starts)
        fact = replace(fact, cause=previous.cause)
    if pattern is None:
        return []
    helped = (
        fits(newest.started_at, previous.seconds[0], previous.action)
        if previous
        else fits(newest.started_at, pattern.second, pattern.days)
    )
    if not previous and not helped:
        return []
    fact = replace(fact, action=pattern.days)
    fact = _counted(fact, pattern.times, pattern.total, (pattern.second,))
    return [Lesson(fact, before, helped, newest.by_session, newest.tier)]


async def changes(db: Database, ended: EndedIncident) -> list[Lesson]:
    """Return how often the root cause failed soon after such a change; one change is chance."""
    newest, change = ended.records[0], ended.records[0].context.get("change")
    if change is None:
        return []
    kind, where = str(change["kind"]), str(change["service"])
    fact = LearnedFact(
        kind=FactKind.CHANGE, service=newest.service, action=kind, cause=where, at=newest.at
    )
    fact, before = await compare(db, fact, newest.id - 1)
    followed: dict[int, tuple[int, datetime, float]] = {}
    for each in ended.history:
        found = each.context.get("change") or {}
        counts = each.id > fact.counted_from and each.at >= newest.at - SPAN
        if counts and found.get("event") and (found["kind"], found["service"]) == (kind, where):
            first_one = each.incident_id, each.started_at, float(found["seconds"])
            followed.setdefault(found["event"], first_one)
    if followed[change["event"]][0] != newest.incident_id:
        return []  # an earlier incident followed the same change
    first = newest.at - SPAN
    if fact.counted_from:  # ignore everything before a person's deletion
        first = min(at - timedelta(seconds=seconds) for _, at, seconds in followed.values())
    until = ended.incident.started_at
    tried = await events.count_changes(db, where, kind, start=first, until=until)
    worked = len(followed)
    helped = worked >= MIN_FAILURES and worked >= MIN_CHANGES * tried
    if not helped and before is None:
        return []
    fact = _counted(fact, worked, max(worked, tried), [each[2] for each in followed.values()])
    return [Lesson(fact, before, helped, newest.by_session, newest.tier)]


KINDS: Final = (repairs, start_ups, causes, patterns, changes)


def _counted(
    fact: LearnedFact, worked: int, tried: int, seconds: Sequence[float] = ()
) -> LearnedFact:
    return replace(fact, worked=worked, tried=tried, seconds=tuple(seconds[-KEPT_TIMES:]))


async def compare(
    db: Database, fact: LearnedFact, newest: int, signatures: Sequence[str] = ()
) -> tuple[LearnedFact, LearnedFact | None]:
    """Return a fact that counts evidence as the stored one about its subject, and that one.

    A fact whose memory a person deleted counts only evidence after `newest`.
    """
    wanted = {fact.signature, *signatures}
    for before in await outcomes.facts_of(db, fact.service):
        if before.signature in wanted and replace(before, signature=fact.signature).is_same(fact):
            if await memories.get(db, before.memory_id) is None:
                before = await _restart(db, before, newest)
            return replace(fact, counted_from=before.counted_from), before
    return fact, None


async def _restart(db: Database, fact: LearnedFact, newest: int) -> LearnedFact:
    """Restart the count, once, after a person deleted the memory: the fact then has no sentence."""
    if not fact.sentence:
        return fact
    await outcomes.put_fact(db, restarted := replace(fact, sentence="", counted_from=newest), fact)
    return restarted


async def remember(here: Context, source: str, lesson: Lesson, *, fading: bool) -> None:
    """Apply a lesson to the memory of its fact; `source` is its origin, such as an incident."""
    db, now, before = here.db, here.now(), lesson.before
    fact = render(lesson.fact)
    candidate = Candidate(
        category=fact.frame.category,
        service=fact.service,
        observation=fact.sentence,
        tier=lesson.tier,
        session_id=lesson.session_id,
        source_ref=source,
    )
    try:
        candidate = admit_candidate(candidate, here.redact)
    except Invalid as error:
        logger.warning("%s taught nothing: %s", source.capitalize(), error)
        return
    before = before or await _adopted(db, fact)
    memory = await memories.get(db, before.memory_id) if before else None
    intents = decide_fact(
        fact,
        candidate,
        before,
        memory,
        helped=lesson.helped,
        source=source,
        fading=fading,
        now=now,
    )
    if intents is None:
        return
    new = await store(db, intents, now=now)
    number = new[-1].id if new else memory.id if memory else 0
    fact = replace(fact, memory_id=number, sentence=candidate.observation)
    await outcomes.put_fact(db, fact, before)


async def _adopted(db: Database, fact: LearnedFact) -> LearnedFact | None:
    """Return the fact with a memory that a session has reported in the same form, as text."""
    same = MemoryFilter(service=fact.service, category=fact.frame.category, active=True)
    found = await memories.page(db, same, sort=Sort.CREATED, limit=MAX_ADOPTED)
    taken = {each.memory_id for each in await outcomes.facts_of(db, fact.service)}
    for memory in found.items:
        free = memory.id not in taken and memory.trust is not Trust.UNVERIFIED
        free = free and memory.source is Source.MARKER and _claims(memory.observation, fact)
        if free and not await history.edited_among(db, [memory.id]):
            return replace(fact, memory_id=memory.id, sentence=memory.observation)
    return None


def _claims(observation: str, fact: LearnedFact) -> bool:
    """Whether a sentence states a fact: in its form, or with its fields in other words."""
    if fact.frame.is_same_subject(observation, fact.sentence):
        return True
    claim = extract_claim(fact.service, observation)
    return claim is not None and agrees(claim, fact) is True
