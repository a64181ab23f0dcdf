"""A resumed session: its supervisor, its data, and its leftovers."""

import pytest
from chains import RESTART, SERVICES, finished, said
from examples import LATER, NOON, rows, session

from lamplighter.domain.errors import Conflict
from lamplighter.domain.services.cooldown import UseOutcome
from lamplighter.domain.sessions.session import Session, SessionPlan
from lamplighter.repository import Database, writing
from lamplighter.repository.sessions import sessions
from lamplighter.repository.upkeep import leases
from lamplighter.usecases.access import access
from lamplighter.usecases.services import act
from lamplighter.usecases.sessions import chain
from lamplighter.usecases.sessions import sessions as lifecycle
from lamplighter.usecases.sessions.sessions import UNSETTLED_REASON, reopen, resume_session

WHY = "its supervisor had ended."
HANDED = "[ESCALATE:web] Refuses connections."


async def handed_on(db: Database) -> Session:
    """Return a session of tier 2 that received an escalation from a session of tier 1."""
    first = await session(db)
    await said(db, first, HANDED)
    await finished(db, first)
    plan = await chain.next_plan(db, first)
    opened = await lifecycle.begin(db, plan, services=SERVICES, epoch=1, now=NOON)
    return opened.session


async def next_leader(db: Database) -> int:
    async with writing(db):
        leader = await leases.acquire(
            db, pid=2, engine="messages", interval_seconds=60, dry_run=False, now=LATER
        )
    return leader.epoch


async def test_resume_under_the_next_leader_abandons_uses_and_revokes_the_token(
    db: Database,
) -> None:
    before = await session(db, tier=3)
    use = await act.reserve(db, before, "Web", RESTART, now=NOON)
    await access.mint_for_session(db, before, expires_at=LATER, now=NOON)
    epoch = await next_leader(db)

    after = await resume_session(db, before, WHY, epoch=epoch, now=LATER)

    assert (after.id, after.resumed, after.leader_epoch) == (before.id, 1, epoch)
    (kept,) = await rows(db, "cooldowns")
    assert (kept["id"], kept["outcome"], kept["text"]) == (
        use.id,
        UseOutcome.ABANDONED,
        UNSETTLED_REASON,
    )
    (token,) = await rows(db, "tokens")
    assert token["revoked_at"] is not None
    assert [(each["service"], each["text"]) for each in await rows(db, "events")] == [
        ("Web", f"Restart (abandoned): {UNSETTLED_REASON}"),
        (None, f"Session 1 resumes (1 of at most 3 times): {WHY}"),
    ]


async def test_resume_under_the_same_leader_keeps_running_uses_and_the_token(
    db: Database,
) -> None:
    before = await session(db, tier=3)
    await act.reserve(db, before, "Web", RESTART, now=NOON)
    await access.mint_for_session(db, before, expires_at=LATER, now=NOON)

    await resume_session(db, before, WHY, epoch=before.leader_epoch, now=LATER)

    (kept,) = await rows(db, "cooldowns")
    assert kept["outcome"] == UseOutcome.RESERVED
    (token,) = await rows(db, "tokens")
    assert token["revoked_at"] is None


async def test_resumed_session_gets_its_prompt_and_escalations(db: Database) -> None:
    before = await handed_on(db)

    again = await reopen(db, before, SERVICES, now=LATER)

    assert again.session == before
    assert "Session 1 (tier 1) escalated:\n- Web: Refuses connections." in again.prompt.injected
    assert again.handoff is not None
    assert [each.service for each in again.handoff.escalations] == ["Web"]


async def test_ended_session_does_not_resume(db: Database) -> None:
    over = await session(db)
    await finished(db, over)

    with pytest.raises(Conflict, match="has already ended"):
        await resume_session(db, over, WHY, epoch=1, now=LATER)

    assert (await sessions.get(db, over.id) or over).resumed == 0


async def test_session_without_a_stored_prompt_does_not_resume(db: Database) -> None:
    with pytest.raises(Conflict, match="has no stored prompt"):
        await reopen(db, await session(db), SERVICES, now=LATER)


async def test_plan_of_a_session_is_restored_from_its_row(db: Database) -> None:
    asked = {"services": ("Web",), "prompt": "Look", "model": "m", "budget_usd": 0.5}
    plan = SessionPlan(tier=2, engine="messages", **asked)
    await session(db)

    opened = await lifecycle.begin(db, plan, services=SERVICES, epoch=1, now=NOON)

    assert opened.session.plan == plan
