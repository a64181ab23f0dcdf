"""Learn: what an incident that ended shows, as outcome records and as memories."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nlargest
from itertools import groupby
from typing import Any, Final

from lamplighter.domain.errors import Invalid
from lamplighter.domain.learning.advice import circumstances_of
from lamplighter.domain.learning.facts import (
    MIN_CAUSED,
    MIN_MEASURED,
    FactKind,
    LearnedFact,
    decide_fact,
    render,
)
from lamplighter.domain.learning.outcome import (
    ActionResult,
    OutcomeActor,
    OutcomeRecord,
    count_outcomes,
    ended_by,
    result_of,
)
from lamplighter.domain.learning.patterns import SPAN, fits, pattern_at, time_pattern
from lamplighter.domain.learning.signature import failure_key, signatures_of
from lamplighter.domain.memory.admit import admit_candidate
from lamplighter.domain.memory.memory import Candidate, MemoryId, Source, Trust
from lamplighter.domain.services.cooldown import SPENDING_OUTCOMES, CooldownUse
from lamplighter.domain.services.incident import (
    Incident,
    IncidentMember,
    IncidentOutcome,
    IncidentSource,
)
from lamplighter.domain.services.service import Services, normalize_service_name
from lamplighter.domain.sessions.handoff import EscalationState
from lamplighter.domain.text import shorten
from lamplighter.repository import Database, reading, writing
from lamplighter.repository.memory import exposures, memories
from lamplighter.repository.memory.memories import MemoryFilter, Sort
from lamplighter.repository.services import cooldowns, incidents, outcomes
from lamplighter.repository.sessions import escalations
from lamplighter.repository.store.driver import Error
from lamplighter.repository.writes import store
from lamplighter.usecases.context import Context

logger = logging.getLogger(__name__)

KEPT_TIMES: Final = 20
"""So many measured times are kept behind a memory, the newest."""

MAX_ADOPTED: Final = 200
MAX_CAUSES: Final = 5
MAX_INCIDENTS: Final = 100
"""So many members of an incident are learned from, and so many incidents counted, at the most:
more would hold the write lock for long."""

CAUSE_CHARS: Final = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedIncident:
    """An incident that ended, with what belongs to it."""

    incident: Incident
    members: Sequence[IncidentMember]
    records: Sequence[OutcomeRecord]
    history: Sequence[OutcomeRecord]
    """The outcomes of all its root's incidents, oldest first; its own are the last."""

    sessions: Sequence[int]
    services: Services


@dataclass(frozen=True, slots=True)
class Lesson:
    """What an incident shows of one fact: the fact, what was held before, and who showed it."""

    fact: LearnedFact
    before: LearnedFact | None
    helped: bool
    session_id: int | None
    tier: int


async def learn(here: Context, services: Services, *, fading: bool = True) -> int:
    """Learn from the incidents that ended; return from how many.

    Each is one transaction that claims it first: a process that is killed learns nothing twice.
    """
    async with reading(here.db):
        due = await incidents.unlearned(here.db)
    for incident in due:
        try:
            async with writing(here.db):
                if await incidents.claim_learning(here.db, incident.id, now=here.now()):
                    await _learn_from(here, incident, services, fading=fading)
        except (Error, TimeoutError):
            raise
        except Exception:  # its texts come from outside: it must stop no other, nor its supervisor
            logger.exception("Incident %s teaches nothing", incident.id)
            async with writing(here.db):
                await incidents.claim_learning(here.db, incident.id, now=here.now())
    return len(due)


async def _learn_from(
    here: Context, incident: Incident, services: Services, *, fading: bool
) -> None:
    if incident.outcome is IncidentOutcome.MERGED:
        return
    members = (await incidents.members(here.db, [incident.id]))[incident.id]
    ids = await incidents.session_ids(here.db, incident.id)
    records = [
        await outcomes.insert(here.db, each)
        for each in await _records(here.db, incident, members, ids, services)
    ]
    ended = EndedIncident(
        incident=incident,
        members=members,
        records=records,
        history=await outcomes.of_service(here.db, incident.service),
        sessions=ids,
        services=services,
    )
    lessons = await _repairs(here.db, ended)
    lessons += await _start_ups(here.db, ended)
    lessons += await _causes(here.db, ended)
    lessons += await _patterns(here.db, ended)
    for lesson in lessons:
        await _remember(here, ended, lesson, fading=fading)


async def _records(
    db: Database,
    incident: Incident,
    members: Sequence[IncidentMember],
    ids: Sequence[int],
    services: Services,
) -> list[OutcomeRecord]:
    """Return what each action of an incident came to; where none was tried, one record."""
    detail = next((each.detail for each in members if each.service == incident.service), "")
    signatures = signatures_of(incident.service, detail or incident.title)
    main, reported = signatures[0], incident.source is not IncidentSource.CHECK
    words = ", ".join(dict.fromkeys(each.evidence for each in signatures))
    ended = incident.resolved_at or incident.detected_at
    record = OutcomeRecord(
        incident_id=incident.id,
        service=incident.service,
        check=main.check,
        failure=main.failure,
        evidence=shorten(words, CAUSE_CHARS),
        exit_code=main.exit_code,
        signatures=(failure_key(signatures, reported=reported),),
        circumstances=incident.configured,
        context=_context(incident, members, services),
        target=incident.service,
        result=ActionResult.NONE,
        ended=incident.outcome,
        seconds=max(0.0, round((ended - incident.started_at).total_seconds(), 1)),
        actor=ended_by(incident),
        by_session=ids[-1] if ids else None,
        memories=await _memories(db, ids),
        at=ended,
    )
    asked = await escalations.of_sessions(db, ids) if ids else []
    person = any(each.state in (EscalationState.PERSON, EscalationState.CLOSED) for each in asked)
    deployed = await cooldowns.last_deployment(db, incident.service, before=incident.detected_at)
    uses = await cooldowns.of_sessions(db, ids) if ids else []
    return [
        _of_action(record, some, deployed=deployed, person_asked=person)
        for some in _by_action(uses)
    ] or [replace(record, circumstances=circumstances_of(incident.configured, deployed, None))]


def _by_action(uses: Sequence[CooldownUse]) -> Iterator[list[CooldownUse]]:
    """Yield the uses that ran, those of one action together."""

    def name(use: CooldownUse) -> tuple[str, str]:
        return normalize_service_name(use.service), use.name or use.action

    ran = [use for use in uses if use.outcome in SPENDING_OUTCOMES]
    for _, some in groupby(sorted(ran, key=name), key=name):
        yield list(some)


def _of_action(
    record: OutcomeRecord,
    uses: Sequence[CooldownUse],
    *,
    deployed: int | None,
    person_asked: bool,
) -> OutcomeRecord:
    last = uses[-1]
    return replace(
        record,
        circumstances=circumstances_of(record.circumstances, deployed, last.action),
        context={**record.context, "kind": last.action.value},
        action=last.name or last.action.value,
        target=last.service,
        result=result_of(uses, person_asked=person_asked),
        attempts=sum(use.attempts for use in uses),
        healthy_seconds=last.healthy_after,
        actor=OutcomeActor.AGENT if last.session_id else OutcomeActor.PERSON,
        by_session=last.session_id,
        tier=last.tier,
    )


def _context(
    incident: Incident, members: Sequence[IncidentMember], services: Services
) -> Mapping[str, Any]:
    """Return the circumstances in which an incident began."""
    root = services.find(incident.service)
    failing = {each.service for each in members}
    needs = services.with_needs([root]) if root else []
    return {
        "dependencies": {
            each.name: "failing" if each.name in failing else "healthy"
            for each in needs
            if each is not root
        },
        "affected": sorted(failing - {incident.service}),
        "hour": incident.started_at.hour,
        "weekday": incident.started_at.isoweekday(),
    }


async def _memories(db: Database, ids: Sequence[int]) -> tuple[int, ...]:
    """Return the memories in the prompts of an incident's sessions."""
    found = {
        each.memory_id
        for number in ids
        for each in await exposures.of_session(db, number)
        if each.position is not None
    }
    return tuple(sorted(found))


async def _repairs(db: Database, ended: EndedIncident) -> list[Lesson]:
    """Return what each action on the root cause shows."""
    found = []
    for record in ended.records:
        own = normalize_service_name(record.target) == normalize_service_name(record.service)
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
        before, after = await _before(db, fact, record.signatures, record.id - 1)
        if before is not None:  # what was learned first names the failure
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
        found.append(Lesson(fact, before, helped, record.by_session, record.tier))
    return found


async def _distinct(db: Database, fact: LearnedFact, record: OutcomeRecord) -> LearnedFact:
    """Name the check too where another failure has the same words."""
    known = await outcomes.facts_of(db, fact.service)
    same = any((each.action, each.cause) == (fact.action, fact.cause) for each in known)
    return replace(fact, cause=f"{fact.cause} of {record.check}") if same and record.check else fact


async def _start_ups(db: Database, ended: EndedIncident) -> list[Lesson]:
    """Return how long the root cause takes to be healthy after an action."""
    found = []
    for record in ended.records:
        if record.healthy_seconds is None or record.result is not ActionResult.FIXED:
            continue
        kind = str(record.context["kind"])
        fact = LearnedFact(kind=FactKind.START_UP, service=record.target, action=kind, at=record.at)
        before, after = await _before(db, fact, (), record.id - 1)
        seconds = tuple(
            each.healthy_seconds
            for each in ended.history
            if each.id > after
            and each.target == record.target
            and each.context.get("kind") == kind
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
            found.append(Lesson(fact, before, True, record.by_session, record.tier))
    return found


async def _causes(db: Database, ended: EndedIncident) -> list[Lesson]:
    """Return how often the root cause made other members fail; a trivial one is left out.

    Of many members, those that fail with it most often teach something.
    """
    incident, cause = ended.incident, ended.incident.service
    facts = [
        LearnedFact(kind=FactKind.CAUSE, service=each.service, cause=cause, at=incident.detected_at)
        for each in ended.members
        if normalize_service_name(each.service) != normalize_service_name(cause)
    ]
    known = await outcomes.facts_of(db, *(each.service for each in facts))
    held = {each.service: next((one for one in known if each.is_same(one)), None) for each in facts}
    kept = await memories.by_ids(db, [MemoryId(each.memory_id) for each in held.values() if each])
    for name, each in held.items():
        if each and each.memory_id not in kept:
            held[name] = await _restart(db, each, incident.id - 1)
    after = {name: each.counted_from for name, each in held.items() if each}
    counts = await incidents.count_roots(db, held, cause, after=after, limit=MAX_INCIDENTS)
    found = []
    for fact in facts:
        caused, all_of = counts.get(fact.service.lower(), (0, 0))
        declared = ended.services.find(fact.service)
        only = declared is not None and declared.depends_on == (cause,)
        if caused >= MIN_CAUSED and not (only and caused == all_of):
            start = after.get(fact.service, 0)
            fact = replace(fact, worked=caused, tried=all_of, counted_from=start)
            session = min(ended.sessions, default=None)
            found.append(Lesson(fact, held[fact.service], True, session, 1 if session else 0))
    return nlargest(MAX_CAUSES, found, key=lambda each: (each.fact.worked, each.fact.service))


async def _patterns(db: Database, ended: EndedIncident) -> list[Lesson]:
    """Return at what time of the day or week the failure comes, and whether it came then."""
    newest = ended.records[0]
    fact = LearnedFact(
        kind=FactKind.PATTERN,
        service=newest.service,
        cause=newest.evidence,
        signature=newest.signatures[0],
        at=newest.at,
    )
    before, after = await _before(db, fact, newest.signatures, newest.id - 1)
    starts = {
        each.incident_id: each.started_at
        for each in ended.history
        if each.id > after
        and each.at >= newest.at - SPAN
        and newest.signatures[0] in each.signatures
    }
    found = time_pattern(list(starts.values()))
    held = before if before and before.sentence else None
    if held is not None:  # the claim stays, with the counts of now, where there is no better one
        found = found or pattern_at(held.seconds[0], held.action, list(starts.values()))
        fact = replace(fact, cause=held.cause)
    if found is None:
        return []
    second, days = (held.seconds[0], held.action) if held else (found.second, found.days)
    helped = fits(newest.started_at, second, days)
    fact = replace(
        fact,
        action=found.days,
        seconds=(found.second,),
        worked=found.times,
        tried=found.total,
        counted_from=after,
    )
    return [Lesson(fact, before, helped, newest.by_session, newest.tier)] if held or helped else []


async def _before(
    db: Database, fact: LearnedFact, signatures: Sequence[str], newest: int
) -> tuple[LearnedFact | None, int]:
    """Return what is held of the subject of a fact, and after what its evidence counts.

    What a person deleted begins again with this incident.
    """
    wanted = {fact.signature, *signatures}
    before = next(
        (
            each
            for each in await outcomes.facts_of(db, fact.service)
            if each.signature in wanted and replace(each, signature=fact.signature).is_same(fact)
        ),
        None,
    )
    if before is None:
        return None, 0
    if await memories.get(db, before.memory_id) is None:
        before = await _restart(db, before, newest)
    return before, before.counted_from


async def _restart(db: Database, fact: LearnedFact, newest: int) -> LearnedFact:
    """Start the count again, once, after a person deleted the memory: then it has no sentence."""
    if not fact.sentence:
        return fact
    await outcomes.put_fact(db, restarted := replace(fact, sentence="", counted_from=newest), fact)
    return restarted


async def _remember(here: Context, ended: EndedIncident, lesson: Lesson, *, fading: bool) -> None:
    """Store what a lesson makes of the memory that holds it."""
    db, now, before = here.db, here.now(), lesson.before
    fact = render(lesson.fact)
    candidate = Candidate(
        category=fact.frame.category,
        service=fact.service,
        observation=fact.sentence,
        tier=lesson.tier,
        session_id=lesson.session_id,
        source_ref=f"incident {ended.incident.id}",
    )
    try:
        candidate = admit_candidate(candidate, here.redact)
    except Invalid as error:
        logger.warning("Incident %s taught nothing: %s", ended.incident.id, error)
        return
    if before is None:
        before = await _adopted(db, fact)
    held = await memories.get(db, before.memory_id) if before else None
    intents = decide_fact(
        fact,
        candidate,
        before,
        held,
        helped=lesson.helped,
        incident_id=ended.incident.id,
        fading=fading,
        now=now,
    )
    if intents is None:
        return
    new = await store(db, intents, now=now)
    number = new[-1].id if new else held.id if held else 0
    fact = replace(fact, memory_id=number, sentence=candidate.observation)
    await outcomes.put_fact(db, fact, before)


async def _adopted(db: Database, fact: LearnedFact) -> LearnedFact | None:
    """Return the fields of a memory that a session reported in the same form, as text."""
    same = MemoryFilter(service=fact.service, category=fact.frame.category, active=True)
    found = await memories.page(db, same, sort=Sort.CREATED, limit=MAX_ADOPTED)
    taken = {each.memory_id for each in await outcomes.facts_of(db, fact.service)}
    for memory in found.items:
        free = memory.id not in taken and memory.trust is not Trust.UNVERIFIED
        if (
            free
            and memory.source is Source.MARKER
            and fact.frame.is_same_subject(memory.observation, fact.sentence)
        ):
            return replace(fact, memory_id=memory.id, sentence=memory.observation)
    return None
