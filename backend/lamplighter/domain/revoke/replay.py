"""Replay: the memories by their recorded steps, without the steps of a source."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from lamplighter.domain.memory.decay import apply_decay
from lamplighter.domain.memory.intents import CONTRADICTED, HistoryRecord
from lamplighter.domain.memory.memory import (
    INITIAL_CONFIDENCE,
    OPERATIONAL,
    RESTORED,
    Candidate,
    Memory,
    MemoryId,
    contradict,
)
from lamplighter.domain.memory.undo import FADED, UNDONE, follow, with_state
from lamplighter.domain.relate import RelationVerdict
from lamplighter.domain.relate.reconcile import CandidateHistory, ReconcileOutcome, reconcile
from lamplighter.domain.text import comparison_key

REVOKED: Final = "revoked"
LEARNED: Final = "learned"
REINFORCED: Final = "reinforced"
OPERATOR: Final = "operator"
Compare = Callable[[Memory, Memory], RelationVerdict]
"""Judges how the claim of the first memory relates to the second one."""


@dataclass(frozen=True, slots=True)
class TrailStep:
    """One step in the history that a memory would have had."""

    before: Memory | None
    after: Memory
    cause: str
    session_id: int | None
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRules:
    """The input of a replay beyond the steps.

    `existing` are the current memories, `settled` pairs that a person judged compatible, `chosen`
    memories that a person decided for in a review.
    """

    existing: Mapping[MemoryId, Memory]
    compare: Compare
    settled: Collection[frozenset[MemoryId]] = ()
    chosen: Collection[MemoryId] = ()


@dataclass(slots=True)
class Replay:
    """Memories by the recorded steps, some of them skipped.

    A memory that was learned by a skipped step, and reported by another session, is learned by that
    session: such an heir has a negative number. `retained` are operator's steps that keep a memory
    which would otherwise be removed.
    """

    rules: ReplayRules
    skipped: Collection[int] = ()
    memories: dict[MemoryId, Memory] = field(default_factory=dict)
    trails: dict[MemoryId, list[TrailStep]] = field(default_factory=dict)
    heirs: dict[MemoryId, MemoryId] = field(default_factory=dict)
    retained: dict[MemoryId, HistoryRecord] = field(default_factory=dict)
    _groups: dict[tuple[str | None, str], set[MemoryId]] = field(
        default_factory=lambda: defaultdict(set)
    )
    _up: dict[int, set[MemoryId]] = field(default_factory=lambda: defaultdict(set))
    _down: dict[int, set[MemoryId]] = field(default_factory=lambda: defaultdict(set))

    def run(self, steps: Iterable[HistoryRecord]) -> "Replay":
        """Apply all steps in order."""
        seen = set[MemoryId]()
        for step in steps:
            if step.memory_id not in self.rules.existing:
                continue
            if step.memory_id not in seen:
                seen.add(step.memory_id)
                self._adopt(step)
            if step.id not in self.skipped:
                self._follow(step)
        return self

    def _adopt(self, first: HistoryRecord) -> None:
        """Begin with a memory whose creation is not recorded: another program inserted its row."""
        if first.before is not None:
            existing = self.rules.existing[first.memory_id]
            self._set(first.memory_id, with_state(existing, first.before))

    def _follow(self, step: HistoryRecord) -> None:
        if step.after is None:
            return  # a restore from the trash does not change the memory
        number = self._holder(step.memory_id)
        if number in self.memories:
            self._set(number, apply_decay(self.memories[number], now=step.at))
        if step.before is None:
            self._begin(step)
        elif step.cause == REINFORCED:
            self._report(step)
        elif step.cause == CONTRADICTED:
            self._contradict(number, step)
        elif step.cause != FADED:
            self._change(number, step)

    def _begin(self, step: HistoryRecord) -> None:
        assert step.after is not None
        memory = with_state(self.rules.existing[step.memory_id], step.after)
        if step.cause == LEARNED and memory.category in OPERATIONAL:
            self._report(step)
        elif step.cause != RESTORED:
            self._set(step.memory_id, memory, step)

    def _report(self, step: HistoryRecord) -> None:
        """Reconcile a report again, with the memories of the replay."""
        assert step.after is not None
        claim = with_state(self.rules.existing[step.memory_id], step.after)
        near = self._near(claim, step.at)
        candidate = Candidate(
            category=claim.category,
            service=claim.service,
            observation=claim.observation,
            tier=claim.tier,
            session_id=step.session_id,
        )
        decision = reconcile(
            candidate,
            near,
            lambda each: self.rules.compare(claim, each),
            now=step.at,
            history=self._history(step.session_id),
        )
        if decision.target is None:
            self._learn(claim, step)
        elif decision.outcome is ReconcileOutcome.REINFORCED:
            self._set(decision.target.id, decision.target, step)
            self._note(self._up, step.session_id, decision.target.id)
        if decision.target is not None and decision.target.id != step.memory_id:
            self.heirs[step.memory_id] = decision.target.id
        for effect in decision.effects:
            if effect.weakens:
                self._set(effect.before.id, effect.after, step, CONTRADICTED)
                self._note(self._down, step.session_id, effect.before.id)

    def _learn(self, claim: Memory, step: HistoryRecord) -> None:
        if step.before is None:
            self._set(step.memory_id, claim, step)
            return
        number = MemoryId(-step.id)
        self.heirs[step.memory_id] = number
        memory = replace(
            claim,
            id=number,
            session_id=step.session_id,
            confidence=INITIAL_CONFIDENCE,
            active=True,
            inactive_reason=None,
            created_at=step.at,
            updated_at=step.at,
            decayed_weeks=0,
        )
        self._set(number, memory, step, LEARNED)

    def _near(self, claim: Memory, at: datetime) -> list[Memory]:
        key = comparison_key(claim.observation)
        numbers = sorted(self._groups[claim.service, claim.category])
        found = (apply_decay(self.memories[each], now=at) for each in numbers)
        return [each for each in found if each.active or comparison_key(each.observation) == key]

    def _history(self, session: int | None) -> CandidateHistory:
        if session is None:
            return CandidateHistory(settled=self.rules.settled)
        return CandidateHistory(
            up=self._up[session], down=self._down[session], settled=self.rules.settled
        )

    def _contradict(self, number: MemoryId, step: HistoryRecord) -> None:
        """Weaken a memory, unless the report of the same session already did."""
        memory = self.memories.get(number)
        session = step.session_id
        if memory is None or not memory.active:
            return
        if session is not None and (number in self._down[session] or memory.session_id == session):
            return  # reports of one session are not weighed against each other
        self._set(number, contradict(memory), step)
        self._note(self._down, session, number)

    def _change(self, number: MemoryId, step: HistoryRecord) -> None:
        memory = self.memories.get(number)
        if memory is not None:
            self._set(number, follow(memory, step), step)
        elif is_decision(step):
            assert step.after is not None
            existing = self.rules.existing[step.memory_id]
            self._set(step.memory_id, with_state(existing, step.after), step)
            self.retained[step.memory_id] = step

    def _holder(self, number: MemoryId) -> MemoryId:
        """Return the memory that now contains the claim of another one."""
        seen = set[MemoryId]()
        while number not in self.memories and number in self.heirs and number not in seen:
            seen.add(number)
            number = self.heirs[number]
        return number

    def _set(
        self, number: MemoryId, memory: Memory, step: HistoryRecord | None = None, cause: str = ""
    ) -> None:
        before = self.memories.get(number)
        self.memories[number] = memory
        if before is not None:
            self._groups[before.service, before.category].discard(number)
        self._groups[memory.service, memory.category].add(number)
        if number < 0 and step is not None:
            trail = self.trails.setdefault(number, [])
            last = trail[-1].after if trail else before
            trail.append(TrailStep(last, memory, cause or step.cause, step.session_id, step.at))

    @staticmethod
    def _note(moved: dict[int, set[MemoryId]], session: int | None, number: MemoryId) -> None:
        if session is not None:
            moved[session].add(number)


def is_decision(step: HistoryRecord) -> bool:
    """Whether a step is a decision of an operator about a memory, and not an undo."""
    automatic = (UNDONE, FADED, REVOKED, REINFORCED, CONTRADICTED)
    return (
        step.actor == OPERATOR
        and step.before is not None
        and step.cause not in automatic
        and not step.reason.startswith("undoes ")
    )
