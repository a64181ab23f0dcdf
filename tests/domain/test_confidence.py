"""A confidence is always a whole number of hundredths, after any change; 0.30 remains."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from lamplighter.domain.memory.decay import apply_decay
from lamplighter.domain.memory.memory import (
    Category,
    Edit,
    InactiveReason,
    Memory,
    MemoryId,
    apply_edit,
    contradict,
    reinforce,
)
from thorough import examples

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
HELD = Memory(
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
)
STEPS = st.one_of(
    st.just(("said again", 0)),
    st.just(("contradicted", 0)),
    st.tuples(st.just("days go by"), st.integers(0, 90)),
    st.tuples(st.just("set"), st.integers(-50, 150)),
)


class Told:
    """The rule again, in whole hundredths and days, as the specification states it."""

    def __init__(self, cents: int) -> None:
        self.cents, self.active, self.day, self.confirmed, self.weeks = cents, cents >= 30, 0, 0, 0

    def becomes(self, cents: int) -> None:
        self.cents = min(100, max(0, cents))
        self.active = self.active and self.cents >= 30

    def confirm(self) -> None:
        self.confirmed, self.weeks = self.day, 0

    def fade(self) -> None:
        due = max(0, (self.day - self.confirmed - 30) // 7 - self.weeks)
        self.weeks += due
        self.becomes(self.cents - 10 * due)

    def step(self, what: str, number: int) -> None:
        self.day += number if what == "days go by" else 0
        self.fade()
        if what == "said again" and self.active:
            self.becomes(self.cents + 10)
            self.confirm()
        if what == "contradicted" and self.active:
            self.becomes(self.cents - 20)
        if what == "set":
            self.active = True
            self.becomes(number)
            self.confirm()


def stepped(memory: Memory, what: str, number: int, *, now: datetime) -> Memory:
    memory = apply_decay(memory, now=now)
    if what == "said again" and memory.active:
        return reinforce(memory, now=now)
    if what == "contradicted" and memory.active:
        return contradict(memory)
    if what == "set":
        return apply_edit(memory, Edit(confidence=number / 100), now=now)
    return memory


@settings(max_examples=examples(1_000))
@given(start=st.integers(30, 100), steps=st.lists(STEPS, max_size=30))
def test_any_sequence_of_changes_equals_integer_arithmetic(
    start: int, steps: list[tuple[str, int]]
) -> None:
    memory, told = replace(HELD, confidence=start / 100), Told(start)

    for what, number in steps:
        told.step(what, number)
        memory = stepped(memory, what, number, now=NOON + told.day * DAY)

        assert memory.confidence == told.cents / 100
        assert memory.active == told.active == (memory.inactive_reason is None)
        assert memory.inactive_reason in (None, InactiveReason.LOW)
        assert (memory.updated_at, memory.decayed_weeks) == (
            NOON + told.confirmed * DAY,
            told.weeks,
        )


@given(cents=st.integers(0, 100))
def test_a_confidence_of_0_30_or_more_is_active(cents: int) -> None:
    memory = apply_edit(replace(HELD, confidence=0.99), Edit(confidence=cents / 100), now=NOON)

    assert (memory.confidence, memory.active) == (cents / 100, cents >= 30)
    assert f"{memory.confidence:.2f}" == f"{cents // 100}.{cents % 100:02}"
