"""Reconcile a new observation with existing memories."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from lamplighter.domain.memory.decay import apply_decay, decay_changes
from lamplighter.domain.memory.intents import (
    CONTRADICTED,
    NEW,
    REVIVES,
    ChangeOrigin,
    Intent,
    MemoryChange,
    MemoryLink,
    NewMemory,
    ReviewOpening,
)
from lamplighter.domain.memory.memory import Candidate, Memory, MemoryId, contradict, reinforce
from lamplighter.domain.memory.review import ReviewKind
from lamplighter.domain.relate import (
    Analysis,
    Lexicon,
    Relation,
    RelationVerdict,
    analyze,
    judge,
    judge_text,
    judge_words,
)

Relate = Callable[[Memory], RelationVerdict]
OWN_MEMORY: Final = "repeated by the session that learned it"
ALREADY_REINFORCED: Final = "already reinforced by this session"
ECHO: Final = "repeats a memory from its prompt verbatim, without running a check"
REFUSED: Final = "rejected by a person"
IN_PROMPT: Final = "repeats a memory from its prompt verbatim"


class ReconcileOutcome(StrEnum):
    """The outcome for a candidate."""

    LEARNED = "learned"
    REINFORCED = "reinforced"
    UNCHANGED = "unchanged"


class EchoPolicy(StrEnum):
    """Effect of a line that repeats a memory from the session's prompt verbatim."""

    COUNT = "count"
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateHistory:
    """What the candidate's session has done so far, and what people decided.

    `up` and `down` are the memories it has moved; `included` those that were told to
    it; `looked` whether it looked at the candidate's service itself; `settled`
    pairs of memories of which a person said that both stand; `refused` those
    that a person put aside for another one that is still believed.
    """

    up: Collection[MemoryId] = ()
    down: Collection[MemoryId] = ()
    included: Collection[MemoryId] = ()
    looked: bool = True
    echo: EchoPolicy = EchoPolicy.COUNT
    settled: Collection[frozenset[MemoryId]] = ()
    refused: Collection[MemoryId] = ()


NO_HISTORY: Final = CandidateHistory()


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What is near a candidate: related memories, and what its session and people did with them.

    `candidate` has its service as that is spelled here.
    """

    candidate: Candidate
    analysis: Analysis
    related: Sequence[tuple[Memory, RelationVerdict]]
    history: CandidateHistory


@dataclass(frozen=True, slots=True)
class Effect:
    """What a candidate does to a memory beside its target; a review asks a person about it."""

    before: Memory
    after: Memory
    kind: ReviewKind
    reason: str

    @property
    def weakens(self) -> bool:
        """Whether the memory lost confidence."""
        return self.after != self.before


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do: keep `target` as it now is, or learn the candidate where there is none.

    `revives` is the inactive memory that a learned one says again; `reason` is
    what an operator reads in the history.
    """

    outcome: ReconcileOutcome
    target: Memory | None = None
    effects: tuple[Effect, ...] = ()
    revives: MemoryId | None = None
    reason: str = ""


def reconcile(
    candidate: Candidate,
    existing: Sequence[Memory],
    relate: Relate,
    *,
    now: datetime,
    history: CandidateHistory = NO_HISTORY,
) -> Decision:
    """Decide what becomes of a candidate (SPEC-0015, Memory Reinforcement, Contradiction).

    `existing` are memories of its service and category: the active ones that may be
    related, and inactive twins. The best that says the same is reinforced, or
    the candidate is learned; every one it contradicts loses 0.2 and a person is
    asked; where it is not sure, a person is asked and nothing is lost. What a
    person decided against word for word does nothing, and two claims of one
    session are not weighed against each other.
    """
    verdicts = [(memory, relate(memory)) for memory in existing]
    refused = _find_refused(verdicts, history)
    if refused is not None:
        return Decision(ReconcileOutcome.UNCHANGED, refused, reason=REFUSED)
    active = [(memory, verdict) for memory, verdict in verdicts if memory.active]
    same = [each for each in active if each[1].relation is Relation.SAME]
    best = max(same, key=_rank, default=None)
    effects = tuple(
        _effect(memory, verdict, history)
        for memory, verdict in active
        if verdict.relation in (Relation.CONFLICTING, Relation.UNSURE)
        and not _is_own_memory(candidate, memory)
        and not (best and frozenset((best[0].id, memory.id)) in history.settled)
    )
    if best is None:
        twins = [each.id for each, verdict in verdicts if _is_twin(each, verdict)]
        return _learn(max(twins, default=None), effects)
    memory, verdict = best
    held_back = _no_reinforcement_reason(candidate, memory, verdict, history)
    if held_back:
        return Decision(ReconcileOutcome.UNCHANGED, memory, effects, reason=held_back)
    reason = IN_PROMPT if _is_echo(memory, verdict, history) else verdict.reason
    return Decision(ReconcileOutcome.REINFORCED, reinforce(memory, now=now), effects, reason=reason)


def decide(
    near: Surroundings, *, now: datetime, fading: bool
) -> tuple[Decision, list[Intent | Analysis]]:
    """Decide what becomes of a candidate, and return what that writes, in its order.

    Of the memories that change, what is due is taken first, with `fading`.
    """
    memories = [memory for memory, _ in near.related]
    verdicts = {memory.id: verdict for memory, verdict in near.related}
    due = [apply_decay(each, now=now) if fading else each for each in memories]
    decision = reconcile(
        near.candidate, due, lambda each: verdicts[each.id], now=now, history=near.history
    )
    target = decision.target if decision.outcome is ReconcileOutcome.REINFORCED else None
    moved = {each.before.id for each in decision.effects if each.weakens}
    moved |= {target.id} if target else set()
    intents: list[Intent | Analysis] = []
    if fading:
        intents += decay_changes((each for each in memories if each.id in moved), now=now)
    why = _origin(near.candidate, decision.outcome.value, decision.reason)
    if target is not None:
        intents += [MemoryChange(each, target, why) for each in due if each.id == target.id]
    elif decision.target is None:
        intents += [NewMemory(near.candidate, why), near.analysis]
    session = near.candidate.session_id
    if decision.revives is not None:
        intents.append(MemoryLink(NEW, decision.revives, REVIVES, session))
    holder = decision.target.id if decision.target else NEW
    return decision, intents + [_opening(near.candidate, each, holder) for each in decision.effects]


def verdict_on(
    text: str, analysis: Analysis, existing: Memory, cached: Analysis | None, lexicon: Lexicon
) -> RelationVerdict:
    """Return how a text relates to an existing memory; `cached` is its analysis where there is."""
    found = judge_text(text, existing.observation)
    if found is not None:
        return found
    cached = cached or analyze(existing.observation, lexicon, service=existing.service)
    return judge_words(judge(analysis, cached), text, existing.observation)


def _opening(candidate: Candidate, effect: Effect, holder: MemoryId) -> ReviewOpening:
    return ReviewOpening(
        kind=effect.kind,
        before=effect.before,
        after=effect.after,
        new_id=holder,
        text=candidate.observation,
        why=_origin(candidate, CONTRADICTED, effect.reason),
    )


def _origin(candidate: Candidate, cause: str, reason: str) -> ChangeOrigin:
    session = candidate.session_id
    actor = "operator" if session is None else "session"
    return ChangeOrigin(cause=cause, actor=actor, reason=reason, session_id=session)


def _effect(memory: Memory, verdict: RelationVerdict, history: CandidateHistory) -> Effect:
    if verdict.relation is Relation.UNSURE:
        return Effect(memory, memory, ReviewKind.POSSIBLE, verdict.reason)
    after = memory if memory.id in history.down else contradict(memory)
    return Effect(memory, after, ReviewKind.CONFLICT, verdict.reason)


def _no_reinforcement_reason(
    candidate: Candidate, best: Memory, verdict: RelationVerdict, history: CandidateHistory
) -> str | None:
    """Return why a repeated memory is not reinforced; None when it is."""
    if _is_own_memory(candidate, best):
        return OWN_MEMORY
    if best.id in history.up:
        return ALREADY_REINFORCED
    if (
        _is_echo(best, verdict, history)
        and history.echo is EchoPolicy.IGNORE
        and not history.looked
    ):
        return ECHO
    return None


def _is_own_memory(candidate: Candidate, memory: Memory) -> bool:
    """Whether the candidate comes from the session that the memory was learned from."""
    return candidate.session_id is not None and memory.session_id == candidate.session_id


def _find_refused(
    verdicts: Sequence[tuple[Memory, RelationVerdict]], history: CandidateHistory
) -> Memory | None:
    twins = [memory for memory, verdict in verdicts if verdict.word_for_word]
    if any(each.active for each in twins):
        return None
    against = [each for each in twins if each.id in history.refused]
    return max(against, key=lambda each: each.id, default=None)


def _is_echo(memory: Memory, verdict: RelationVerdict, history: CandidateHistory) -> bool:
    return memory.id in history.included and verdict.word_for_word


def _is_twin(memory: Memory, verdict: RelationVerdict) -> bool:
    return not memory.active and verdict.word_for_word


def _learn(twin: MemoryId | None, effects: tuple[Effect, ...]) -> Decision:
    reason = (
        "no similar memory" if twin is None else f"repeats memory {twin}, which had become inactive"
    )
    return Decision(ReconcileOutcome.LEARNED, effects=effects, revives=twin, reason=reason)


def _rank(each: tuple[Memory, RelationVerdict]) -> tuple[float, float, int]:
    memory, verdict = each
    return verdict.p, memory.confidence, -memory.id
