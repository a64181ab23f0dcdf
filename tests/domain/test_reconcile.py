"""Reconciling: a repetition reinforces, once per session, and a new observation is learned."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confidences import DOWN, LEARNED, UP, after
from lamplighter.domain.memory.memory import Candidate, Category, InactiveReason, Memory, MemoryId
from lamplighter.domain.memory.review import ReviewKind
from lamplighter.domain.relate import Relation, RelationVerdict, relate
from lamplighter.domain.relate.reconcile import (
    ECHO,
    IN_PROMPT,
    REFUSED,
    STATED,
    CandidateHistory,
    Decision,
    EchoPolicy,
    Effect,
    ReconcileOutcome,
    reconcile,
)
from thorough import examples

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
    standing = CandidateHistory(up=moved)
    return reconcile(candidate, held, says(candidate), now=LATER, history=standing)


def says(candidate: Candidate) -> Callable[[Memory], RelationVerdict]:
    """Relate a candidate's text to that of each stored memory."""
    return lambda held: relate(candidate.observation, held.observation, service=candidate.service)


def test_an_unknown_observation_is_learned() -> None:
    other = replace(HELD, observation="Library scan takes 20 minutes")

    assert decide(SAYS, [other]) == Decision(ReconcileOutcome.LEARNED, reason="no similar memory")
    assert decide(SAYS, []) == Decision(ReconcileOutcome.LEARNED, reason="no similar memory")


@pytest.mark.parametrize(("held", "raised"), [(LEARNED, after(UP)), (0.95, 1.0), (1.0, 1.0)])
def test_a_repetition_by_another_session_reinforces_a_memory(held: float, raised: float) -> None:
    memory = replace(HELD, confidence=held)

    assert decide(SAYS, [memory]) == Decision(
        ReconcileOutcome.REINFORCED,
        replace(memory, confidence=raised, updated_at=LATER, version=2),
        reason="repeats the text verbatim",
    )


def test_a_session_reinforces_a_memory_once() -> None:
    assert decide(SAYS, [HELD], moved=[HELD.id]) == Decision(
        ReconcileOutcome.UNCHANGED, HELD, reason="already reinforced by this session"
    )


def test_a_session_does_not_reinforce_its_own_memory() -> None:
    own = replace(HELD, session_id=SAYS.session_id)

    assert decide(SAYS, [own]) == Decision(
        ReconcileOutcome.UNCHANGED, own, reason="repeated by the session that learned it"
    )


def test_a_memory_of_a_person_is_reinforced_by_a_session() -> None:
    typed = replace(HELD, session_id=None)

    assert decide(SAYS, [typed]).outcome is ReconcileOutcome.REINFORCED
    assert decide(replace(SAYS, session_id=None), [typed]).outcome is ReconcileOutcome.REINFORCED


def test_an_inactive_equal_memory_is_revived_by_a_new_memory() -> None:
    newer = replace(FADED, id=MemoryId(9))

    assert decide(SAYS, [FADED, newer]) == Decision(
        ReconcileOutcome.LEARNED,
        revives=MemoryId(9),
        reason="repeats memory 9, which had become inactive",
    )


def test_an_active_equal_memory_is_preferred_to_an_inactive_one() -> None:
    decision = decide(SAYS, [replace(FADED, id=MemoryId(9), confidence=0.9), HELD])

    assert (decision.outcome, decision.revives) == (ReconcileOutcome.REINFORCED, None)
    assert decision.target is not None
    assert decision.target.id == HELD.id


def test_the_most_confident_then_oldest_of_several_equals_is_reinforced() -> None:
    sure = replace(HELD, id=MemoryId(8), confidence=0.8)
    twin = replace(sure, id=MemoryId(9))

    decision = decide(SAYS, [HELD, twin, sure])

    assert decision.target is not None
    assert decision.target.id == sure.id


def as_if(*relations: Relation) -> Callable[[Memory], RelationVerdict]:
    """Relate the memories 1, 2, 3 … as specified here."""
    return lambda held: RelationVerdict(relations[held.id - 1], f"reason {held.id}")


def row(number: int, confidence: float = 0.7, **more: Any) -> Memory:
    return replace(HELD, id=MemoryId(number), confidence=confidence, **more)


SAME, CONFLICTING = Relation.SAME, Relation.CONFLICTING
UNSURE, UNRELATED = Relation.UNSURE, Relation.UNRELATED


@pytest.mark.parametrize(
    ("held", "left", "active"),
    [
        (0.8, after(DOWN, of=0.8), True),
        (0.5, after(DOWN, of=0.5), True),
        (0.4, after(DOWN, of=0.4), False),
        (0.1, 0.0, False),
    ],
)
def test_a_contradicted_memory_loses_0_2_and_the_new_one_is_learned(
    held: float, left: float, active: bool
) -> None:
    old = row(1, held)

    decision = reconcile(SAYS, [old], as_if(CONFLICTING), now=LATER)

    assert (decision.outcome, decision.target) == (ReconcileOutcome.LEARNED, None)
    [effect] = decision.effects
    reason = None if active else InactiveReason.LOW
    weaker = replace(old, confidence=left, active=active, inactive_reason=reason, version=2)
    assert (effect.after, effect.kind) == (weaker, ReviewKind.CONFLICT)
    assert (effect.weakens, effect.reason) == (True, "reason 1")
    assert effect.after.updated_at == old.updated_at  # it was not confirmed


def test_an_uncertain_conflict_lowers_no_confidence_and_opens_a_review() -> None:
    old = row(1)

    decision = reconcile(SAYS, [old], as_if(UNSURE), now=LATER)

    assert decision.outcome is ReconcileOutcome.LEARNED
    assert decision.effects == (Effect(old, old, ReviewKind.POSSIBLE, "reason 1"),)


def test_one_memory_is_reinforced_and_conflicting_ones_are_weakened() -> None:
    held = [row(1), row(2, 0.9), row(3), row(4), row(5)]
    relations = as_if(SAME, SAME, CONFLICTING, UNRELATED, CONFLICTING)

    decision = reconcile(SAYS, held, relations, now=LATER)

    assert decision.outcome is ReconcileOutcome.REINFORCED
    assert decision.target == replace(held[1], confidence=1.0, updated_at=LATER, version=2)
    assert [effect.before.id for effect in decision.effects] == [3, 5]


def test_a_session_weakens_a_memory_once() -> None:
    old = row(1)

    decision = reconcile(
        SAYS, [old], as_if(CONFLICTING), now=LATER, history=CandidateHistory(down=[old.id])
    )

    assert [(each.after, each.weakens) for each in decision.effects] == [(old, False)]


def test_an_inactive_memory_is_neither_reinforced_nor_weakened() -> None:
    for relation in Relation:
        decision = reconcile(SAYS, [row(1, 0.2, active=False)], as_if(relation), now=LATER)

        assert (decision.outcome, decision.effects) == (ReconcileOutcome.LEARNED, ())


def test_memories_judged_compatible_are_not_weakened_again() -> None:
    held = [row(1), row(2)]
    standing = CandidateHistory(settled=[frozenset((MemoryId(1), MemoryId(2)))])

    decision = reconcile(SAYS, held, as_if(SAME, CONFLICTING), now=LATER, history=standing)

    assert (decision.outcome, decision.effects) == (ReconcileOutcome.REINFORCED, ())


@pytest.mark.parametrize(
    ("echo", "looked", "outcome", "reason"),
    [
        (EchoPolicy.COUNT, False, ReconcileOutcome.REINFORCED, IN_PROMPT),
        (EchoPolicy.COUNT, True, ReconcileOutcome.REINFORCED, IN_PROMPT),
        (EchoPolicy.IGNORE, True, ReconcileOutcome.REINFORCED, IN_PROMPT),
        (EchoPolicy.IGNORE, False, ReconcileOutcome.UNCHANGED, ECHO),
    ],
)
def test_an_echo_of_the_prompt_is_reported_as_such(
    echo: EchoPolicy, looked: bool, outcome: ReconcileOutcome, reason: str
) -> None:
    standing = CandidateHistory(included=[HELD.id], echo=echo, looked=looked)

    decision = reconcile(SAYS, [HELD], says(SAYS), now=LATER, history=standing)

    assert (decision.outcome, decision.reason) == (outcome, reason)


def test_a_paraphrase_of_the_prompt_is_not_an_echo() -> None:
    other = replace(HELD, observation="It needs about a minute to start")
    standing = CandidateHistory(included=[HELD.id], echo=EchoPolicy.IGNORE, looked=False)

    decision = reconcile(SAYS, [other], says(SAYS), now=LATER, history=standing)

    assert decision.outcome is ReconcileOutcome.REINFORCED


@settings(max_examples=examples(1_000))
@given(
    st.lists(
        st.tuples(
            st.sampled_from(list(Relation)), st.integers(0, 100), st.booleans(), st.booleans()
        ),
        max_size=8,
    )
)
def test_at_most_one_memory_is_reinforced_and_only_conflicting_ones_weakened(
    given_: list[tuple[Relation, int, bool, bool]],
) -> None:
    relations = [relation for relation, _, _, _ in given_]
    held = [
        row(number, cents / 100, active=active and cents >= 30, session_id=2 if own else 1)
        for number, (_, cents, active, own) in enumerate(given_, 1)
    ]

    decision = reconcile(SAYS, held, as_if(*relations), now=LATER)

    again = reconcile(SAYS, held, as_if(*relations), now=LATER)
    assert decision == again
    same = [each for each in held if each.active and relations[each.id - 1] is SAME]
    assert (decision.target is None) == (not same) == (decision.outcome is ReconcileOutcome.LEARNED)
    assert decision.target is None or decision.target.id in {each.id for each in same}
    told = {each.before.id: each for each in decision.effects}
    for each in held:
        relation = relations[each.id - 1]
        own = each.session_id == SAYS.session_id
        asks = each.active and not own and relation in (CONFLICTING, UNSURE)
        assert (each.id in told) == asks
        if asks:
            after = told[each.id].after
            lost = round(each.confidence - after.confidence, 2)
            assert lost == (min(0.2, each.confidence) if relation is CONFLICTING else 0)
            assert after.active == (after.confidence >= 0.3)


def test_a_rejected_observation_has_no_effect_unless_it_is_active_again() -> None:
    aside = replace(HELD, active=False, inactive_reason=InactiveReason.SUPERSEDED)
    kept = replace(HELD, id=MemoryId(1), observation="Takes 5s to start")
    again = replace(HELD, id=MemoryId(9))
    standing = CandidateHistory(refused=[aside.id])

    found = reconcile(SAYS, [kept, aside], says(SAYS), now=LATER, history=standing)
    believed = reconcile(SAYS, [aside, again], says(SAYS), now=LATER, history=standing)

    assert found == Decision(ReconcileOutcome.UNCHANGED, aside, reason=REFUSED)
    assert believed.outcome is ReconcileOutcome.REINFORCED


def test_a_closing_report_adds_only_what_is_unrelated_to_the_markers() -> None:
    own = replace(HELD, observation="Takes 5s to start", session_id=SAYS.session_id)
    raised = replace(own, session_id=1)
    closing = CandidateHistory(closing=True, up=[raised.id])

    for memory in (own, raised):
        found = reconcile(SAYS, [memory], says(SAYS), now=LATER, history=closing)
        assert found == Decision(ReconcileOutcome.UNCHANGED, memory, reason=STATED)
    other = CandidateHistory(closing=True)
    assert reconcile(SAYS, [raised], says(SAYS), now=LATER, history=other).effects != ()
    assert reconcile(SAYS, [], says(SAYS), now=LATER, history=closing) == Decision(
        ReconcileOutcome.LEARNED, reason="no similar memory"
    )


def test_two_observations_of_one_session_do_not_conflict() -> None:
    own = replace(HELD, observation="Takes 5s to start", session_id=SAYS.session_id)

    assert decide(SAYS, [own]).effects == ()
    assert decide(SAYS, [replace(own, session_id=1)]).effects != ()
