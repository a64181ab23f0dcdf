"""One step of a memory's history is reverted, regardless of later changes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confidences import DOWN, LEARNED, UP, WEEK, after
from lamplighter.domain.errors import Conflict
from lamplighter.domain.memory.decay import apply_decay
from lamplighter.domain.memory.memory import (
    ACTIVE_THRESHOLD,
    Category,
    Edit,
    InactiveReason,
    Memory,
    MemoryId,
    apply_edit,
    with_confidence,
)
from lamplighter.domain.memory.memory import reinforce as reinforced
from lamplighter.domain.memory.undo import (
    UNDONE,
    can_undo,
    step_to_undo,
    undo,
    undo_obstacle,
    undo_reason,
)
from lamplighter.domain.text import content_hash
from lamplighter.formats import serialize
from thorough import examples

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
SLOW_START = Memory(
    id=MemoryId(1),
    category=Category.TIMING,
    service="jellyfin",
    observation="Takes 60s to start",
    confidence=0.7,
    active=True,
    tier=1,
    session_id=1,
    created_at=NOON,
    updated_at=NOON,
    content_hash=content_hash("Takes 60s to start"),
)
LOW = InactiveReason.LOW
OPERATOR = InactiveReason.OPERATOR
SUPERSEDED = InactiveReason.SUPERSEDED


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A step as the history stores it."""

    id: int
    version: int
    cause: str
    reason: str = ""
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    act_id: int | None = None


class Life:
    """A memory and all its steps."""

    def __init__(self, memory: Memory = SLOW_START) -> None:
        self.memory = memory
        self.steps = [kept(1, "learned", None, memory)]
        self.now = NOON

    def then(self, cause: str, after: Memory, reason: str = "") -> Kept:
        """Change the memory."""
        after = replace(
            after, version=self.memory.version + 1, content_hash=content_hash(after.observation)
        )
        step = kept(len(self.steps) + 1, cause, self.memory, after, reason)
        self.memory = after
        self.steps.append(step)
        return step

    def edit(self, **more: Any) -> Kept:
        self.now += HOUR
        return self.then("edited", apply_edit(self.memory, Edit(**more), now=self.now))

    def reinforce(self) -> Kept:
        self.now += HOUR
        return self.then("reinforced", reinforced(self.memory, now=self.now))

    def weaken(self) -> Kept:
        lower = with_confidence(self.memory, self.memory.confidence - 0.2)
        return self.then("contradicted", lower)

    def fade(self, *, days: int = 37) -> Kept:
        self.now += days * DAY
        return self.then("faded", apply_decay(self.memory, now=self.now))

    def supersede(self) -> Kept:
        return self.then("review", replace(self.memory, active=False, inactive_reason=SUPERSEDED))

    def undo(self, step: Kept) -> Kept:
        found = undo(self.memory, step, self.later(step))
        assert found.memory.version == self.memory.version + 1
        return self.then(UNDONE, found.memory, undo_reason(step))

    def later(self, step: Kept) -> Sequence[Kept]:
        return [each for each in self.steps if each.id > step.id]

    def may_undo(self, step: Kept) -> bool:
        return can_undo(self.memory, step, self.later(step))


def kept(
    number: int, cause: str, before: Memory | None, after: Memory | None, reason: str = ""
) -> Kept:
    memory = after or before
    assert memory
    return Kept(
        id=number,
        version=memory.version,
        cause=cause,
        reason=reason,
        before=state(before),
        after=state(after),
    )


def state(memory: Memory | None) -> dict[str, Any] | None:
    names = ("observation", "confidence", "active", "category", "service", "inactive_reason")
    more = ("pinned", "trust", "decayed_weeks")
    if memory is None:
        return None
    kept = {name: getattr(memory, name) for name in (*names, *more)}
    return {**kept, "updated_at": serialize.format_moment(memory.updated_at)}


STEPS: dict[str, Callable[[Life], Kept]] = {
    "text": lambda life: life.edit(observation=f"Takes {len(life.steps)} minutes"),
    "confidence": lambda life: life.edit(confidence=0.9),
    "low": lambda life: life.edit(confidence=0.1),
    "both": lambda life: life.edit(confidence=0.5, observation="Takes an hour"),
    "category": lambda life: life.edit(category=Category.REMEDIATION),
    "general": lambda life: life.edit(service="general"),
    "caddy": lambda life: life.edit(service="caddy"),
    "pin": lambda life: life.edit(pinned=True),
    "unpin": lambda life: life.edit(pinned=False),
    "aside": lambda life: life.edit(active=False),
    "back": lambda life: life.edit(active=True),
    "reinforced": Life.reinforce,
    "contradicted": Life.weaken,
    "faded": Life.fade,
    "superseded": Life.supersede,
}
steps = st.sampled_from(sorted(STEPS))


@pytest.mark.parametrize("name", STEPS)
def test_undoing_the_newest_step_restores_the_memory(name: str) -> None:
    life = Life(replace(SLOW_START, decayed_weeks=2))
    before = life.memory
    step = STEPS[name](life)
    after = life.memory
    if step.before == step.after:
        assert not life.may_undo(step)
        return

    back = life.undo(step)

    assert replace(life.memory, version=1) == before
    life.undo(back)
    assert replace(life.memory, version=2) == after


@pytest.mark.parametrize(
    ("first", "later", "left"),
    [
        # what a later step did not touch goes back, the rest stays
        ("reinforced", ["contradicted"], {"confidence": after(DOWN), "updated_at": NOON}),
        ("contradicted", ["reinforced"], {"confidence": after(UP)}),
        (
            "contradicted",
            ["contradicted", "contradicted"],
            {"confidence": after(DOWN, DOWN), "active": True},
        ),
        ("low", ["aside"], {"confidence": LEARNED, "active": True, "inactive_reason": None}),
        ("aside", ["low"], {"confidence": 0.1, "active": False, "inactive_reason": LOW}),
        ("contradicted", ["superseded"], {"confidence": LEARNED, "inactive_reason": SUPERSEDED}),
        ("contradicted", ["aside"], {"confidence": LEARNED, "inactive_reason": OPERATOR}),
        ("both", ["text"], {"confidence": LEARNED, "observation": "Takes 2 minutes"}),
        ("both", ["reinforced"], {"confidence": after(UP), "observation": "Takes 60s to start"}),
        (
            "confidence",
            ["faded"],
            {"confidence": after(WEEK), "decayed_weeks": 1, "updated_at": NOON},
        ),
        ("reinforced", ["reinforced"], {"confidence": after(UP), "updated_at": NOON + 2 * HOUR}),
        ("reinforced", ["confidence", "low"], {"confidence": 0.0, "inactive_reason": LOW}),
        ("general", ["caddy", "pin"], None),
        ("text", ["text"], None),
        ("superseded", ["back", "aside"], None),
        ("pin", ["unpin"], None),
    ],
    ids=str,
)
def test_an_undo_preserves_fields_changed_by_later_steps(
    first: str, later: list[str], left: dict[str, Any] | None
) -> None:
    life = Life()
    step = STEPS[first](life)
    for name in later:
        STEPS[name](life)

    if left is None:
        assert not life.may_undo(step)
    else:
        life.undo(step)
        assert {name: getattr(life.memory, name) for name in left} == left


def test_the_step_that_blocks_an_undo_is_reported() -> None:
    life = Life()
    step = STEPS["text"](life)
    STEPS["pin"](life)
    again = STEPS["text"](life)
    STEPS["pin"](life)

    found = undo(life.memory, step, life.later(step))

    assert (found.memory, found.left) == (life.memory, ("observation",))
    words = undo_obstacle(found.left, life.later(step))
    assert words == f"The text was changed again after this step: edited, version {again.version}."
    assert "changed again after" in undo_obstacle(found.left, [])
    assert "already reverted" in undo_obstacle([], life.later(step))


def test_undoing_the_creation_deactivates_a_memory() -> None:
    life = Life()

    back = life.undo(life.steps[0])

    assert (life.memory.active, life.memory.inactive_reason) == (False, OPERATOR)
    life.undo(back)
    assert replace(life.memory, version=1) == SLOW_START
    STEPS["low"](life)
    assert not life.may_undo(life.steps[0])


def test_a_step_is_undone_once_and_then_its_undo() -> None:
    life = Life()
    step = STEPS["contradicted"](life)
    assert step_to_undo(step, life.later(step)) is step

    first = life.undo(step)
    with pytest.raises(Conflict, match="already undone in version 3"):
        life.undo(step)
    assert step_to_undo(step, life.later(step)) is None
    again = life.undo(first)
    assert step_to_undo(step, life.later(step)) is again
    second = life.undo(again)

    assert life.memory.confidence == 0.7
    assert [life.may_undo(each) for each in (step, first, again, second)] == [False] * 3 + [True]
    assert step_to_undo(step, life.later(step)) is None


def test_only_an_undo_entry_counts_as_an_undo() -> None:
    life = Life()
    step = STEPS["contradicted"](life)
    life.then("edited", replace(life.memory, pinned=True), undo_reason(step))

    assert life.may_undo(step)


def test_an_unchanged_text_leaves_the_time_of_confirmation() -> None:
    life = Life()
    step = STEPS["text"](life)
    life.now -= HOUR  # both within one tick of the clock
    STEPS["text"](life)

    found = undo(life.memory, step, life.later(step))

    assert found.memory == life.memory


def test_a_manually_written_confidence_is_restored() -> None:
    life = Life(replace(SLOW_START, confidence=0.755))
    step = STEPS["confidence"](life)

    life.undo(step)

    assert life.memory.confidence == 0.755


def test_a_deletion_or_a_missing_memory_cannot_be_undone() -> None:
    life = Life()
    deleted = kept(2, "deleted", life.memory, None)

    with pytest.raises(Conflict, match="from the trash"):
        undo(life.memory, deleted, [])
    assert not can_undo(None, life.steps[0], [])


@pytest.mark.parametrize(
    ("before", "active", "reason"), [(0.5, True, None), (0.2, False, LOW), (0.9, False, OPERATOR)]
)
def test_an_older_entry_with_fewer_fields_restores_only_those(
    before: float, active: bool, reason: InactiveReason | None
) -> None:
    old = {"observation": "Takes 9s", "confidence": before, "active": active}
    new = {"observation": SLOW_START.observation, "confidence": 0.7, "active": True}
    step = Kept(id=1, version=1, cause="edited", before=old, after=new)

    memory = undo(SLOW_START, step, []).memory

    assert memory == replace(
        SLOW_START,
        observation="Takes 9s",
        content_hash=content_hash("Takes 9s"),
        confidence=before,
        active=active,
        inactive_reason=reason,
        version=2,
    )


@settings(max_examples=examples(1_000), deadline=None)
@given(st.lists(steps, max_size=8), st.lists(st.integers(0, 30), max_size=8))
def test_undoing_steps_in_any_order_leaves_a_valid_memory(
    names: list[str], order: list[int]
) -> None:
    life = Life()
    for name in names:
        STEPS[name](life)
    for number in order:
        step = life.steps[number % len(life.steps)]
        if life.may_undo(step):
            life.undo(step)
        keeps_the_rules(life.memory)


@settings(max_examples=examples(1_000), deadline=None)
@given(st.lists(steps, min_size=1, max_size=8))
def test_undoing_all_steps_from_the_newest_restores_the_learned_memory(names: list[str]) -> None:
    life = Life()
    made = [STEPS[name](life) for name in names]

    for step in reversed(made):
        if life.may_undo(step):
            life.undo(step)

    assert replace(life.memory, version=1) == SLOW_START


@settings(max_examples=examples(1_000), deadline=None)
@given(st.lists(steps, max_size=6), steps, st.lists(steps, max_size=3))
def test_an_undo_and_its_immediate_undo_change_nothing(
    names: list[str], name: str, later: list[str]
) -> None:
    life = Life()
    for each in names:
        STEPS[each](life)
    step = STEPS[name](life)
    for each in later:
        STEPS[each](life)
    before = life.memory
    if life.may_undo(step):
        life.undo(life.undo(step))

    assert replace(life.memory, version=0) == replace(before, version=0)


def keeps_the_rules(memory: Memory) -> None:
    assert 0 <= memory.confidence <= 1
    assert memory.confidence == round(memory.confidence, 2)
    assert memory.decayed_weeks >= 0
    low = memory.confidence < ACTIVE_THRESHOLD
    if memory.active:
        assert (low, memory.inactive_reason) == (False, None)
    else:
        assert memory.inactive_reason in ((LOW, OPERATOR, SUPERSEDED) if low else OTHERS)


OTHERS = (OPERATOR, SUPERSEDED)
