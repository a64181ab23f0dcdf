"""Reconcile a new observation with existing memories."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, Protocol

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
STATED: Final = "related to a marker of this session"
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
    """Earlier effects of the candidate's session, and decisions of people.

    `up` and `down` are the memories that the session reinforced and weakened; `included` those in
    its prompt; `looked` is whether the session checked the candidate's service itself; `settled`
    are pairs of memories of which a person decided that both are true; `refused` those that a
    person superseded by another memory that is still active. `closing` is whether the candidate is
    an entry of the session's closing report.
    """

    up: Collection[MemoryId] = ()
    down: Collection[MemoryId] = ()
    included: Collection[MemoryId] = ()
    looked: bool = True
    echo: EchoPolicy = EchoPolicy.COUNT
    settled: Collection[frozenset[MemoryId]] = ()
    refused: Collection[MemoryId] = ()
    closing: bool = False


NO_HISTORY: Final = CandidateHistory()


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The context of a candidate: related memories, and how its session and people treated them.

    The service of `candidate` has its declared spelling.
    """

    candidate: Candidate
    analysis: Analysis
    related: Sequence[tuple[Memory, RelationVerdict]]
    history: CandidateHistory


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of a candidate on a memory other than its target; opens a review for a person."""

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
    """The decision: store `target` as changed, or learn the candidate if there is no target.

    `revives` is the inactive memory that a learned one repeats; `reason` is the reason in the
    history, for an operator.
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
    """Decide the outcome for a candidate (SPEC-0015, Memory Reinforcement, Contradiction).

    `existing` are memories of its service and category: the active ones that may be related, and
    inactive twins. The best match of the same claim is reinforced, or the candidate is learned.
    Every memory it contradicts loses 0.2 and a review opens; an unsure relation opens a review and
    costs nothing. A claim that a person rejected has no effect if repeated verbatim, and two claims
    of one session are not compared, except that a closing report adds only what is unrelated.
    """
    verdicts = [(memory, relate(memory)) for memory in existing]
    refused = _find_refused(verdicts, history)
    if refused is not None:
        return Decision(ReconcileOutcome.UNCHANGED, refused, reason=REFUSED)
    active = [(memory, verdict) for memory, verdict in verdicts if memory.active]
    stated = _find_stated(candidate, active, history)
    if stated is not None:
        return Decision(ReconcileOutcome.UNCHANGED, stated, reason=STATED)
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
    """Decide the outcome for a candidate, and return the intents to store, in order.

    With `fading`, decay that is due is applied to the changed memories first.
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


class ComparedText(Protocol):
    """An existing memory, or its row: what a text is compared with."""

    @property
    def observation(self) -> str:
        """The text."""

    @property
    def service(self) -> str | None:
        """The service that it is about."""


def verdict_on(
    text: str, analysis: Analysis, existing: ComparedText, cached: Analysis | None, lexicon: Lexicon
) -> RelationVerdict:
    """Return how a text relates to an existing memory; `cached` is the memory's analysis."""
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
    """Return why a repeated memory is not reinforced; None if it is."""
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


def _find_stated(
    candidate: Candidate,
    active: Sequence[tuple[Memory, RelationVerdict]],
    history: CandidateHistory,
) -> Memory | None:
    """Return the memory of the session's markers that an entry of its report is related to."""
    if not history.closing:
        return None
    stated = [
        each
        for each in active
        if each[1].relation is not Relation.UNRELATED
        and (_is_own_memory(candidate, each[0]) or each[0].id in history.up)
    ]
    return max(stated, key=_rank)[0] if stated else None


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
