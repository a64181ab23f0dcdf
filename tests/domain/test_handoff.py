"""Escalation: a chain goes up one tier at a time, and ends whatever its sessions do."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamplighter.domain.limits import MAX_TIER
from lamplighter.domain.sessions.handoff import (
    ChainStep,
    Escalation,
    EscalationState,
    join_names,
    next_step,
)
from lamplighter.domain.sessions.session import Session, Status, Trigger
from thorough import examples

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
OPEN, PERSON = EscalationState.OPEN, EscalationState.PERSON
FINAL = {Status.COMPLETED, Status.FAILED, Status.TIMED_OUT, Status.STOPPED, Status.INTERRUPTED}
ROUND = Session(
    id=1,
    tier=1,
    engine="probe",
    trigger=Trigger.SCHEDULED,
    status=Status.RUNNING,
    started_at=NOON,
)


def asks(service: str, *, by: Session = ROUND, state: EscalationState = OPEN) -> Escalation:
    return Escalation(
        id=1,
        session_id=by.id,
        tier=by.tier + 1,
        service=service,
        reason="connection refused",
        state=state,
        created_at=NOON,
    )


@pytest.mark.parametrize(
    ("tier", "max_tier", "dry", "handed", "status", "ends"),
    [
        (1, 3, False, [], Status.COMPLETED, ChainStep(Status.COMPLETED, "said")),
        (3, 3, True, [], Status.COMPLETED, ChainStep(Status.COMPLETED, "said")),
        (
            1,
            3,
            False,
            [asks("web"), asks("db"), asks("caddy")],
            Status.COMPLETED,
            ChainStep(
                Status.ESCALATED, "Escalated web, db and caddy to tier 2.", EscalationState.ACCEPTED
            ),
        ),
        (
            2,
            3,
            False,
            [asks("web")],
            Status.COMPLETED,
            ChainStep(Status.ESCALATED, "Escalated web to tier 3.", EscalationState.ACCEPTED),
        ),
        (
            1,
            3,
            True,
            [asks("web")],
            Status.COMPLETED,
            ChainStep(
                Status.COMPLETED, "Dry run: web would be escalated to tier 2.", EscalationState.DRY
            ),
        ),
        (
            3,
            3,
            False,
            [asks("web", state=PERSON)],
            Status.COMPLETED,
            ChainStep(Status.COMPLETED, "Needs a person: web."),
        ),
        (
            2,
            2,
            False,
            [asks("web"), asks("db", state=PERSON)],
            Status.COMPLETED,
            ChainStep(Status.COMPLETED, "Needs a person: db and web.", PERSON),
        ),
        (
            1,
            1,
            True,
            [asks("web")],
            Status.COMPLETED,
            ChainStep(
                Status.COMPLETED,
                "Dry run: web would be escalated to a person.",
                EscalationState.DRY,
            ),
        ),
        (
            3,
            9,
            False,
            [asks("web")],
            Status.COMPLETED,
            ChainStep(Status.COMPLETED, "Needs a person: web.", PERSON),
        ),
        *(
            (1, 3, dry, [asks("web")], status, ChainStep(status, "said", EscalationState.DROPPED))
            for status in sorted(FINAL - {Status.COMPLETED})
            for dry in (False, True)
        ),
        (3, 3, False, [asks("web", state=PERSON)], Status.FAILED, ChainStep(Status.FAILED, "said")),
        (1, 3, False, [], Status.TIMED_OUT, ChainStep(Status.TIMED_OUT, "said")),
    ],
)
def test_a_chain_continues_or_ends_by_its_escalations(
    tier: int, max_tier: int, dry: bool, handed: list[Escalation], status: Status, ends: ChainStep
) -> None:
    session = replace(ROUND, tier=tier, dry_run=dry)

    assert next_step(session, handed, status=status, reason="said", max_tier=max_tier) == ends


@pytest.mark.parametrize(
    "state", [each for each in EscalationState if each not in (OPEN, EscalationState.PERSON)]
)
def test_settled_escalations_are_not_escalated_again(state: EscalationState) -> None:
    ends = next_step(
        ROUND, [asks("web", state=state)], status=Status.COMPLETED, reason="", max_tier=3
    )

    assert ends == ChainStep(Status.COMPLETED, "")


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b"], "a and b"),
        (["a", "b", "a"], "a and b"),
        (["a", "b", "c"], "a, b and c"),
    ],
)
def test_names_are_joined_without_repetition(names: list[str], words: str) -> None:
    assert join_names(names) == words


@dataclass(frozen=True)
class Turn:
    """The behavior of one session: how it ends, and which services it escalates."""

    status: Status
    services: Sequence[str]


@dataclass
class Chain:
    """A chain as the supervisor builds it: ended sessions, and the outcome of each request."""

    sessions: list[Session] = field(default_factory=list)
    handed: list[Escalation] = field(default_factory=list)


def chained(turns: Sequence[Turn], *, first: int, max_tier: int, dry: bool) -> Chain:
    """Run sessions while each escalates, at most one per turn."""
    chain = Chain()
    tier, parent = first, None
    for number, turn in enumerate(turns, 1):
        session = replace(ROUND, id=number, tier=tier, parent_id=parent, dry_run=dry)
        last = tier >= min(max_tier, MAX_TIER) and not dry
        wishes = [
            asks(service, by=session, state=PERSON if last else OPEN) for service in turn.services
        ]
        ends = next_step(session, wishes, status=turn.status, reason="", max_tier=max_tier)
        chain.sessions.append(replace(session, status=ends.status, reason=ends.reason))
        moved = [
            replace(each, state=ends.state) if ends.state and each.state is OPEN else each
            for each in wishes
        ]
        if ends.status is not Status.ESCALATED:
            chain.handed += moved
            break
        chain.handed += [replace(each, state=EscalationState.TAKEN) for each in moved]
        tier, parent = tier + 1, number
    return chain


TURNS = st.lists(
    st.builds(
        Turn,
        st.sampled_from(sorted(FINAL)),
        st.lists(st.sampled_from(["web", "db", "general"]), unique=True, max_size=3),
    ),
    min_size=9,
    max_size=9,
)


@settings(max_examples=examples(1_000), deadline=None)
@given(TURNS, st.integers(1, 3), st.integers(1, 3), st.booleans())
def test_a_chain_ends_within_three_tiers_whatever_its_sessions_do(
    turns: list[Turn], first: int, max_tier: int, dry: bool
) -> None:
    chain = chained(turns, first=min(first, max_tier), max_tier=max_tier, dry=dry)

    tiers = [each.tier for each in chain.sessions]
    assert tiers == list(range(tiers[0], tiers[0] + len(tiers)))
    assert len(tiers) <= MAX_TIER
    assert tiers[-1] <= max_tier
    assert [each.parent_id for each in chain.sessions] == [None, *range(1, len(tiers))]
    *before, last = chain.sessions
    assert all(each.status is Status.ESCALATED for each in before)
    assert last.status in FINAL
    assert not dry or len(tiers) == 1
    unfinished = {OPEN, EscalationState.ACCEPTED}
    assert not [each for each in chain.handed if each.state in unfinished]
    for session in chain.sessions:
        wishes = [each for each in chain.handed if each.session_id == session.id]
        if session.status is Status.ESCALATED:
            assert wishes
            assert all(each.service in session.reason for each in wishes)
        if any(each.state is PERSON for each in wishes) and session.status is Status.COMPLETED:
            assert session.reason.startswith("Needs a person: ")
