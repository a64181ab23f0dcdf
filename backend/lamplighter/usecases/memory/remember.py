"""Remember: saves every observation, from any source."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from lamplighter.domain.configuration import Configuration
from lamplighter.domain.memory.admit import admit_candidate
from lamplighter.domain.memory.decay import apply_decay
from lamplighter.domain.memory.memory import Candidate, InactiveReason, Memory, MemoryId
from lamplighter.domain.memory.review import ReviewKind
from lamplighter.domain.relate import (
    Analysis,
    Lexicon,
    RelationVerdict,
    analyze,
    judge,
    judge_text,
)
from lamplighter.domain.relate.reconcile import (
    CandidateHistory,
    Decision,
    Effect,
    ReconcileOutcome,
    reconcile,
)
from lamplighter.domain.services.service import Services
from lamplighter.domain.text import comparison_key
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import exposures, history, links, memories, reviews
from lamplighter.repository.search import analyses, searches
from lamplighter.repository.services import checks
from lamplighter.usecases.access import instrumentation
from lamplighter.usecases.context import Context
from lamplighter.usecases.memory.fade import apply_due
from lamplighter.usecases.memory.lookup import spelled
from lamplighter.usecases.memory.review import open_possible, open_review

NEAREST: Final = 10


@dataclass(frozen=True, slots=True)
class LearningResult:
    """What became of a candidate: the memory that holds it now, and why."""

    outcome: ReconcileOutcome
    memory: Memory
    reason: str
    effects: tuple[Effect, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningContext(Context):
    """What candidates are ingested with; `services` are those that are declared.

    Without `fading` what is due is left for later: the clock is not to be trusted now.
    `looked` are the services that the session's own tools named.
    """

    active: Configuration = field(default_factory=Configuration)
    services: Services = field(default_factory=Services)
    fading: bool = True
    looked: set[str] = field(default_factory=set)

    @property
    def service_names(self) -> list[str]:
        """The names of the services as they are spelled."""
        return [each.name for each in self.services]


@instrumentation.trace_write("memory.remember")
async def remember(here: LearningContext, candidate: Candidate, *, now: datetime) -> LearningResult:
    """Reinforce the memory we hold, or learn a new one, and weaken what it contradicts.

    The memory, its links, reviews, history and changes are one transaction.
    Raises Invalid for what may not enter.
    """
    db, lexicon = here.db, here.active.lexicon
    candidate = admit_candidate(candidate, here.redact)
    async with writing(db):
        service = await spelled(db, candidate.service, here.service_names)
        candidate = replace(candidate, service=service)
        analysis = analyze(candidate.observation, lexicon, service=service)
        found = await _related_memories(db, candidate, analysis, lexicon)
        held = [memory for memory, _ in found]
        due = [apply_decay(memory, now=now) if here.fading else memory for memory in held]
        verdicts = {
            memory.id: verdict_on(candidate, analysis, memory, said, lexicon)
            for memory, said in found
        }
        decision = reconcile(
            candidate,
            due,
            lambda memory: verdicts[memory.id],
            now=now,
            history=await _reconcile_context(here, candidate, due, verdicts),
        )
        if here.fading:
            await _fade_first(db, held, decision, now=now)
        memory = await _save_decision(db, candidate, analysis, decision, due, now=now)
        for effect in decision.effects:
            await _take_effect(db, candidate, memory, effect, now=now)
        return LearningResult(decision.outcome, memory, decision.reason, decision.effects)


async def _related_memories(
    db: Database, candidate: Candidate, analysis: Analysis, lexicon: Lexicon
) -> list[tuple[Memory, Analysis | None]]:
    """Return the active memories that may be related, and twins whether active or not."""
    group = (candidate.service, candidate.category)
    near = await analyses.nearest(db, group, analysis, lexicon, limit=NEAREST)
    found = await analyses.fetch_related(db, near, candidate, lexicon)
    active = {memory.id for memory, _ in found if memory.active}
    analyses.drop_from_index(db, group, set(near) - active)
    return [
        (memory, said)
        for memory, said in found
        if memory.active
        or comparison_key(memory.observation) == comparison_key(candidate.observation)
    ]


def verdict_on(
    candidate: Candidate,
    analysis: Analysis,
    existing: Memory,
    said: Analysis | None,
    words: Lexicon,
) -> RelationVerdict:
    """Return how a candidate relates to an existing memory; `said` is its analysis, if known."""
    found = judge_text(candidate.observation, existing.observation)
    if found is not None:
        return found
    return judge(analysis, said or analyze(existing.observation, words, service=existing.service))


async def _reconcile_context(
    here: LearningContext,
    candidate: Candidate,
    existing: Sequence[Memory],
    verdicts: dict[MemoryId, RelationVerdict],
) -> CandidateHistory:
    """Return what matters of what the session has done, and of what people decided."""
    db = here.db
    session, related = candidate.session_id, [each for each in existing if each.active]
    if session is None:
        return CandidateHistory()
    aside = [each.id for each in existing if each.inactive_reason is InactiveReason.SUPERSEDED]
    refused = await reviews.rejected_among(db, aside) if aside else set()
    if not related:
        return CandidateHistory(refused=refused)
    up, down = await history.changed_by_session(db, session)
    verbatim = [each.id for each in related if verdicts[each.id].word_for_word]
    included = await _included_memories(db, session, verbatim) if verbatim else set()
    checked = not included or await _was_checked(here, session, candidate.service)
    settled = await reviews.compatible_among(db, [each.id for each in related])
    return CandidateHistory(
        up=up,
        down=down,
        included=included,
        looked=checked,
        echo=here.active.echo,
        settled=settled,
        refused=refused,
    )


async def _included_memories(db: Database, session: int, ids: Sequence[MemoryId]) -> set[MemoryId]:
    """Return which of these a session received, at its start or because it searched."""
    included = await exposures.included_memories(db, session, ids)
    return included | await searches.found_memories(db, session, ids)


async def _was_checked(here: LearningContext, session: int, service: str | None) -> bool:
    if service is None or service in here.looked:
        return service is not None
    return await checks.was_checked(here.db, session, service)


async def _fade_first(
    db: Database,
    existing: Sequence[Memory],
    decision: Decision,
    *,
    now: datetime,
) -> None:
    """Record what was due of the memories that are about to change."""
    moves = {effect.before.id for effect in decision.effects if effect.weakens}
    if decision.outcome is ReconcileOutcome.REINFORCED and decision.target is not None:
        moves.add(decision.target.id)
    await apply_due(db, [each for each in existing if each.id in moves], now=now)


async def _save_decision(
    db: Database,
    candidate: Candidate,
    analysis: Analysis,
    decision: Decision,
    existing: Sequence[Memory],
    *,
    now: datetime,
) -> Memory:
    why = _why(candidate, decision.outcome.value, decision.reason)
    if decision.target is not None:
        if decision.outcome is ReconcileOutcome.REINFORCED:
            before = next(each for each in existing if each.id == decision.target.id)
            await memories.update(db, decision.target, now=now)
            await history.append(db, before, decision.target, why, now=now)
        return decision.target
    memory = await memories.insert(db, candidate, now=now)
    await analyses.put(db, memory, analysis)
    await history.append(db, None, memory, why, now=now)
    if decision.revives is not None:
        await _link(db, candidate, memory, decision.revives, links.REVIVES, now=now)
    return memory


async def _take_effect(
    db: Database, candidate: Candidate, memory: Memory, effect: Effect, *, now: datetime
) -> None:
    """Weaken what is contradicted, link it, and ask a person."""
    old = effect.before
    if effect.kind is ReviewKind.POSSIBLE:
        await open_possible(db, candidate, old, memory.id, reason=effect.reason, now=now)
        return
    if effect.weakens:
        await memories.update(db, effect.after, now=now)
    review = await open_review(
        db,
        effect.kind,
        old,
        memory.id,
        text=candidate.observation,
        reason=effect.reason,
        session_id=candidate.session_id,
        now=now,
    )
    if effect.weakens:
        reason = f"memory {memory.id} {effect.reason}"
        why = replace(_why(candidate, history.CONTRADICTED, reason), review_id=review.id)
        await history.append(db, old, effect.after, why, now=now)
        await _link(db, candidate, memory, old.id, links.CONTRADICTS, now=now)


async def _link(
    db: Database, candidate: Candidate, memory: Memory, to: MemoryId, what: str, *, now: datetime
) -> None:
    await links.insert(db, memory.id, to, what, session_id=candidate.session_id, now=now)


def _why(candidate: Candidate, cause: str, reason: str) -> history.ChangeOrigin:
    actor = "operator" if candidate.session_id is None else "session"
    return history.ChangeOrigin(
        cause=cause, actor=actor, reason=reason, session_id=candidate.session_id
    )
