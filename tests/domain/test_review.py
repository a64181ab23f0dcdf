"""The effects of a person's decision on two claims."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.memory.memory import (
    Category,
    InactiveReason,
    Memory,
    MemoryId,
    with_confidence,
)
from lamplighter.domain.memory.review import (
    Resolution,
    Review,
    ReviewAnswer,
    ReviewKind,
    ReviewState,
    resolve_review,
    validate_review_answer,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)
OLD = Memory(
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
NEW = replace(OLD, id=MemoryId(2), observation="Takes 5s to start", confidence=0.8)
ASIDE = InactiveReason.SUPERSEDED
CASE = Review(
    id=9,
    kind=ReviewKind.CONFLICT,
    state=ReviewState.OPEN,
    old_id=OLD.id,
    new_id=NEW.id,
    service="jellyfin",
    category=Category.TIMING,
    reason="60s is not 5s",
    observation="Takes 5s to start",
    session_id=2,
    resolution=None,
    resolved_by=None,
    resolved_at=None,
    created_at=NOON,
    version=1,
)
ANSWERS = {
    Resolution.KEEP_OLD: {},
    Resolution.KEEP_NEW: {},
    Resolution.BOTH: {"old_scope": "cold", "new_scope": "warm"},
    Resolution.MERGE: {"observation": "Takes 5s to 60s"},
    Resolution.DISMISS: {},
}
answers = st.sampled_from([ReviewAnswer(resolution=each, **more) for each, more in ANSWERS.items()])


def answered(resolution: Resolution, **more: str) -> list[tuple[Memory, str]]:
    """Return the resulting two memories, and the reason."""
    answer = ReviewAnswer(resolution=resolution, **(more or ANSWERS[resolution]))
    assert validate_review_answer(answer) == []
    return [
        (move.after, move.reason)
        for move in resolve_review(CASE, answer, OLD, NEW, now=LATER).moves
    ]


def test_the_rejected_memory_is_superseded() -> None:
    aside = {"active": False, "inactive_reason": ASIDE, "version": 2}

    assert answered(Resolution.KEEP_OLD) == [
        (replace(NEW, **aside), "review 9: superseded by memory 1")
    ]
    assert answered(Resolution.KEEP_NEW) == [
        (replace(OLD, **aside), "review 9: superseded by memory 2")
    ]


def test_resolving_as_both_adds_a_scope_to_each_memory() -> None:
    cold = replace(OLD, observation="Takes 60s to start (cold)", updated_at=LATER, version=2)
    warm = replace(NEW, observation="Takes 5s to start (warm)", updated_at=LATER, version=2)

    assert answered(Resolution.BOTH) == [
        (cold, "review 9: both are true; scope: cold"),
        (warm, "review 9: both are true; scope: warm"),
    ]
    [(only, _)] = answered(Resolution.BOTH, new_scope="warm")
    assert only == warm


def test_a_merge_has_the_higher_confidence_of_both_memories() -> None:
    [(merged, why), (other, _)] = answered(Resolution.MERGE)

    words = {"observation": "Takes 5s to 60s", "confidence": 0.8, "updated_at": LATER}
    assert (merged, why) == (replace(OLD, **words, version=2), "review 9: merged with memory 2")
    assert (other.id, other.active, other.inactive_reason) == (NEW.id, False, ASIDE)


def test_a_merge_has_the_tags_of_both_memories_and_no_more_than_a_memory_may_have() -> None:
    old, new = (
        replace(each, tags=tuple(f"{each.id}-{n}" for n in range(15))) for each in (OLD, NEW)
    )
    answer = ReviewAnswer(resolution=Resolution.MERGE, observation="Takes a while")

    merged = resolve_review(CASE, answer, old, new, now=LATER).moves[0].after

    assert merged.tags == (*old.tags, *new.tags[:5])


def test_a_merge_into_a_superseded_memory_reactivates_it() -> None:
    aside = replace(OLD, active=False, inactive_reason=ASIDE)
    answer = ReviewAnswer(resolution=Resolution.MERGE, observation="Takes a while")

    merged = resolve_review(CASE, answer, aside, NEW, now=LATER).moves[0].after

    assert (merged.active, merged.inactive_reason) == (True, None)


@pytest.mark.parametrize("reason", list(InactiveReason))
@pytest.mark.parametrize(("confidence", "then"), [(0.1, 0.3), (0.7, 0.7)])
def test_a_kept_memory_is_reactivated_unless_deactivated_for_another_reason(
    reason: InactiveReason, confidence: float, then: float
) -> None:
    off = replace(NEW, active=False, inactive_reason=reason, confidence=confidence)
    answer = ReviewAnswer(resolution=Resolution.KEEP_NEW)

    moves = resolve_review(CASE, answer, OLD, off, now=LATER).moves

    ended = reason in (InactiveReason.ARCHIVED, InactiveReason.EXPIRED, InactiveReason.DELETED)
    assert [each.before for each in moves] == ([OLD] if ended else [off, OLD])
    if not ended:
        kept = moves[0]
        assert (kept.after.active, kept.after.confidence) == (True, then)
        assert ("raised to 0.30" in kept.reason) is (confidence < 0.3)


def test_a_merge_of_two_low_memories_is_active_again() -> None:
    low = {"confidence": 0.1, "active": False, "inactive_reason": InactiveReason.LOW}
    answer = ReviewAnswer(resolution=Resolution.MERGE, observation="Takes a while")

    found = resolve_review(CASE, answer, replace(OLD, **low), replace(NEW, **low), now=LATER)

    assert (found.moves[0].after.active, found.moves[0].after.confidence) == (True, 0.3)


def test_a_dismissed_review_changes_nothing() -> None:
    assert answered(Resolution.DISMISS) == []


@pytest.mark.parametrize("resolution", ANSWERS)
def test_lost_confidence_is_restored_if_the_old_memory_remains(
    resolution: Resolution,
) -> None:
    stays = (Resolution.KEEP_OLD, Resolution.BOTH, Resolution.MERGE)

    assert ReviewAnswer(resolution=resolution).gives_back is (resolution in stays)


@given(answers, st.integers(0, 100), st.integers(0, 100), st.sampled_from([None, ASIDE]))
def test_memories_are_valid_after_any_resolution(
    answer: ReviewAnswer, old: int, new: int, reason: InactiveReason | None
) -> None:
    first = with_confidence(OLD, old / 100)
    other = with_confidence(NEW, new / 100)
    if reason is not None:
        other = replace(other, active=False, inactive_reason=reason)

    verdict = resolve_review(CASE, answer, first, other, now=LATER)

    for move in verdict.moves:
        after = move.after
        assert (after.id, after.version) == (move.before.id, move.before.version + 1)
        assert 0 <= after.confidence <= 1
        assert after.active is (after.inactive_reason is None)
        assert after.confidence >= 0.3 or not after.active
    ends = {link for link in (verdict.link or ())[:2] if isinstance(link, int)}
    assert ends in (set(), {OLD.id, NEW.id})
