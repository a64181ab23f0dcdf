"""A memory's confidence, and the effect of a person's edit."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from confidences import LEARNED, UP, after
from lamplighter.domain.memory.memory import (
    GENERAL,
    OPERATIONAL,
    Category,
    Edit,
    InactiveReason,
    Memory,
    MemoryId,
    MemoryKind,
    apply_edit,
    clamp,
    kind_of,
    reinforce,
    with_confidence,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)
SLOW = Memory(
    id=MemoryId(7),
    category=Category.TIMING,
    service="jellyfin",
    observation="Takes 60s to start",
    confidence=0.7,
    active=True,
    tier=1,
    session_id=42,
    created_at=NOON,
    updated_at=NOON,
    decayed_weeks=2,
)
FADED = replace(SLOW, confidence=0.2, active=False, inactive_reason=InactiveReason.LOW)


@pytest.mark.parametrize(
    ("given_", "kept"),
    [
        (1.5, 1.0),
        (-1, 0.0),
        (float("inf"), 1.0),
        (float("-inf"), 0.0),
        (0.7 - 0.2 - 0.2, 0.3),
        (0.1 + 0.2, 0.3),
        (0.956, 0.96),
        (0.005, 0.01),
        (0.0, 0.0),
    ],
)
def test_a_confidence_is_clamped_and_rounded_to_two_decimals(given_: float, kept: float) -> None:
    assert clamp(given_) == pytest.approx(kept, abs=0.011 if given_ == 0.005 else 1e-12)


@given(st.floats(allow_nan=False))
def test_clamping_is_idempotent_and_in_range(confidence: float) -> None:
    kept = clamp(confidence)

    assert 0 <= kept <= 1
    assert clamp(kept) == kept
    assert len(str(kept)) <= 4


@pytest.mark.parametrize(
    ("steps", "confidence", "active"),
    [
        ([-0.2], 0.5, True),
        ([-0.2, -0.2], 0.3, True),
        ([-0.2, -0.2, -0.1], 0.2, False),
        ([0.1, 0.1, 0.1, 0.1], 1.0, True),
    ],
)
def test_a_memory_is_active_at_exactly_0_30_and_inactive_below(
    steps: list[float], confidence: float, active: bool
) -> None:
    memory = SLOW
    for step in steps:
        memory = with_confidence(memory, memory.confidence + step)

    reason = None if active else InactiveReason.LOW
    assert memory == replace(SLOW, confidence=confidence, active=active, inactive_reason=reason)


@pytest.mark.parametrize(
    ("reason", "active"),
    [
        (InactiveReason.LOW, True),
        (InactiveReason.OPERATOR, True),
        (InactiveReason.SUPERSEDED, False),
        (InactiveReason.ARCHIVED, False),
        (InactiveReason.EXPIRED, False),
        (InactiveReason.DELETED, False),
    ],
)
def test_confidence_reactivates_only_low_or_operator_deactivated_memories(
    reason: InactiveReason, active: bool
) -> None:
    aside = replace(SLOW, active=False, inactive_reason=reason)

    raised = with_confidence(aside, 0.5)

    kept = None if active else reason
    assert raised == replace(SLOW, confidence=0.5, active=active, inactive_reason=kept)


@pytest.mark.parametrize(
    ("held", "raised"), [(LEARNED, after(UP)), (after(UP), after(UP, UP)), (0.95, 1.0), (1.0, 1.0)]
)
def test_reinforcement_raises_the_confidence_up_to_one(held: float, raised: float) -> None:
    memory = replace(SLOW, confidence=held)

    assert reinforce(memory, now=LATER) == replace(
        memory, confidence=raised, updated_at=LATER, decayed_weeks=0, version=2
    )


TOUCHED = {"updated_at": LATER, "decayed_weeks": 0, "version": 2}


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (Edit(observation="Takes 90s"), {"observation": "Takes 90s", **TOUCHED}),
        (Edit(confidence=0.95), {"confidence": 0.95, **TOUCHED}),
        (Edit(confidence=0.7), TOUCHED),
        (Edit(confidence=1.5), {"confidence": 1.0, **TOUCHED}),
        (
            Edit(confidence=-1),
            {
                "confidence": 0.0,
                "active": False,
                "inactive_reason": InactiveReason.LOW,
                **TOUCHED,
            },
        ),
        (
            Edit(confidence=0.2),
            {
                "confidence": 0.2,
                "active": False,
                "inactive_reason": InactiveReason.LOW,
                **TOUCHED,
            },
        ),
        (
            Edit(category=Category.REMEDIATION),
            {"category": Category.REMEDIATION, "kind": MemoryKind.PROCEDURAL, **TOUCHED},
        ),
        (Edit(service="plex"), {"service": "plex", **TOUCHED}),
        (Edit(service=GENERAL), {"service": None, **TOUCHED}),
        (Edit(pinned=True), {"pinned": True, "version": 2}),
        (
            Edit(active=False),
            {"active": False, "inactive_reason": InactiveReason.OPERATOR, "version": 2},
        ),
        (Edit(active=True), {}),
        (Edit(observation=SLOW.observation), {}),
        (Edit(), {}),
    ],
)
def test_an_edit_changes_its_fields_and_only_content_updates_the_time(
    change: Edit, what: dict[str, object]
) -> None:
    assert apply_edit(SLOW, change, now=LATER) == replace(SLOW, **what)  # type: ignore[arg-type]


def test_a_new_text_does_not_reactivate_an_inactive_memory() -> None:
    changed = apply_edit(FADED, Edit(observation="Takes 90s"), now=LATER)

    assert changed == replace(
        FADED, observation="Takes 90s", updated_at=LATER, decayed_weeks=0, version=2
    )


def test_a_higher_confidence_reactivates_an_inactive_memory() -> None:
    changed = apply_edit(FADED, Edit(confidence=0.3), now=LATER)

    assert changed == replace(SLOW, confidence=0.3, updated_at=LATER, decayed_weeks=0, version=2)


def test_an_operator_may_deactivate_a_confident_memory() -> None:
    changed = apply_edit(SLOW, Edit(confidence=0.9, active=False), now=LATER)

    assert (changed.confidence, changed.active, changed.inactive_reason) == (
        0.9,
        False,
        InactiveReason.OPERATOR,
    )


def test_activation_has_no_effect_on_a_memory_with_low_confidence() -> None:
    assert apply_edit(FADED, Edit(active=True), now=LATER) == FADED


def test_an_operator_may_reactivate_a_memory() -> None:
    aside = apply_edit(SLOW, Edit(active=False), now=LATER)

    assert apply_edit(aside, Edit(active=True), now=LATER) == replace(SLOW, version=3)


@pytest.mark.parametrize(
    ("kind", "categories"),
    [
        (
            MemoryKind.PROCEDURAL,
            {"remediation", "maintenance", "preference", "pattern", "learning"},
        ),
        (MemoryKind.PROJECT, {"architecture", "config"}),
        (
            MemoryKind.SEMANTIC,
            {"timing", "dependency", "behavior", "decision", "discovery", "bugfix"},
        ),
        (MemoryKind.EPISODIC, set()),
    ],
)
def test_the_kind_of_a_memory_follows_from_its_category(
    kind: MemoryKind, categories: set[str]
) -> None:
    assert {each for each in Category if kind_of(each) is kind} == categories


def test_the_operational_categories_are_the_five_of_the_spec() -> None:
    assert [each.value for each in OPERATIONAL] == [
        "timing",
        "dependency",
        "behavior",
        "remediation",
        "maintenance",
    ]
