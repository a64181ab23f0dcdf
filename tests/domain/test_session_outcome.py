"""The outcome of a session: a table of recorded facts, and their texts."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from lamplighter.domain.actions.approval import Approval, ApprovalState
from lamplighter.domain.actions.outcome import SessionRecords, session_outcome
from lamplighter.domain.services.cooldown import CooldownUse, UseOutcome
from lamplighter.domain.services.event import Event, Level
from lamplighter.domain.services.service import ActionKind
from lamplighter.domain.sessions.handoff import Escalation, EscalationState
from lamplighter.domain.sessions.session import CheckResult, Status

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
UP, DOWN = True, False


def result(service: str, ok: bool, name: str = "http", **more: Any) -> CheckResult:
    return CheckResult(service=service, name=name, kind="http", ok=ok, **more)


def use(service: str, outcome: UseOutcome, seconds: float | None = None) -> CooldownUse:
    return CooldownUse(
        id=1,
        service=service,
        action=ActionKind.RESTART,
        outcome=outcome,
        created_at=NOON,
        name="restart",
        healthy_after=seconds,
    )


def handed(service: str, state: EscalationState) -> Escalation:
    return Escalation(
        id=1, session_id=1, tier=2, service=service, reason="", state=state, created_at=NOON
    )


def denied(service: str) -> Approval:
    return Approval(
        id=1,
        session_id=1,
        tier=3,
        service=service,
        action=ActionKind.RESTART,
        name="restart",
        argv=("true",),
        masked_argv=("true",),
        state=ApprovalState.DENIED,
        created_at=NOON,
        expires_at=NOON,
    )


def critical(service: str | None) -> Event:
    return Event(
        id=1,
        level=Level.CRITICAL,
        service=service,
        text="refused",
        session_id=1,
        tier=1,
        source="marker",
        created_at=NOON,
    )


PERSON, CLOSED, TAKEN = EscalationState.PERSON, EscalationState.CLOSED, EscalationState.TAKEN
TABLE: list[tuple[dict[str, Any], str, str]] = [
    ({}, "", ""),
    ({"status": Status.FAILED, "results": [result("blog", UP)]}, "", ""),
    ({"results": [result("blog", UP)]}, "healthy", "blog healthy"),
    ({"results": [result("blog", UP), result("media", UP)]}, "healthy", "all healthy"),
    (
        {"results": [result("blog", UP, warned=True), result("media", UP)]},
        "healthy",
        "all healthy, 1 warning",
    ),
    ({"results": [result("blog", DOWN), result("media", UP)]}, "failing", "blog failing"),
    ({"results": [result("blog", DOWN), result("media", DOWN)]}, "failing", "2 failing"),
    ({"results": [result("blog", DOWN), result("blog", UP)]}, "healthy", "blog healthy"),
    (
        {"results": [result("blog", DOWN), result("blog", UP, name="tcp")]},
        "failing",
        "blog failing",
    ),
    (
        {"status": Status.ESCALATED, "escalations": [handed("blog", TAKEN)]},
        "failing",
        "blog failing",
    ),
    ({"escalations": [handed("general", TAKEN)]}, "", ""),
    ({"events": [critical("blog"), critical(None)]}, "failing", "blog failing"),
    ({"events": [critical("Blog")], "results": [result("blog", UP)]}, "healthy", "blog healthy"),
    (
        {
            "results": [result("blog", DOWN), result("blog", UP)],
            "uses": [use("blog", UseOutcome.SUCCESS, 3.6)],
        },
        "repaired",
        "repaired blog in 4 s",
    ),
    ({"uses": [use("blog", UseOutcome.SUCCESS, 0.2)]}, "repaired", "repaired blog in 1 s"),
    ({"uses": [use("blog", UseOutcome.SUCCESS, 240)]}, "repaired", "repaired blog in 4 min"),
    ({"uses": [use("blog", UseOutcome.SUCCESS)]}, "repaired", "repaired blog"),
    (
        {"uses": [use("blog", UseOutcome.SUCCESS), use("media", UseOutcome.SUCCESS)]},
        "repaired",
        "repaired 2 services",
    ),
    (
        {"uses": [use("blog", UseOutcome.SUCCESS, 4)], "results": [result("media", DOWN)]},
        "repaired",
        "repaired blog in 4 s, media failing",
    ),
    (
        {"uses": [use("blog", UseOutcome.SUCCESS, 4)], "results": [result("blog", DOWN)]},
        "failing",
        "blog failing",
    ),
    (
        {"uses": [use("blog", UseOutcome.FAILURE)], "results": [result("blog", DOWN)]},
        "failing",
        "blog failing",
    ),
    (
        {
            "uses": [replace(use("blog", UseOutcome.FAILURE), did_not_last=True)],
            "results": [result("blog", UP)],
        },
        "failing",
        "restart of blog did not last",
    ),
    (
        {"uses": [use("blog", UseOutcome.REFUSED)], "results": [result("blog", DOWN)]},
        "refused",
        "restart of blog refused",
    ),
    (
        {"uses": [use("blog", UseOutcome.WOULD)], "results": [result("blog", DOWN)]},
        "planned",
        "restart of blog planned",
    ),
    (
        {"uses": [use("blog", UseOutcome.UNNEEDED)], "results": [result("blog", UP)]},
        "healthy",
        "blog healthy",
    ),
    (
        {
            "approvals": [denied("blog")],
            "uses": [use("blog", UseOutcome.REFUSED)],
            "results": [result("blog", DOWN)],
        },
        "denied",
        "restart of blog denied",
    ),
    (
        {"escalations": [handed("blog", PERSON)], "uses": [use("blog", UseOutcome.FAILURE)]},
        "needs_you",
        "needs you for blog",
    ),
    (
        {"escalations": [handed("blog", PERSON), handed("media", PERSON)]},
        "needs_you",
        "needs you for 2 services",
    ),
    ({"escalations": [handed("general", PERSON)]}, "needs_you", "needs you"),
    (
        {"status": Status.TIMED_OUT, "escalations": [handed("blog", PERSON)]},
        "needs_you",
        "needs you for blog",
    ),
    ({"escalations": [handed("blog", CLOSED)]}, "handled", "needed you for blog"),
]


@pytest.mark.parametrize(("recorded", "state", "words"), TABLE)
def test_the_outcome_of_a_session_follows_from_its_records(
    recorded: dict[str, Any], state: str, words: str
) -> None:
    found = session_outcome(SessionRecords(**{"status": Status.COMPLETED, **recorded}))

    assert (found.state, found.text) == (state, words)
