"""Approvals by concurrent people and processes: one decides, and an approval is used once."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from contexts import DEFAULTS, context
from lamplighter.domain.actions import policy
from lamplighter.domain.actions.approval import (
    SUPERVISOR_GONE,
    ActionRequest,
    Approval,
    ApprovalAnswer,
    ApprovalChoice,
    ApprovalState,
)
from lamplighter.domain.errors import Conflict, Stale
from lamplighter.domain.services.cooldown import CooldownUse, UseOutcome
from lamplighter.domain.services.notice import NoticePolicy
from lamplighter.domain.services.service import (
    Action,
    ActionKind,
    ApprovalPolicy,
    Service,
    Services,
)
from lamplighter.domain.sessions.session import Session, SessionPlan, Status, Trigger
from lamplighter.repository import Database, writing
from lamplighter.repository.access import journal
from lamplighter.repository.services import incidents, notices
from lamplighter.repository.sessions import approvals, sessions
from lamplighter.repository.sessions.approvals import ApprovalFilter
from lamplighter.repository.store import changes
from lamplighter.repository.store.tables import approvals as rows
from lamplighter.repository.upkeep import leases
from lamplighter.usecases.memory import journal as acts
from lamplighter.usecases.sessions import approvals as asking
from lamplighter.usecases.sessions import halt
from lamplighter.usecases.sessions.halt import HaltControl
from lamplighter.usecases.sessions.sessions import SessionEnd, finish

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
AT_ONCE = 8
REDEPLOY = Action(
    name="redeployment",
    kind=ActionKind.REDEPLOYMENT,
    argv=("/bin/true", "ü 'x'"),
    directory="/srv",
    approve=ApprovalPolicy.ALWAYS,
)
SERVICES = Services((Service(name="web", actions=(REDEPLOY,)),))
WISH = ActionRequest(
    service="web",
    action=REDEPLOY.kind,
    name=REDEPLOY.name,
    argv=REDEPLOY.argv,
    directory="/srv",
    reason="It answers 503",
)
YES, NO = ApprovalAnswer(choice=ApprovalChoice.APPROVE), ApprovalAnswer(choice=ApprovalChoice.DENY)
EDIT = ApprovalAnswer(choice=ApprovalChoice.EDIT, argv=("/bin/false",))


async def opened(db: Database) -> Session:
    async with writing(db):
        leader = await leases.get(db) or await leases.acquire(
            db, pid=1, engine="exec", interval_seconds=60, dry_run=False, now=NOON
        )
        plan = SessionPlan(tier=3, engine="exec")
        return await sessions.insert(db, plan, model=None, epoch=leader.epoch, now=NOON)


async def asked(
    db: Database, session: Session, wish: ActionRequest = WISH, **more: Any
) -> Approval:
    here, action = context(db, more.pop("now", NOON)), more.pop("action", REDEPLOY)
    found = await asking.reserve_or_ask(here, DEFAULTS, session, wish, action, **more)
    assert isinstance(found, Approval)
    return found


async def said(db: Database, number: int, answer: ApprovalAnswer, **more: Any) -> Approval:
    here = context(db, more.pop("now", NOON))
    return await asking.decide(here, number, answer, **{"by": "anna", **more})


async def several(stack: AsyncExitStack, url: str, count: int = AT_ONCE) -> list[Database]:
    """Open a database `count` times, as several processes would."""
    return [await stack.enter_async_context(Database(url)) for _ in range(count)]


async def test_one_of_several_concurrent_decisions_is_stored(db: Database, url: str) -> None:
    session = await opened(db)
    async with AsyncExitStack() as stack:
        doors = await several(stack, url)
        for turn in range(5):
            case = await asked(db, session, replace(WISH, argv=(f"/bin/{turn}",)))
            answers = [(YES, NO, EDIT)[number % 3] for number in range(AT_ONCE)]

            results = await asyncio.gather(
                *(
                    said(each, case.id, answer, by=f"person {number}")
                    for number, (each, answer) in enumerate(zip(doors, answers, strict=True))
                ),
                return_exceptions=True,
            )

            won = [number for number, each in enumerate(results) if isinstance(each, Approval)]
            assert len(won) == 1
            assert {type(each) for each in results} == {Approval, Conflict}
            held = await asking.get(db, case.id)
            assert held.decided_by == f"person {won[0]}"
            assert held.version == 2


async def test_approval_is_redeemed_once_under_concurrency(db: Database, url: str) -> None:
    session = await opened(db)
    case = await asked(db, session)
    await said(db, case.id, YES)
    async with AsyncExitStack() as stack:
        doors = await several(stack, url)

        taken = await asyncio.gather(
            *(asking.redeem(each, session, case.id, services=SERVICES, now=NOON) for each in doors)
        )

    assert [use.outcome for use, action in taken if action is not None] == [UseOutcome.RESERVED]
    use = next(use for use, action in taken if action)
    held = await asking.get(db, case.id)
    assert (held.state, held.use_id) == (ApprovalState.APPROVED, use.id)
    async with writing(db):
        starts = [
            await asking.start(db, case.id, use, services=SERVICES, now=NOON) for _ in range(2)
        ]
    assert starts == ["", "approval 1 is used"]
    held = await asking.get(db, case.id)
    assert (held.state, held.use_id) == (ApprovalState.USED, use.id)


async def test_decision_on_an_outdated_version_is_rejected_as_stale(db: Database) -> None:
    case = await asked(db, await opened(db))
    await said(db, case.id, YES, version=1)

    with pytest.raises(Stale) as stale:
        await said(db, case.id, NO, version=1)

    current = stale.value.current
    assert isinstance(current, Approval)
    assert (current.state, current.decided_by) == (ApprovalState.APPROVED, "anna")


@pytest.mark.parametrize(
    ("answer", "action"), [(YES, "approve"), (NO, "deny"), (EDIT, "replace")], ids=str
)
async def test_approval_decision_is_an_act_that_cannot_be_undone(
    db: Database, answer: ApprovalAnswer, action: str
) -> None:
    case = await asked(db, await opened(db))
    await said(db, case.id, answer)

    [act] = (await journal.page(db, limit=9)).items
    with pytest.raises(Conflict, match="A decision on an approval is final"):
        await acts.undo(db, act.id, now=NOON)

    assert (act.action, act.actor, act.subject) == (action, "anna", str(case.wish))
    assert (await approvals.get(db, case.id) or case).version == 2


async def test_another_session_cannot_use_an_approval(db: Database) -> None:
    case = await asked(db, await opened(db))
    await said(db, case.id, YES)

    use, action = await asking.redeem(db, await opened(db), case.id, services=SERVICES, now=NOON)

    assert (action, use.text) == (None, "approval 1 belongs to another session")


@pytest.mark.parametrize("state", [each for each in ApprovalState if each != "approved"])
async def test_unapproved_request_reserves_no_slot(db: Database, state: ApprovalState) -> None:
    session = await opened(db)
    case = await asked(db, session)
    async with writing(db):
        await db.execute(sa.update(rows).values(state=state))

    use, action = await asking.redeem(db, session, case.id, services=SERVICES, now=NOON)

    assert (action, use.outcome) == (None, UseOutcome.REFUSED)


async def test_each_approval_step_is_recorded_in_the_feed(db: Database) -> None:
    session = await opened(db)
    case = await asked(db, session)
    edited = await said(db, case.id, EDIT)
    await said(db, edited.id, NO)

    told = [
        (each.op, each.entity_id, each.row["state"], each.version)
        for each in await changes.list_after(db, 0)
        if each.entity == "approval" and each.row
    ]

    assert told == [
        ("created", 1, "open", 1),
        ("updated", 1, "replaced", 2),
        ("created", 2, "open", 1),
        ("updated", 2, "denied", 2),
    ]


async def test_approvals_are_read_as_stored_and_in_pages(db: Database) -> None:
    session = await opened(db)
    cases = [
        await asked(db, session, replace(WISH, argv=(f"/bin/{number}",))) for number in range(3)
    ]

    first = await approvals.page(db, ApprovalFilter(state=ApprovalState.OPEN), limit=2)
    rest = await approvals.page(
        db, ApprovalFilter(state=ApprovalState.OPEN), limit=2, position=first.position
    )
    every = await approvals.page(db, ApprovalFilter(session=session.id), limit=9)

    assert first.items + rest.items == cases
    assert every.items == cases[::-1]
    assert await db.fetch(approvals.count_open(NOON)) == (3, NOON)
    assert await db.fetch(approvals.count_open(NOON + timedelta(minutes=5))) == (0, None)


async def test_policy_first_applies_to_the_same_command_directory_and_service(db: Database) -> None:
    case = await asked(db, await opened(db))
    await said(db, case.id, YES)

    others = {
        "this": WISH,
        "argv": replace(WISH, argv=("/bin/true",)),
        "more": replace(WISH, argv=(*WISH.argv, "")),
        "directory": replace(WISH, directory=None),
        "service": replace(WISH, service="db"),
        "name": replace(WISH, name="other"),
    }
    given = {name: await approvals.was_approved(db, wish) for name, wish in others.items()}

    assert [name for name, yes in given.items() if yes] == ["this", "name"]


async def test_approval_permits_nothing_while_halted(db: Database) -> None:
    session = await opened(db)
    case = await asked(db, session)
    await said(db, case.id, YES)
    await halt.halt_all(db, HaltControl(), "Fire", by="anna", now=NOON)

    use, action = await asking.redeem(db, session, case.id, services=SERVICES, now=NOON)

    assert (action, use.text) == (None, policy.HALTED)
    assert (await asking.get(db, case.id)).state == "withdrawn"


async def test_pending_approvals_send_notices(db: Database) -> None:
    db.telling = NoticePolicy()
    await asked(db, await opened(db))

    [notice] = (await notices.page(db, None, limit=9)).items

    assert (notice.kind, notice.title) == ("approval", "Waiting for approval: redeployment of web.")
    assert notice.body.splitlines() == [
        "Session 1 (tier 3) wants to run, in /srv:",
        """/bin/true 'ü '"'"'x'"'"''""",
        "Reason: 'It answers 503'",
        (
            "The approval expires at 12:05 UTC. Decide in the app, or run `lamplighter "
            "approvals approve 1` (or deny, edit)."
        ),
    ]


async def interrupted(db: Database, session: Session, *, at: datetime = NOON) -> Session:
    """End a session together with its supervisor, and open the session that continues its work."""
    await asking.withdraw_all(db, SUPERVISOR_GONE, now=at)
    ending = SessionEnd(status=Status.INTERRUPTED)
    await finish(context(db, at), DEFAULTS, session, ending)
    return await opened(db)


async def notified(db: Database) -> list[str]:
    return [each.link for each in (await notices.page(db, None, limit=9)).items]


async def test_request_repeated_after_a_restart_notifies_once(
    db: Database,
) -> None:
    db.telling = NoticePolicy()
    session = await opened(db)
    first = await asked(db, session)
    repeated = await asked(db, session := await interrupted(db, session))
    newest = await asked(db, session := await interrupted(db, session))

    assert (repeated.replaces, newest.replaces) == (first.id, repeated.id)
    assert await notified(db) == [f"/approvals/{first.id}"]
    decided = await said(db, first.id, NO)
    assert (decided.id, decided.state) == (newest.id, ApprovalState.DENIED)
    refused = await asking.reserve_or_ask(context(db, NOON), DEFAULTS, session, WISH, REDEPLOY)
    assert isinstance(refused, CooldownUse), "it is not requested again"


@pytest.mark.parametrize("way", ["expired", "other command", "stopped", "edited", "other agent"])
async def test_different_request_after_a_restart_notifies_again(db: Database, way: str) -> None:
    db.telling = NoticePolicy()
    session = await opened(db)
    first = await asked(db, session)
    edited = await said(db, first.id, EDIT) if way == "edited" else None
    if way == "stopped":
        await asking.withdraw(db, first.id, "its session ended", now=NOON)
    session = await interrupted(db, session)
    session = replace(session, agent="other") if way == "other agent" else session
    wish = replace(WISH, argv=("/bin/other",)) if way == "other command" else WISH
    later = first.expires_at if way == "expired" else NOON

    again = await asked(db, session, wish, now=later)

    assert len(await notified(db)) == 2
    assert (again.state, again.replaces) == (ApprovalState.OPEN, None)
    with pytest.raises(Conflict):  # the command that a person edited away is not approved by it
        await said(db, (edited or first).id, YES)


@pytest.mark.parametrize("until", ["it is used", "incident ends", "session stops", "it expires"])
async def test_unused_approval_applies_to_a_repeated_request_during_its_incident(
    db: Database, until: str
) -> None:
    lasts = until == "it is used"
    db.telling = NoticePolicy()
    values = {"service": "web", "state": "open", "severity": "critical", "source": "check"}
    async with writing(db):
        made = await incidents.insert(db, **values, title="web", started_at=NOON, now=NOON)
        made = await incidents.add_members(db, made, {"web": "503"}, root="web", now=NOON)
    session = await opened(db)
    first = await said(db, (await asked(db, session)).id, YES)
    if until == "incident ends":
        async with writing(db):
            await incidents.update(db, made.id, resolved_at=NOON, now=NOON)
    if until == "session stops":
        async with writing(db):
            await sessions.request_stop(db, session.id, now=NOON)
    if until == "it expires":  # a repeated request does not make it last for longer
        almost = first.expires_at - timedelta(seconds=1)
        repeated = await asked(db, session := await interrupted(db, session), now=almost)
        assert (repeated.state, repeated.expires_at) == (ApprovalState.APPROVED, first.expires_at)

    later = first.expires_at if until == "it expires" else NOON
    again = await asked(db, session := await interrupted(db, session), now=later)

    assert len(await notified(db)) == (1 if lasts else 2)
    by, state = ("anna", "approved") if lasts else (None, "open")
    assert (again.decided_by, again.state) == (by, state)
    if lasts:
        use, action = await asking.redeem(db, session, again.id, services=SERVICES, now=NOON)
        assert (use.outcome, action) == (UseOutcome.RESERVED, REDEPLOY)


@pytest.mark.parametrize("until", ["the end", "incident ends", "a person starts a session"])
async def test_denial_while_no_supervisor_runs_applies_to_the_repeated_request(
    db: Database, until: str
) -> None:
    db.telling = NoticePolicy()
    values = {"service": "web", "state": "open", "severity": "critical", "source": "check"}
    async with writing(db):
        made = await incidents.insert(db, **values, title="web", started_at=NOON, now=NOON)
        made = await incidents.add_members(db, made, {"web": "503"}, root="web", now=NOON)
    session = await opened(db)
    first = await said(db, (await asked(db, session)).id, replace(NO, note="Not now"))
    session = await interrupted(db, session)
    if until == "incident ends":
        async with writing(db):
            await incidents.update(db, made.id, resolved_at=NOON, now=NOON)
    if until == "a person starts a session":
        session = replace(session, trigger=Trigger.MANUAL)

    again = await asked(db, session, now=first.expires_at)

    if until == "the end":
        assert (again.state, again.decided_by, again.note) == ("denied", "anna", "Not now")
        assert await notified(db) == [f"/approvals/{first.id}"]
    else:
        assert (again.state, again.replaces) == ("open", None)


async def test_withdraw_all_withdraws_open_and_unused_approvals(db: Database) -> None:
    session = await opened(db)
    one = await asked(db, session)
    two = await asked(db, session, replace(WISH, argv=("/bin/2",)))
    three = await asked(db, session, replace(WISH, argv=("/bin/3",)))
    await said(db, two.id, NO)
    await said(db, three.id, YES)

    await asking.withdraw_all(db, "gone", now=NOON)

    assert (await asking.get(db, one.id)).state == "withdrawn"
    assert (await asking.get(db, three.id)).state == "withdrawn", "a yes does not outlive them"
    assert (await asking.get(db, two.id)).state == "denied", "what is final stays"
