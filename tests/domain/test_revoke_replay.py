"""Revoke: the memories become what they would be if the source had never reported."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from lamplighter.domain.memory.decay import apply_decay
from lamplighter.domain.memory.intents import (
    ChangeOrigin,
    MemoryChange,
    NewMemory,
    ReviewOpening,
)
from lamplighter.domain.memory.memory import (
    HISTORY_FIELDS,
    Candidate,
    Category,
    Edit,
    Memory,
    MemoryId,
    apply_edit,
    new_memory,
)
from lamplighter.domain.relate import RelationVerdict, analyze, builtin_lexicon, relate
from lamplighter.domain.relate.reconcile import CandidateHistory, Surroundings, decide
from lamplighter.domain.revoke.plan import RevocationPlan, plan_revocation
from lamplighter.domain.revoke.replay import ReplayRules
from thorough import examples

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
CLAIMS = (
    "Takes 30s to start",
    "Takes 60s to start",
    "Takes 120s to start",
    "Depends on postgres",
)
REVOKED = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One entry of the history."""

    id: int
    memory_id: MemoryId
    version: int
    at: datetime
    actor: str
    session_id: int | None
    cause: str
    reason: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    act_id: int | None = None


@dataclass(slots=True)
class World:
    """Memories and their history, as sessions report."""

    memories: dict[MemoryId, Memory] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    up: set[tuple[int, MemoryId]] = field(default_factory=set)
    down: set[tuple[int, MemoryId]] = field(default_factory=set)

    def report(self, session: int, text: str, now: datetime) -> None:
        candidate = Candidate(
            category=Category.TIMING,
            service="jellyfin",
            observation=text,
            tier=1,
            session_id=session,
        )
        related = [
            (each, judged(text, each.observation))
            for each in self.memories.values()
            if each.active or each.observation == text
        ]
        history = CandidateHistory(
            up={number for by, number in self.up if by == session},
            down={number for by, number in self.down if by == session},
        )
        near = Surroundings(
            candidate=candidate,
            analysis=analyze(text, builtin_lexicon(), service="jellyfin"),
            related=related,
            history=history,
        )
        for intent in decide(near, now=now, fading=True)[1]:
            match intent:
                case MemoryChange(before, Memory() as after, why):
                    self.put(before, after, why, now)
                case NewMemory(candidate, why):
                    number = MemoryId(len(self.memories) + 1)
                    self.put(None, replace(new_memory(candidate, now=now), id=number), why, now)
                case ReviewOpening() if intent.after != intent.before:
                    self.put(intent.before, intent.after, intent.why, now)

    def edit(self, number: MemoryId, edit: Edit, now: datetime) -> None:
        before = self.memories[number]
        after = apply_edit(before, edit, now=now)
        self.put(before, after, ChangeOrigin(cause="edited", actor="operator"), now)

    def put(self, before: Memory | None, after: Memory, why: ChangeOrigin, now: datetime) -> None:
        self.memories[after.id] = after
        moved = {"reinforced": self.up, "contradicted": self.down}.get(why.cause)
        if moved is not None and why.session_id is not None:
            moved.add((why.session_id, after.id))
        self.steps.append(
            Step(
                id=len(self.steps) + 1,
                memory_id=after.id,
                version=after.version,
                at=now,
                actor=why.actor,
                session_id=why.session_id,
                cause=why.cause,
                reason=why.reason,
                before=None if before is None else state(before),
                after=state(after),
            )
        )


def state(memory: Memory) -> dict[str, Any]:
    found = {name: getattr(memory, name) for name in HISTORY_FIELDS}
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in found.items()
    }


@cache
def judged(new: str, existing: str) -> RelationVerdict:
    return relate(new, existing, service="jellyfin")


def plan(world: World, session: int, now: datetime) -> RevocationPlan:
    rules = ReplayRules(
        existing=world.memories, compare=lambda one, two: judged(one.observation, two.observation)
    )
    revoked = {each.id for each in world.steps if each.session_id == session}
    return plan_revocation(world.steps, revoked, rules, now=now)


def without(world: World, session: int, now: datetime) -> list[Any]:
    """Return the claims in effect after a session was revoked."""
    found = plan(world, session, now)
    gone = {each.id for each in found.removed}
    kept = {number: each for number, each in world.memories.items() if number not in gone}
    kept |= {after.id: after for _, after in found.changed}
    return in_effect([*kept.values(), *(each.memory for each in found.heirs)], now)


def in_effect(memories: Iterable[Memory], now: datetime) -> list[Any]:
    due = (apply_decay(each, now=now) for each in memories)
    return sorted(
        (each.observation, each.confidence, each.session_id, each.updated_at, each.decayed_weeks)
        for each in due
        if each.active
    )


Report = tuple[int, str, int]


def taught(reports: Sequence[Report]) -> tuple[World, datetime]:
    world, now = World(), NOON
    for session, text, days in reports:
        now += timedelta(days=days, minutes=1)
        world.report(session, text, now)
    return world, now


REPORTS = st.lists(
    st.tuples(st.integers(1, 4), st.sampled_from(CLAIMS), st.integers(0, 45)),
    max_size=14,
    unique_by=lambda each: (each[0], each[1]),
)


@given(REPORTS)
@settings(max_examples=examples(300), deadline=None)
def test_revoking_a_session_equals_all_other_reports_without_it(reports: list[Report]) -> None:
    world, now = taught(reports)
    minutes = timedelta(minutes=1)
    clock, other = NOON, World()
    for session, text, days in reports:
        clock += timedelta(days=days) + minutes
        if session != REVOKED:
            other.report(session, text, clock)

    assert without(world, REVOKED, now) == in_effect(other.memories.values(), now)
