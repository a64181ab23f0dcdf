"""The write path of memories: one read of a candidate's surroundings, one write of intents."""

from collections.abc import Sequence, Set
from dataclasses import replace
from datetime import datetime
from typing import Final

from lamplighter.domain.learning.extract import ExtractedClaim, agrees, extract_claim
from lamplighter.domain.learning.facts import LearnedFact, is_attached
from lamplighter.domain.memory.intents import (
    CONTRADICTS,
    NEW,
    Intent,
    MemoryChange,
    MemoryLink,
    NewMemory,
    RelationshipReview,
    Repeat,
    ReviewOpening,
)
from lamplighter.domain.memory.memory import Candidate, InactiveReason, Memory, MemoryId
from lamplighter.domain.memory.review import MAX_POSSIBLE, POSSIBLE_FULL, ReviewKind, ReviewState
from lamplighter.domain.relate import Analysis, Lexicon, Relation, RelationVerdict, analyze
from lamplighter.domain.relate.nearest import lookup_terms
from lamplighter.domain.relate.reconcile import (
    CandidateHistory,
    EchoPolicy,
    Surroundings,
    verdict_on,
)
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.service import GENERAL
from lamplighter.domain.text import comparison_key
from lamplighter.repository.memory import exposures, history, knowledge, links, memories, reviews
from lamplighter.repository.search import analyses, searches
from lamplighter.repository.services import checks, events, outcomes
from lamplighter.repository.store.database import Database, writing

FIELDS_PROBABILITY: Final = 0.99
NEAREST: Final = 10
"""The number of memories of a group that a candidate is compared with."""


async def around(
    db: Database,
    candidate: Candidate,
    lexicon: Lexicon,
    *,
    services: Sequence[str],
    checked: Set[str],
    echo: EchoPolicy,
) -> Surroundings:
    """Read the surroundings of an admitted candidate; call it within `writing`, to keep them valid.

    `checked` are the services that the session's own tools named.
    """
    service = await memories.service_name(db, candidate.service, services)
    candidate = replace(candidate, service=service)
    analysis = analyze(candidate.observation, lexicon, service=service)
    terms = lookup_terms(analysis)
    by_text = []
    for row in await _compared(db, candidate, terms, lexicon):
        verdict = verdict_on(candidate.observation, analysis, row, row.analysis, lexicon)
        memory = None if verdict.relation is Relation.UNRELATED else row.memory()
        if memory is not None:
            by_text.append((memory, verdict))
    related = await _by_fields(db, candidate, by_text)
    return Surroundings(
        candidate=candidate,
        analysis=analysis,
        related=related,
        history=await _history(db, candidate, related, checked, echo),
    )


async def store(
    db: Database, intents: Sequence[Intent | Analysis], *, now: datetime
) -> list[Memory]:
    """Write intents in their order, in one transaction; return the new memories."""
    new: list[Memory] = []
    async with writing(db):
        for intent in intents:
            match intent:
                case NewMemory(candidate, why):
                    new.append(await memories.insert(db, candidate, now=now))
                    await history.append(db, None, new[-1], why, now=now)
                case MemoryChange(before, after, why):
                    assert after is not None
                    await memories.update(db, after, now=now)
                    await history.append(db, before, after, why, now=now)
                    await reviews.count_rewording(db, before, after, by=why.review_id, now=now)
                case Repeat(memory_id):
                    await knowledge.count_duplicate(db, memory_id, now=now)
                case MemoryLink():
                    memory_id = new[-1].id if intent.memory_id == NEW else intent.memory_id
                    await links.insert(db, replace(intent, memory_id=memory_id), now=now)
                case ReviewOpening():
                    new_id = new[-1].id if intent.new_id == NEW else intent.new_id
                    await _open_review(db, replace(intent, new_id=new_id), now=now)
                case RelationshipReview(memory, text, reason):
                    await reviews.propose(db, memory or new[-1], text, reason, now=now)
                case _:
                    await analyses.put(db, new[-1], intent)
    return new


async def _compared(
    db: Database, candidate: Candidate, terms: Set[str], lexicon: Lexicon
) -> list[analyses.AnalyzedRow]:
    """Return the active memories that may be related, and equal memories, active or not."""
    group = (candidate.service, candidate.category)
    near = await analyses.nearest(db, group, terms, lexicon, limit=NEAREST)
    found = await analyses.fetch_related(db, near, candidate, lexicon)
    active = {row.id for row in found if row.active}
    analyses.drop_from_index(db, group, set(near) - active)
    said = comparison_key(candidate.observation)
    return [row for row in found if row.active or comparison_key(row.observation) == said]


async def _by_fields(
    db: Database, candidate: Candidate, related: list[tuple[Memory, RelationVerdict]]
) -> list[tuple[Memory, RelationVerdict]]:
    """Compare a candidate with learned facts: by its fields, never by similarity of text."""
    claim = extract_claim(candidate.service, candidate.observation)
    by_id = {memory.id: (memory, verdict) for memory, verdict in related}
    verbatim = {number for number, (_, verdict) in by_id.items() if verdict.word_for_word}
    alike = {
        number for number, (_, verdict) in by_id.items() if verdict.relation in _OF_ONE_SUBJECT
    } - verbatim
    if candidate.service is None or (claim is None and not alike):
        return related
    verdicts = {
        MemoryId(fact.memory_id): (fact, _verdict_by_fields(claim, fact))
        for fact in await outcomes.facts_of(db, candidate.service)
    }
    concerned = [
        number
        for number, (_, verdict) in verdicts.items()
        if number in alike or (verdict.relation in _OF_ONE_SUBJECT and number not in verbatim)
    ]
    for number, memory in (await memories.by_ids(db, concerned)).items():
        fact, verdict = verdicts[number]
        if memory.active and memory.category is candidate.category and is_attached(fact, memory):
            by_id[number] = memory, verdict
    return list(by_id.values())


_OF_ONE_SUBJECT: Final = (Relation.SAME, Relation.CONFLICTING)


def _verdict_by_fields(claim: ExtractedClaim | None, fact: LearnedFact) -> RelationVerdict:
    """Return how a claim relates to a fact; without a claim, a person decides."""
    if claim is None:
        reason = "may be about the same: the text has no fields to compare"
        return RelationVerdict(Relation.UNSURE, reason, FIELDS_PROBABILITY)
    same = agrees(claim, fact)
    if same is None:
        return RelationVerdict(Relation.UNRELATED, "another subject by its fields")
    words = "the same fact" if same else "another result of the same fact"
    reason = f"{words} by its fields: {fact.kind.replace('_', ' ')}"
    return RelationVerdict(
        Relation.SAME if same else Relation.CONFLICTING, reason, FIELDS_PROBABILITY
    )


async def _history(
    db: Database,
    candidate: Candidate,
    related: Sequence[tuple[Memory, RelationVerdict]],
    checked: Set[str],
    echo: EchoPolicy,
) -> CandidateHistory:
    """Return the relevant changes by the session, and the relevant decisions of people."""
    session, service = candidate.session_id, candidate.service
    if session is None:
        return CandidateHistory()
    superseded = InactiveReason.SUPERSEDED
    aside = [each.id for each, _ in related if each.inactive_reason is superseded]
    refused = await reviews.rejected_among(db, aside) if aside else set()
    active = [each for each in related if each[0].active]
    if not active:
        return CandidateHistory(refused=refused)
    up, down = await history.changed_by_session(db, session)
    verbatim = [memory.id for memory, verdict in active if verdict.word_for_word]
    included: set[MemoryId] = set()
    if verbatim:
        included = await exposures.included_memories(db, session, verbatim)
        included |= await searches.found_memories(db, session, verbatim)
    looked = not included or service in checked
    if not looked and service is not None:
        looked = await checks.was_checked(db, session, service)
    return CandidateHistory(
        up=up,
        down=down,
        included=included,
        looked=looked,
        echo=echo,
        settled=await reviews.compatible_among(db, [memory.id for memory, _ in active]),
        refused=refused,
    )


async def _open_review(db: Database, opening: ReviewOpening, *, now: datetime) -> None:
    """Weaken the contradicted memory, open a review, and link the two memories."""
    old, after, why = opening.before, opening.after, opening.why
    if opening.kind is ReviewKind.POSSIBLE and await _has_too_many(db, opening, now=now):
        return
    if after != old:
        await memories.update(db, after, now=now)
    review = await reviews.insert(
        db,
        opening.kind,
        old,
        opening.new_id,
        text=opening.text,
        reason=why.reason,
        session_id=why.session_id,
        now=now,
    )
    if after != old:
        reason = f"memory {opening.new_id} {why.reason}"
        await history.append(
            db, old, after, replace(why, reason=reason, review_id=review.id), now=now
        )
        link = MemoryLink(opening.new_id, old.id, CONTRADICTS, why.session_id)
        await links.insert(db, link, now=now)


async def _has_too_many(db: Database, opening: ReviewOpening, *, now: datetime) -> bool:
    """Whether a service has the maximum of open possible conflicts; an event reports this.

    Further candidates are learned without a review.
    """
    service = opening.before.service
    selection = reviews.ReviewFilter(
        state=ReviewState.OPEN, service=service or GENERAL, kind=ReviewKind.POSSIBLE
    )
    if await reviews.count(db, selection) < MAX_POSSIBLE:
        return False
    newest = await reviews.newest(db, selection)
    if not await events.recorded_after(db, POSSIBLE_FULL, service, newest):
        await events.insert(
            db,
            Level.WARNING,
            POSSIBLE_FULL,
            service=service,
            session_id=opening.why.session_id,
            source="supervisor",
            now=now,
        )
    return True
