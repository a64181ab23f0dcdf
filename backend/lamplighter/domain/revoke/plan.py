"""The plan of a revocation: the memories that it removes, restores and keeps."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from lamplighter.domain.errors import Conflict
from lamplighter.domain.memory.decay import apply_decay
from lamplighter.domain.memory.intents import CONTRADICTED, HistoryRecord
from lamplighter.domain.memory.memory import HISTORY_FIELDS, Memory, MemoryId
from lamplighter.domain.memory.undo import find_undo, undo
from lamplighter.domain.revoke.replay import (
    REINFORCED,
    REVOKED,
    Replay,
    ReplayRules,
    TrailStep,
    is_decision,
)
from lamplighter.domain.text import content_hash

REVIEWED: Final = "review"
Steps = Sequence[HistoryRecord]


@dataclass(frozen=True, slots=True)
class Heir:
    """The memory of another session that later reported the claim of a removed memory."""

    replaces: MemoryId
    memory: Memory
    trail: tuple[TrailStep, ...]


@dataclass(frozen=True, slots=True)
class KeptDecision:
    """An operator's decision that a revocation keeps: the memory, the cause and the version."""

    memory: Memory
    cause: str
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RevocationPlan:
    """The effect of a revocation; `counts` are the reverted steps by kind."""

    removed: tuple[Memory, ...] = ()
    changed: tuple[tuple[Memory, Memory], ...] = ()
    heirs: tuple[Heir, ...] = ()
    decisions: tuple[KeptDecision, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to revoke."""
        return not (self.removed or self.changed or self.heirs)


def plan_revocation(
    steps: Steps,
    revoked: Collection[int],
    rules: ReplayRules,
    *,
    earlier: Collection[int] = (),
    now: datetime,
) -> RevocationPlan:
    """Compare the memories with their state without the revoked steps.

    `earlier` are the steps that earlier revocations reverted. If the recorded steps of a memory do
    not explain its current state, its revoked steps are undone one by one.
    """
    steps = sorted(steps, key=lambda each: each.id)
    mine = _by_memory(steps)
    before = _skipped(mine, {*earlier, *(each.id for each in steps if each.cause == REVOKED)})
    revoked = {each.id for each in steps if each.id in revoked} - before
    reviewed = {
        each.memory_id
        for each in steps
        if each.id in revoked and each.before is None and each.memory_id in rules.chosen
    }
    births = {each.id for each in steps if each.before is None and each.memory_id in reviewed}
    whole = Replay(rules, before).run(steps)
    part = Replay(rules, before | _skipped(mine, revoked - births)).run(steps)
    removed, changed = [], []
    for number, memory in rules.existing.items():
        held, then = whole.memories.get(number), part.memories.get(number)
        if held is not None and not _is_same(held, memory, now):
            then = _undo_steps(memory, mine[number], revoked - births)
        elif held == then:
            continue
        if then is None:
            removed.append(memory)
        elif not _is_same(then, memory, now):
            changed.append((memory, _with_values(memory, apply_decay(then, now=now))))
    return RevocationPlan(
        removed=tuple(removed),
        changed=tuple(changed),
        heirs=_heirs(part, {each.id for each in removed}),
        decisions=_later_decisions(mine, revoked, part, rules, reviewed),
        counts=_counts(steps, revoked - births),
    )


def _by_memory(steps: Steps) -> dict[MemoryId, list[HistoryRecord]]:
    found: dict[MemoryId, list[HistoryRecord]] = defaultdict(list)
    for step in steps:
        found[step.memory_id].append(step)
    return found


def _skipped(
    mine: Mapping[MemoryId, Sequence[HistoryRecord]], revoked: Collection[int]
) -> set[int]:
    """Return the steps to skip, with their undos and the undos of those."""
    step_ids = set(revoked)
    for steps in mine.values():
        for at, step in enumerate(steps):
            undone = find_undo(step, steps[at + 1 :]) if step.id in step_ids else None
            if undone is not None:
                step_ids.add(undone.id)
    return step_ids


def _undo_steps(memory: Memory, steps: Steps, revoked: Collection[int]) -> Memory | None:
    for at in range(len(steps) - 1, -1, -1):
        step = steps[at]
        if step.id not in revoked or step.after is None:
            continue
        if step.before is None:
            return None
        try:
            memory = undo(memory, step, steps[at + 1 :]).memory
        except Conflict:
            continue
    return memory


def _is_same(one: Memory, other: Memory, now: datetime) -> bool:
    one, other = (apply_decay(each, now=now) for each in (one, other))
    return all(getattr(one, name) == getattr(other, name) for name in HISTORY_FIELDS)


def _with_values(memory: Memory, then: Memory) -> Memory:
    values = {name: getattr(then, name) for name in HISTORY_FIELDS}
    text = content_hash(then.observation)
    return replace(memory, **values, content_hash=text, version=memory.version + 1)


def _heirs(part: Replay, removed: Collection[MemoryId]) -> tuple[Heir, ...]:
    """Return the new memories that replace removed ones."""
    origin = {heir: number for number, heir in part.heirs.items() if heir < 0}
    return tuple(
        Heir(origin[number], memory, tuple(part.trails[number]))
        for number, memory in part.memories.items()
        if number in origin and (memory.active or origin[number] in removed)
    )


def _later_decisions(
    mine: Mapping[MemoryId, Sequence[HistoryRecord]],
    revoked: Collection[int],
    part: Replay,
    rules: ReplayRules,
    reviewed: Collection[MemoryId],
) -> tuple[KeptDecision, ...]:
    decisions = []
    for number, memory in rules.existing.items():
        steps = mine.get(number, [])
        taken = [each for each in steps if each.id in revoked]
        if not taken:
            continue
        decided = part.retained.get(number) or _later_decision(steps, taken)
        if decided is not None:
            decisions.append(KeptDecision(memory, decided.cause, decided.version))
        elif number in reviewed:
            decisions.append(KeptDecision(memory, REVIEWED, memory.version))
    return tuple(decisions)


def _later_decision(steps: Steps, taken: Steps) -> HistoryRecord | None:
    """Return the last decision of an operator about a field that a revoked step changed."""
    fields = {name for each in taken for name in _changed(each)}
    later = [each for each in steps if each.id > taken[0].id and is_decision(each)]
    return next((each for each in reversed(later) if _changed(each) & fields), None)


def _changed(step: HistoryRecord) -> set[str]:
    before, after = step.before or {}, step.after or {}
    return {
        name
        for name in HISTORY_FIELDS
        if name in after and name in before and before[name] != after[name]
    } - {"updated_at", "decayed_weeks"}


def _counts(steps: Steps, revoked: Collection[int]) -> dict[str, int]:
    names = {REINFORCED: "reinforced", CONTRADICTED: "contradicted"}
    found = Counter(
        "learned" if each.before is None else names.get(each.cause, "changed")
        for each in steps
        if each.id in revoked and each.after is not None
    )
    return {name: found[name] for name in ("learned", "reinforced", "contradicted", "changed")}
