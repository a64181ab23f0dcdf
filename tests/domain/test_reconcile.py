"""Reconciling: said again it grows stronger, once a session, and what is new is learned."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from lamplighter.domain.memory import Candidate, Category, InactiveReason, Memory, MemoryId
from lamplighter.domain.reconcile import Decision, Outcome, reconcile
from lamplighter.domain.relate import Relation, relate

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(days=1)
SAYS = Candidate(
    category=Category.TIMING,
    service="jellyfin",
    observation="Takes 60s to start",
    tier=1,
    session_id=2,
)
HELD = Memory(
    id=MemoryId(7),
    category=Category.TIMING,
    service="jellyfin",
    observation="takes 60s to  start.",
    confidence=0.7,
    active=True,
    tier=1,
    session_id=1,
    created_at=NOON,
    updated_at=NOON,
)
FADED = replace(HELD, active=False, confidence=0.2, inactive_reason=InactiveReason.LOW)


def decide(
    candidate: Candidate, held: Sequence[Memory], moved: Sequence[MemoryId] = ()
) -> Decision:
    return reconcile(candidate, held, relate, now=LATER, moved=moved)


def test_what_is_not_known_is_learned() -> None:
    other = replace(HELD, observation="Library scan takes 20 minutes")

    assert decide(SAYS, [other]) == Decision(Outcome.LEARNED, reason="not known before")
    assert decide(SAYS, []) == Decision(Outcome.LEARNED, reason="not known before")


@pytest.mark.parametrize(("held", "raised"), [(0.7, 0.8), (0.95, 1.0), (1.0, 1.0)])
def test_what_another_session_says_again_grows_stronger(held: float, raised: float) -> None:
    memory = replace(HELD, confidence=held)

    assert decide(SAYS, [memory]) == Decision(
        Outcome.REINFORCED,
        replace(memory, confidence=raised, updated_at=LATER, version=2),
        reason="said again in the same words",
    )


def test_a_session_reinforces_a_memory_once() -> None:
    assert decide(SAYS, [HELD], moved=[HELD.id]) == Decision(
        Outcome.UNCHANGED, HELD, reason="this session has reinforced it already"
    )


def test_a_session_does_not_reinforce_its_own_memory() -> None:
    own = replace(HELD, session_id=SAYS.session_id)

    assert decide(SAYS, [own]) == Decision(
        Outcome.UNCHANGED, own, reason="the session that learned it says it again"
    )


def test_what_a_person_wrote_is_reinforced_by_a_session() -> None:
    typed = replace(HELD, session_id=None)

    assert decide(SAYS, [typed]).outcome is Outcome.REINFORCED
    assert decide(replace(SAYS, session_id=None), [typed]).outcome is Outcome.REINFORCED


def test_an_inactive_twin_is_revived_by_a_new_memory_not_raised() -> None:
    newer = replace(FADED, id=MemoryId(9))

    assert decide(SAYS, [FADED, newer]) == Decision(
        Outcome.LEARNED,
        revives=MemoryId(9),
        reason="says again what memory 9 held before it turned inactive",
    )


def test_an_active_twin_is_raised_rather_than_an_inactive_one_revived() -> None:
    decision = decide(SAYS, [replace(FADED, id=MemoryId(9), confidence=0.9), HELD])

    assert (decision.outcome, decision.revives) == (Outcome.REINFORCED, None)
    assert decision.target is not None
    assert decision.target.id == HELD.id


def test_of_several_that_say_the_same_the_surest_and_then_the_oldest_is_raised() -> None:
    sure = replace(HELD, id=MemoryId(8), confidence=0.8)
    twin = replace(sure, id=MemoryId(9))

    decision = decide(SAYS, [HELD, twin, sure])

    assert decision.target is not None
    assert decision.target.id == sure.id


@pytest.mark.parametrize("relation", [Relation.CONFLICTING, Relation.UNSURE, Relation.UNRELATED])
def test_only_the_same_is_reinforced(relation: Relation) -> None:
    decision = reconcile(SAYS, [HELD], lambda new, held: relation, now=LATER)

    assert decision == Decision(Outcome.LEARNED, reason="not known before")


def test_the_new_words_are_related_to_the_held_ones_in_that_order() -> None:
    asked: list[tuple[str, str]] = []

    def note(new: str, held: str) -> Relation:
        asked.append((new, held))
        return Relation.UNRELATED

    reconcile(SAYS, [HELD], note, now=LATER)

    assert asked == [(SAYS.observation, HELD.observation)]
