"""Parking: the work that a session waiting for a person holds back, and the end of the wait."""

from datetime import datetime

import pytest
from chains import MINUTE, SERVICES, finished, said, seen, states
from examples import NOON, OPEN, rows, session

from contexts import DEFAULTS, context, ingesting
from lamplighter.domain.actions.approval import (
    ActionRequest,
    Approval,
    ApprovalAnswer,
    ApprovalChoice,
)
from lamplighter.domain.services.service import Action, ActionKind, ApprovalPolicy
from lamplighter.domain.sessions.session import Session, SessionPlan
from lamplighter.repository import Database, writing
from lamplighter.repository.sessions import sessions
from lamplighter.usecases.ingest import tool_reports
from lamplighter.usecases.sessions import approvals, parking

RESTART = Action(
    name="restart", kind=ActionKind.RESTART, argv=("/bin/true",), approve=ApprovalPolicy.ALWAYS
)


async def parked(
    db: Database, *services: str, now: datetime = NOON, by: Session | None = None
) -> tuple[Session, Approval]:
    """Let a session of tier 3 with these services request an approval for the first one."""
    if by is None:
        epoch = (await session(db, tier=3)).leader_epoch  # the first one makes a supervisor lead
        async with writing(db):
            plan = SessionPlan(tier=3, engine="exec", services=services)
            by = await sessions.insert(db, plan, model=None, epoch=epoch, now=now)
    wish = ActionRequest(
        service=services[0], action=RESTART.kind, name="restart", argv=RESTART.argv
    )
    found = await approvals.reserve_or_ask(context(db, now), DEFAULTS, by, wish, RESTART)
    assert isinstance(found, Approval)
    return by, found


async def round_made(db: Database, *, at: datetime = NOON + MINUTE, **healthy: bool) -> Session:
    by = await session(db)
    for service, ok in healthy.items():
        await seen(db, by, service, ok=ok, now=at)
    return await finished(db, by, now=at)


async def approval_states(db: Database) -> list[str]:
    return [row["state"] for row in await rows(db, "approvals")]


@pytest.mark.parametrize("tier", [1, 2])
async def test_services_of_a_parked_session_are_not_escalated(db: Database, tier: int) -> None:
    await parked(db, "Web", "db")
    by = await session(db, tier=tier)

    await said(db, by, "[ESCALATE:web] refused", "[ESCALATE:db] refused", "[ESCALATE:bare] gone")

    assert await states(db) == [("bare", "open", "")]
    why = "not escalated: another session is waiting for approval since 12:00 UTC"
    assert [row["reason"] for row in await rows(db, "markers")] == [why, why, ""]


async def test_handoff_tool_explains_why_a_service_is_not_escalated(db: Database) -> None:
    await parked(db, "Web")
    taking = ingesting(db, await session(db), OPEN, [each.name for each in SERVICES])

    answer = await tool_reports.escalate(taking, "Web", "refused")

    assert answer.text.startswith("Web is not escalated: another session is waiting")
    assert await states(db) == []


async def test_service_that_its_session_found_healthy_is_released(db: Database) -> None:
    by, _ = await parked(db, "Web", "db")
    await seen(db, by, "db", ok=False)
    await seen(db, by, "db", ok=True)

    assert await parking.services_in_use(db, but=99) == {"web": NOON}


async def test_ended_session_holds_back_no_services(db: Database) -> None:
    by, _ = await parked(db, "Web")
    await finished(db, by)

    assert await parking.services_in_use(db, but=99) == {}


async def test_healthy_round_withdraws_earlier_approvals(db: Database) -> None:
    await parked(db, "Web")
    await round_made(db, Web=False, bare=True)
    assert await approval_states(db) == ["open"]

    await round_made(db, Web=True)

    assert await approval_states(db) == ["withdrawn"]
    assert [row["text"] for row in await rows(db, "events")][-1] == (
        "Approval of restart of Web withdrawn: Web is healthy again."
    )


async def test_healthy_round_keeps_approvals_requested_after_its_checks(db: Database) -> None:
    await parked(db, "Web", now=NOON + 2 * MINUTE)

    await round_made(db, Web=True)

    assert await approval_states(db) == ["open"]


async def test_concurrent_waits_for_approval_count_once(db: Database) -> None:
    by, first = await parked(db, "Web")
    _, second = await parked(db, "db", now=NOON + MINUTE, by=by)
    deny = ApprovalAnswer(choice=ApprovalChoice.DENY)

    await approvals.decide(context(db, NOON + 2 * MINUTE), second.id, deny, by="anna")
    await approvals.decide(context(db, NOON + 3 * MINUTE), first.id, deny, by="anna")

    assert await parking.time_waited(db, by.id) == 3 * MINUTE
