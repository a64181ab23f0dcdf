"""The policy: what may run, from facts alone; what is not known is a no."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.actions import policy
from lamplighter.domain.actions.policy import (
    Allowed,
    Ask,
    Chosen,
    Facts,
    Reach,
    Refused,
    choose,
    decide,
)
from lamplighter.domain.services.cooldown import LIMITS, Limit, Outcome, Standing, Use, standing
from lamplighter.domain.services.service import Action, ActionKind, Approve, Service, Services

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
RESTART = Action(name="restart", kind=ActionKind.RESTART, argv=("/bin/true",))
WEB = Service(name="Web", actions=(RESTART,))
OTHER = Service(name="other")
REACH = Reach(tier=3, services=Services((WEB, OTHER)), scope=None)
FREE = Standing(service="Web", action=ActionKind.RESTART, used=0, limit=LIMITS[ActionKind.RESTART])
FULL = replace(FREE, used=2, frees_at=NOON + timedelta(hours=1))
WELL = Facts(alive=True, halted=False, solvent=True, under_way=False, standing=FREE)


def asking(rule: Approve, own: Approve | None = None) -> Chosen:
    """Return the restart of a service with a rule of approval."""
    action = replace(RESTART, approve=own)
    return Chosen(replace(WEB, actions=(action,), approve=rule), action)


NEVER = asking(Approve.NEVER)


@pytest.mark.parametrize(
    ("more", "service", "action", "why"),
    [
        ({"tier": 0}, "web", "restart", "tier 0 changes nothing"),
        ({"tier": 1}, "web", "restart", "tier 1 changes nothing"),
        ({"tier": 2}, "web", "restart", "tier 2 changes nothing"),
        ({"tier": 4}, "web", "restart", "tier 4 changes nothing"),
        ({"refusals": 20}, "web", "restart", "this session was refused too often"),
        ({}, "plex", "restart", "'plex' is not in services.yaml"),
        ({}, "", "restart", "'' is not in services.yaml"),
        ({}, "web", "restart ", "Web declares no action 'restart'"),
        ({}, "other", "restart", "other declares no action 'restart'"),
        ({"scope": ("other",)}, "web", "restart", "Web was not handed to this session"),
        ({"scope": ()}, "web", "restart", "Web was not handed to this session"),
    ],
)
def test_what_a_session_may_not_wish_for_is_refused_in_words(
    more: dict[str, Any], service: str, action: str, why: str
) -> None:
    assert choose(service, action, replace(REACH, **more)) == Refused(why)


def test_nobody_reaches_anything_before_somebody_says_so() -> None:
    assert choose("web", "restart", Reach()) == Refused("tier 0 changes nothing")
    assert choose("web", "restart", replace(Reach(), tier=3)) == Refused(
        "'web' is not in services.yaml"
    )
    assert choose("web", "restart", replace(REACH, scope=Reach().scope)) == Refused(
        "Web was not handed to this session"
    )


def test_what_is_declared_is_found_in_whatever_spelling() -> None:
    found = choose("WEB", "restart", REACH)

    assert found == Chosen(WEB, replace(RESTART, approve=Approve.NEVER))


@pytest.mark.parametrize(
    ("rule", "own", "asked"),
    [
        (Approve.NEVER, None, False),
        (Approve.ALWAYS, None, True),
        (Approve.FIRST, None, True),
        (Approve.ALWAYS, Approve.NEVER, False),
        (Approve.NEVER, Approve.ALWAYS, True),
        (Approve.NEVER, Approve.FIRST, True),
    ],
)
def test_the_rule_of_an_action_wins_over_that_of_its_service(
    rule: Approve, own: Approve | None, asked: bool
) -> None:
    chosen = asking(rule, own)

    assert decide(chosen, WELL, now=NOON) == (Ask() if asked else Allowed())
    assert decide(chosen, replace(WELL, agreed=True), now=NOON) == Allowed()
    found = choose("web", "restart", replace(REACH, services=Services((chosen.service,))))
    assert isinstance(found, Chosen)
    assert decide(replace(found, service=WEB), WELL, now=NOON) == (Ask() if asked else Allowed())


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"alive": False}, "its session is over"),
        ({"halted": True}, "everything is halted"),
        ({"solvent": False}, "the money of this session is used up"),
        ({"under_way": True}, "another action on it is under way"),
        ({"standing": FULL}, "2 of 2 in 4 h are used; free again at 13:00 UTC"),
        ({"standing": replace(FULL, used=9)}, "9 of 2 in 4 h are used; free again at 13:00 UTC"),
        ({"standing": None}, policy.UNKNOWN),
        ({"standing": replace(FREE, service="other")}, policy.UNKNOWN),
        ({"standing": replace(FREE, action=ActionKind.REDEPLOYMENT)}, policy.UNKNOWN),
        ({"standing": replace(FREE, limit=Limit(99, timedelta(hours=4)))}, policy.UNKNOWN),
    ],
)
def test_each_fact_can_refuse(more: dict[str, Any], why: str) -> None:
    for rule, agreed in product(Approve, (False, True)):
        facts = replace(WELL, agreed=agreed, **more)
        assert decide(asking(rule), facts, now=NOON) == Refused(why)


def test_a_second_attempt_needs_no_slot_but_all_else() -> None:
    second = replace(WELL, standing=FULL, second=True)

    assert decide(NEVER, second, now=NOON) == Allowed()
    assert decide(asking(Approve.ALWAYS), second, now=NOON) == Ask()
    for more in ({"alive": False}, {"halted": True}, {"solvent": False}, {"under_way": True}):
        assert isinstance(decide(NEVER, replace(second, **more), now=NOON), Refused)


def test_what_nobody_established_counts_against_the_wish() -> None:
    established = ("alive", "halted", "solvent", "under_way", "standing")

    for name in established:
        unknown = replace(WELL, **{name: getattr(Facts(), name)})
        assert isinstance(decide(NEVER, unknown, now=NOON), Refused), name


texts = st.text(max_size=60) | st.sampled_from(
    ["approved", "ignore the cooldown", "tier 3", "agreed: true", "Web", "halt released"]
)
flags = st.booleans()
kinds = st.sampled_from(ActionKind)
rules = st.sampled_from(Approve)


@st.composite
def situations(draw: st.DrawFn) -> tuple[Chosen, Facts]:
    action = replace(RESTART, kind=draw(kinds), approve=draw(st.none() | rules))
    service = replace(WEB, actions=(action,), approve=draw(rules))
    used = draw(st.integers(0, 4))
    found = Standing(service="Web", action=draw(kinds), used=used, limit=LIMITS[action.kind])
    facts = Facts(
        alive=draw(flags),
        halted=draw(flags),
        solvent=draw(flags),
        under_way=draw(flags),
        standing=draw(st.just(found) | st.none()),
        second=draw(flags),
        agreed=draw(flags),
    )
    return Chosen(service, action), facts


@given(situations())
def test_only_what_is_well_in_every_way_is_allowed(situation: tuple[Chosen, Facts]) -> None:
    chosen, facts = situation

    found = decide(chosen, facts, now=NOON)

    held = facts.standing
    slot = facts.second or (
        held is not None and held.action is chosen.action.kind and held.used < held.limit.uses
    )
    well = facts.alive and not facts.halted and facts.solvent and not facts.under_way and slot
    rule = chosen.action.approve or chosen.service.approve
    assert isinstance(found, Refused) is not well
    assert isinstance(found, Allowed) is (well and (facts.agreed or rule is Approve.NEVER))


@given(situations(), texts, texts)
def test_no_text_changes_a_ruling(situation: tuple[Chosen, Facts], one: str, two: str) -> None:
    chosen, facts = situation

    action = replace(chosen.action, name=one, argv=(one, two), directory=two)
    service = replace(chosen.service, description=one, depends_on=(two,), actions=(action,))

    assert decide(Chosen(service, action), facts, now=NOON) == decide(chosen, facts, now=NOON)


@given(texts, texts, st.integers(0, 3), st.sampled_from(Outcome))
def test_no_text_of_a_use_frees_a_slot(one: str, two: str, count: int, outcome: Outcome) -> None:
    uses = [
        Use(id=at, service="Web", action=ActionKind.RESTART, outcome=outcome, created_at=NOON)
        for at in range(count)
    ]
    worded = [replace(use, text=one, name=two, marked=True) for use in uses]

    def ruled(told: list[Use]) -> object:
        found = standing("Web", ActionKind.RESTART, told, now=NOON)
        return decide(NEVER, replace(WELL, standing=found), now=NOON)

    assert ruled(worded) == ruled(uses)


@given(texts, texts, st.integers(0, 5), st.sampled_from([None, (), ("Web",), ("other",)]))
def test_no_name_reaches_what_was_not_declared(
    service: str, action: str, tier: int, scope: tuple[str, ...] | None
) -> None:
    found = choose(service, action, replace(REACH, tier=tier, scope=scope))

    if isinstance(found, Chosen):
        assert found.service is WEB
        assert found.action.argv == RESTART.argv
        assert tier == 3
        assert scope is None or "Web" in scope
