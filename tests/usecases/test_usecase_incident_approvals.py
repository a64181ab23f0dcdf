"""Approvals inside an incident: refused, replaced, withdrawn, and named in its timeline."""

from datetime import datetime
from typing import Any

import pytest
from chains import finished, said
from examples import rows, session
from happening import MINUTE, NOON, SECOND, SERVICES, checked, failing

from contexts import DEFAULTS, context
from lamplighter.domain.actions.approval import (
    ActionRequest,
    Approval,
    ApprovalAnswer,
    ApprovalChoice,
    ApprovalState,
)
from lamplighter.domain.services.incident import Incident, IncidentOutcome, IncidentState
from lamplighter.domain.services.notice import NoticePolicy
from lamplighter.domain.services.series import PointState
from lamplighter.domain.services.service import Action, ActionKind, ApprovalPolicy
from lamplighter.domain.sessions.session import Session, SessionPlan
from lamplighter.repository import Database, writing
from lamplighter.repository.access import journal
from lamplighter.repository.services import incidents, notices
from lamplighter.repository.sessions import approvals as stored
from lamplighter.repository.sessions import escalations, requests, sessions
from lamplighter.usecases.services.incidents import view
from lamplighter.usecases.services.incidents.follow import follow
from lamplighter.usecases.sessions import approvals, chain, parking
from lamplighter.usecases.system import incident_changes
from lamplighter.usecases.system.incident_changes import IncidentChange
from lamplighter.usecases.system.overview import overview

RESTART = Action(
    name="restart", kind=ActionKind.RESTART, argv=("/bin/true",), approve=ApprovalPolicy.ALWAYS
)


async def waits(db: Database, incident: Incident, *, at: datetime) -> tuple[Session, Approval]:
    """Let a session of tier 3 request the restart of Web for an incident."""
    epoch = (await session(db)).leader_epoch
    async with writing(db):
        plan = SessionPlan(tier=3, engine="exec", services=("Web",))
        by = await sessions.insert(db, plan, model=None, epoch=epoch, now=at)
        assert incident.request_id
        await requests.claim(db, incident.request_id, by.id, now=at)
    wish = ActionRequest(
        service="Web", action=RESTART.kind, name=RESTART.name, argv=RESTART.argv, reason="down"
    )
    approval = await approvals.reserve_or_ask(context(db, at), DEFAULTS, by, wish, RESTART)
    assert isinstance(approval, Approval)
    await follow(db, SERVICES, now=at)
    return by, approval


async def denied(db: Database, incident: Incident, *, at: datetime) -> Session:
    by, approval = await waits(db, incident, at=at)
    no = ApprovalAnswer(choice=ApprovalChoice.DENY, note="I repair it")
    await approvals.decide(context(db, at + SECOND), approval.id, no, by="anna")
    await said(db, by, "[ESCALATE:Web] restart refused: denied by a person: I repair it")
    await finished(db, by, now=at + 2 * SECOND)
    await follow(db, SERVICES, now=at + 2 * SECOND)
    return by


async def expired(db: Database, incident: Incident, *, at: datetime) -> Session:
    by, approval = await waits(db, incident, at=at)
    await approvals.expire(db, approval.id, now=at + SECOND)
    await said(db, by, "[ESCALATE:Web] restart refused: no decision within 1 min")
    await finished(db, by, now=at + 2 * SECOND)
    await follow(db, SERVICES, now=at + 2 * SECOND)
    return by


async def recovers(db: Database, *, at: datetime) -> None:
    for moment in (at, at + SECOND):
        await checked(db, PointState.PASSED, moment, "Web")


async def people(db: Database, *, at: datetime) -> list[str]:
    found = await overview(db, SERVICES, start=NOON, now=at)
    return [each.reason for each in found.people]


async def entries(db: Database, incident: Incident) -> list[str]:
    found: dict[str, Any] = await view.read(db, incident.id, now=NOON + 60 * MINUTE)
    return [f"{each['kind']}: {each['text']}" for each in found["timeline"]]


@pytest.mark.parametrize("refused", [denied, expired])
async def test_recovered_service_that_fails_again_is_escalated_after_a_refusal(
    db: Database, refused: Any
) -> None:
    incident = await failing(db, NOON)
    await refused(db, incident, at=NOON + 2 * SECOND)
    waiting = await chain.services_waiting(db, SERVICES, DEFAULTS, now=NOON + MINUTE)
    assert list(waiting) == (["Web"] if refused is denied else [])
    assert len(await people(db, at=NOON + MINUTE)) == 1

    await recovers(db, at=NOON + MINUTE)
    assert (await view.get(db, incident.id)).outcome is IncidentOutcome.RECOVERED
    again = await failing(db, NOON + 10 * MINUTE)

    assert again.id != incident.id
    later = NOON + 11 * MINUTE
    assert await chain.services_waiting(db, SERVICES, DEFAULTS, now=later) == {}
    assert await people(db, at=later) == []
    by = await session(db)
    await said(db, by, "[ESCALATE:Web] connection refused")
    assert [row["outcome"] for row in await rows(db, "markers")][-1] == "recorded"
    await follow(db, SERVICES, now=later)
    assert (await view.get(db, again.id)).state is not IncidentState.NEEDS_PERSON


async def test_denial_leaves_the_service_to_the_person_until_it_recovers(db: Database) -> None:
    incident = await failing(db, NOON)
    await denied(db, incident, at=NOON + 2 * SECOND)

    await checked(db, PointState.PASSED, NOON + MINUTE, "Web")
    await checked(db, PointState.FAILED, NOON + 2 * MINUTE, "Web")

    later = NOON + 3 * MINUTE
    assert list(await chain.services_waiting(db, SERVICES, DEFAULTS, now=later)) == ["Web"]
    assert (await view.get(db, incident.id)).state is IncidentState.NEEDS_PERSON


async def test_new_approval_replaces_the_earlier_request_to_a_person(db: Database) -> None:
    incident = await failing(db, NOON)
    by = await expired(db, incident, at=NOON + 2 * SECOND)
    assert await people(db, at=NOON + MINUTE) == ["restart refused: no decision within 1 min"]

    _, approval = await waits(db, incident, at=NOON + 2 * MINUTE)

    assert await people(db, at=NOON + 2 * MINUTE) == []
    [first] = await escalations.of_sessions(db, [by.id])
    assert (first.state, first.why) == ("closed", f"approval {approval.id} was requested")
    ended = await sessions.get(db, by.id)
    assert ended
    assert ended.outcome == "needed you for Web"


async def test_request_of_the_same_session_to_a_person_stays_open(db: Database) -> None:
    incident = await failing(db, NOON)
    by, _ = await waits(db, incident, at=NOON + 2 * SECOND)
    await chain.ask_person(db, by, "Web", "the certificate expired", now=NOON + 3 * SECOND)
    more = ActionRequest(service="Web", action=RESTART.kind, name="other", argv=("/bin/false",))

    await approvals.reserve_or_ask(context(db, NOON + MINUTE), DEFAULTS, by, more, RESTART)

    assert await people(db, at=NOON + MINUTE) == ["the certificate expired"]


@pytest.mark.parametrize("outcome", incident_changes.BY_HAND)
async def test_closed_incident_withdraws_its_approval_and_stops_the_session(
    db: Database, outcome: IncidentOutcome
) -> None:
    incident = await failing(db, NOON)
    by, approval = await waits(db, incident, at=NOON + 2 * SECOND)
    assert (await view.get(db, incident.id)).state is IncidentState.WAITING

    at = NOON + MINUTE
    await incident_changes.change(context(db, at), incident.id, IncidentChange(outcome=outcome))

    withdrawn = await stored.get(db, approval.id)
    assert withdrawn is not None
    note = f"incident {incident.id} was closed"
    assert (withdrawn.state, withdrawn.note) == (ApprovalState.WITHDRAWN, note)
    assert withdrawn.decided_at == at
    assert f"approval: restart of Web: withdrawn: {note}" in await entries(db, incident)
    stopping = await sessions.get(db, by.id)
    assert stopping is not None
    assert stopping.stop_requested_at == at
    assert await parking.services_in_use(db, but=99) == {}
    await said(db, by, "[ESCALATE:Web] restart refused: withdrawn")
    assert [row["outcome"] for row in await rows(db, "markers")] == ["held back"]
    assert await escalations.open_for_people(db) == []

    again = await failing(db, NOON + 10 * MINUTE)
    _, second = await waits(db, again, at=NOON + 11 * MINUTE)
    assert second.id != approval.id
    assert (await view.get(db, again.id)).state is IncidentState.WAITING
    assert "approval: Asked to approve restart of Web" in await entries(db, again)


@pytest.mark.parametrize("waiting", [True, False])
async def test_undone_resolution_requests_the_withdrawn_approval_again(
    db: Database, waiting: bool
) -> None:
    incident = await failing(db, NOON)
    by = (await waits(db, incident, at=NOON + 2 * SECOND))[0] if waiting else await session(db)
    if not waiting:
        async with writing(db):
            assert incident.request_id
            await requests.claim(db, incident.request_id, by.id, now=NOON)
    at = NOON + MINUTE
    closed = IncidentChange(outcome=IncidentOutcome.UNRESOLVED)
    await incident_changes.change(context(db, at), incident.id, closed)
    await finished(db, by, now=at)
    [resolved] = (await journal.page(db, limit=9)).items

    await incident_changes.revert(context(db, at + SECOND), resolved.id)
    await checked(db, PointState.FAILED, at + 2 * SECOND, "Web")

    again = await view.get(db, incident.id)
    assert (again.state, again.request_id != incident.request_id) == (IncidentState.OPEN, waiting)
    note = "note: The resolution was undone."
    words = f"{note} If the failure lasts, the withdrawn approval is requested again."
    assert (words if waiting else note) in await entries(db, incident)
    if waiting:
        _, second = await waits(db, again, at=at + 3 * SECOND)
        assert second.state is ApprovalState.OPEN


async def test_recovery_withdraws_the_approval_of_the_service(db: Database) -> None:
    incident = await failing(db, NOON)
    _, approval = await waits(db, incident, at=NOON + 2 * SECOND)

    await recovers(db, at=NOON + MINUTE)

    withdrawn = await stored.get(db, approval.id)
    assert withdrawn is not None
    assert (withdrawn.state, withdrawn.note) == (ApprovalState.WITHDRAWN, "Web is healthy again")
    assert [each for each in await entries(db, incident) if "withdrawn" in each] == [
        "approval: restart of Web: withdrawn: Web is healthy again"
    ]
    assert (await view.get(db, incident.id)).outcome is IncidentOutcome.RECOVERED


async def test_end_is_sent_if_only_the_request_for_approval_was(db: Database) -> None:
    db.telling = NoticePolicy()
    incident = await failing(db, NOON)
    await waits(db, incident, at=NOON + 2 * SECOND)

    await recovers(db, at=NOON + 5 * SECOND)  # before the incident is announced

    texts = [each.title for each in (await notices.page(db, None, limit=9)).items]
    assert texts == [
        "Web is healthy again after 6 s; it recovered without a repair by Lamplighter",
        "Waiting for approval: restart of Web.",
    ]


@pytest.mark.parametrize(
    ("refused", "text"),
    [(denied, "denied by anna: I repair it"), (expired, "expired")],
)
async def test_timeline_states_the_decision_of_each_approval(
    db: Database, refused: Any, text: str
) -> None:
    incident = await failing(db, NOON)
    await refused(db, incident, at=NOON + 2 * SECOND)
    [asked] = await escalations.open_for_people(db)
    await chain.mark_handled(db, asked.id, now=NOON + MINUTE)
    await follow(db, SERVICES, now=NOON + MINUTE)

    found = await entries(db, incident)

    states = [each for each in found if each.startswith("state: ")]
    assert states == ["state: waiting_for_approval", "state: needs_person", "state: open"]
    assert found.index(f"approval: restart of Web: {text}") > found.index(states[0])
    assert "event: No longer needs a person: marked as handled" in found
    assert (await incidents.live(db))[0].state is IncidentState.OPEN
