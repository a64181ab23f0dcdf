"""The policy: what may run, from facts alone; a missing fact means no."""

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
    NeedsApproval,
    PolicyFacts,
    Refusal,
    RequestedAction,
    SessionPermissions,
    decide,
    resolve_action,
)
from lamplighter.domain.services.cooldown import (
    LIMITS,
    CooldownStatus,
    CooldownUse,
    Limit,
    UseOutcome,
    cooldown_status,
)
from lamplighter.domain.services.service import (
    Action,
    ActionKind,
    ApprovalPolicy,
    Service,
    Services,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
RESTART = Action(name="restart", kind=ActionKind.RESTART, argv=("/bin/true",))
WEB = Service(name="Web", actions=(RESTART,))
OTHER = Service(name="other")
REACH = SessionPermissions(tier=3, services=Services((WEB, OTHER)), scope=None)
FREE = CooldownStatus(
    service="Web", action=ActionKind.RESTART, used=0, limit=LIMITS[ActionKind.RESTART]
)
FULL = replace(FREE, used=2, frees_at=NOON + timedelta(hours=1))
WELL = PolicyFacts(alive=True, halted=False, solvent=True, under_way=False, cooldown=FREE)


def asking(rule: ApprovalPolicy, own: ApprovalPolicy | None = None) -> RequestedAction:
    """Return the restart of a service with an approval rule."""
    action = replace(RESTART, approve=own)
    return RequestedAction(replace(WEB, actions=(action,), approve=rule), action)


NEVER = asking(ApprovalPolicy.NEVER)


@pytest.mark.parametrize(
    ("more", "service", "action", "why"),
    [
        ({"tier": 0}, "web", "restart", "sessions of tier 0 may not run actions"),
        ({"tier": 1}, "web", "restart", "sessions of tier 1 may not run actions"),
        ({"tier": 2}, "web", "restart", "sessions of tier 2 may not run actions"),
        ({"tier": 4}, "web", "restart", "sessions of tier 4 may not run actions"),
        ({"refusals": 20}, "web", "restart", "this session reached its limit of refused requests"),
        ({}, "plex", "restart", "'plex' is not in services.yaml"),
        ({}, "", "restart", "'' is not in services.yaml"),
        ({}, "web", "restart ", "Web has no action 'restart' in services.yaml"),
        ({}, "other", "restart", "other has no action 'restart' in services.yaml"),
        ({"scope": ("other",)}, "web", "restart", "Web is not in the scope of this session"),
        ({"scope": ()}, "web", "restart", "Web is not in the scope of this session"),
    ],
)
def test_a_forbidden_request_is_refused_with_a_reason(
    more: dict[str, Any], service: str, action: str, why: str
) -> None:
    assert resolve_action(service, action, replace(REACH, **more)) == Refusal(why)


def test_nothing_is_reachable_by_default() -> None:
    assert resolve_action("web", "restart", SessionPermissions()) == Refusal(
        "sessions of tier 0 may not run actions"
    )
    assert resolve_action("web", "restart", replace(SessionPermissions(), tier=3)) == Refusal(
        "'web' is not in services.yaml"
    )
    assert resolve_action(
        "web", "restart", replace(REACH, scope=SessionPermissions().scope)
    ) == Refusal("Web is not in the scope of this session")


def test_a_declared_action_is_resolved_in_any_spelling() -> None:
    found = resolve_action("WEB", "restart", REACH)

    assert found == RequestedAction(WEB, replace(RESTART, approve=ApprovalPolicy.NEVER))


@pytest.mark.parametrize(
    ("rule", "own", "asked"),
    [
        (ApprovalPolicy.NEVER, None, False),
        (ApprovalPolicy.ALWAYS, None, True),
        (ApprovalPolicy.FIRST, None, True),
        (ApprovalPolicy.ALWAYS, ApprovalPolicy.NEVER, False),
        (ApprovalPolicy.NEVER, ApprovalPolicy.ALWAYS, True),
        (ApprovalPolicy.NEVER, ApprovalPolicy.FIRST, True),
    ],
)
def test_the_approval_policy_of_an_action_overrides_that_of_its_service(
    rule: ApprovalPolicy, own: ApprovalPolicy | None, asked: bool
) -> None:
    chosen = asking(rule, own)

    assert decide(chosen, WELL, now=NOON) == (NeedsApproval() if asked else Allowed())
    assert decide(chosen, replace(WELL, agreed=True), now=NOON) == Allowed()
    found = resolve_action("web", "restart", replace(REACH, services=Services((chosen.service,))))
    assert isinstance(found, RequestedAction)
    assert decide(replace(found, service=WEB), WELL, now=NOON) == (
        NeedsApproval() if asked else Allowed()
    )


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"alive": False}, "its session has ended"),
        ({"halted": True}, "Lamplighter is halted"),
        ({"solvent": False}, "the spending limit is reached"),
        ({"under_way": True}, "another action on this service is running"),
        ({"cooldown": FULL}, "used 2 of 2 times in 4 h; next use at 13:00 UTC"),
        ({"cooldown": replace(FULL, used=9)}, "used 9 of 2 times in 4 h; next use at 13:00 UTC"),
        ({"cooldown": None}, policy.USAGE_UNKNOWN),
        ({"cooldown": replace(FREE, service="other")}, policy.USAGE_UNKNOWN),
        ({"cooldown": replace(FREE, action=ActionKind.REDEPLOYMENT)}, policy.USAGE_UNKNOWN),
        ({"cooldown": replace(FREE, limit=Limit(99, timedelta(hours=4)))}, policy.USAGE_UNKNOWN),
    ],
)
def test_each_fact_alone_can_cause_a_refusal(more: dict[str, Any], why: str) -> None:
    for rule, agreed in product(ApprovalPolicy, (False, True)):
        facts = replace(WELL, agreed=agreed, **more)
        assert decide(asking(rule), facts, now=NOON) == Refusal(why)


def test_a_second_attempt_needs_no_slot_but_meets_all_other_conditions() -> None:
    second = replace(WELL, cooldown=FULL, second=True)

    assert decide(NEVER, second, now=NOON) == Allowed()
    assert decide(asking(ApprovalPolicy.ALWAYS), second, now=NOON) == NeedsApproval()
    for more in ({"alive": False}, {"halted": True}, {"solvent": False}, {"under_way": True}):
        assert isinstance(decide(NEVER, replace(second, **more), now=NOON), Refusal)


def test_an_unknown_fact_causes_a_refusal() -> None:
    established = ("alive", "halted", "solvent", "under_way", "cooldown")

    for name in established:
        unknown = replace(WELL, **{name: getattr(PolicyFacts(), name)})
        assert isinstance(decide(NEVER, unknown, now=NOON), Refusal), name


texts = st.text(max_size=60) | st.sampled_from(
    ["approved", "ignore the cooldown", "tier 3", "agreed: true", "Web", "halt released"]
)
flags = st.booleans()
kinds = st.sampled_from(ActionKind)
rules = st.sampled_from(ApprovalPolicy)


@st.composite
def situations(draw: st.DrawFn) -> tuple[RequestedAction, PolicyFacts]:
    action = replace(RESTART, kind=draw(kinds), approve=draw(st.none() | rules))
    service = replace(WEB, actions=(action,), approve=draw(rules))
    used = draw(st.integers(0, 4))
    found = CooldownStatus(service="Web", action=draw(kinds), used=used, limit=LIMITS[action.kind])
    facts = PolicyFacts(
        alive=draw(flags),
        halted=draw(flags),
        solvent=draw(flags),
        under_way=draw(flags),
        cooldown=draw(st.just(found) | st.none()),
        second=draw(flags),
        agreed=draw(flags),
    )
    return RequestedAction(service, action), facts


@given(situations())
def test_an_action_is_allowed_only_if_all_conditions_are_met(
    situation: tuple[RequestedAction, PolicyFacts],
) -> None:
    chosen, facts = situation

    found = decide(chosen, facts, now=NOON)

    held = facts.cooldown
    slot = facts.second or (
        held is not None and held.action is chosen.action.kind and held.used < held.limit.uses
    )
    well = facts.alive and not facts.halted and facts.solvent and not facts.under_way and slot
    rule = chosen.action.approve or chosen.service.approve
    assert isinstance(found, Refusal) is not well
    assert isinstance(found, Allowed) is (well and (facts.agreed or rule is ApprovalPolicy.NEVER))


@given(situations(), texts, texts)
def test_no_text_changes_the_verdict(
    situation: tuple[RequestedAction, PolicyFacts], one: str, two: str
) -> None:
    chosen, facts = situation

    action = replace(chosen.action, name=one, argv=(one, two), directory=two)
    service = replace(chosen.service, description=one, depends_on=(two,), actions=(action,))

    assert decide(RequestedAction(service, action), facts, now=NOON) == decide(
        chosen, facts, now=NOON
    )


@given(texts, texts, st.integers(0, 3), st.sampled_from(UseOutcome))
def test_no_text_of_a_use_frees_a_slot(one: str, two: str, count: int, outcome: UseOutcome) -> None:
    uses = [
        CooldownUse(
            id=at, service="Web", action=ActionKind.RESTART, outcome=outcome, created_at=NOON
        )
        for at in range(count)
    ]
    worded = [replace(use, text=one, name=two, marked=True) for use in uses]

    def ruled(told: list[CooldownUse]) -> object:
        found = cooldown_status("Web", ActionKind.RESTART, told, now=NOON)
        return decide(NEVER, replace(WELL, cooldown=found), now=NOON)

    assert ruled(worded) == ruled(uses)


@given(texts, texts, st.integers(0, 5), st.sampled_from([None, (), ("Web",), ("other",)]))
def test_no_name_resolves_to_an_undeclared_action(
    service: str, action: str, tier: int, scope: tuple[str, ...] | None
) -> None:
    found = resolve_action(service, action, replace(REACH, tier=tier, scope=scope))

    if isinstance(found, RequestedAction):
        assert found.service is WEB
        assert found.action.argv == RESTART.argv
        assert tier == 3
        assert scope is None or "Web" in scope
