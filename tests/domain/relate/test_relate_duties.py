"""Who may and who must: limits to a subject, duties, and conditions that end with a person."""

import pytest

from lamplighter.domain.relate import Relation, analyze, builtin_lexicon, relate
from lamplighter.domain.relate.outcome import compare_outcomes


@pytest.mark.parametrize(
    ("held", "said"),
    [
        ("Only librarians can renew loans", "Any reader can renew loans"),
        ("Every guest can see the plan", "Only owners can see the plan"),
    ],
)
def test_a_claim_of_one_group_contradicts_the_claim_of_all(held: str, said: str) -> None:
    assert relate(said, held).relation is Relation.CONFLICTING


@pytest.mark.parametrize(
    ("held", "said"),
    [
        ("The pump must be stopped before the filter is changed", "The filter may be changed"),
        ("It is not allowed to open two valves", "Two valves may be open at the same time"),
        ("Orders reach the till at once", "It takes ten minutes before an order is on the till"),
        ("Lamps flicker after some hours", "Lamps flicker over long cables"),
    ],
)
def test_another_limit_or_duty_is_never_a_reinforcement(held: str, said: str) -> None:
    assert relate(said, held).label != "reinforce"
    assert relate(held, said).label != "reinforce"


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        ("The gate unlocks by itself", "The gate stays locked until somebody frees it", -1),
        ("The press stays off until an operator starts it", "The press must be started by hand", 1),
        ("After an outage the kiosk recovers", "The kiosk recovers once the outage is over", 1),
        ("A badge is required before the door opens", "The door opens without a badge", -1),
    ],
)
def test_what_waits_for_a_person_ends_badly(one: str, two: str, expected: int) -> None:
    (old,), (new,) = (analyze(each, builtin_lexicon()).clauses for each in (one, two))

    assert compare_outcomes(old.outcome, new.outcome) == expected
