"""Chains: which services are escalated, and the prompt of the next session."""

import pytest
from acting import texts
from chains import SERVICES, finished, said, seen, states, used_up
from examples import NOON, SECRETIVE, rows, session

from lamplighter.domain.errors import Conflict
from lamplighter.domain.services.cooldown import UseOutcome
from lamplighter.domain.sessions.handoff import REASON_CHARS, Finding
from lamplighter.domain.sessions.session import Session, SessionPlan, Status, Trigger
from lamplighter.repository import Database, writing
from lamplighter.repository.services import findings
from lamplighter.repository.sessions import escalations
from lamplighter.repository.sessions import sessions as kept
from lamplighter.usecases.sessions import chain, sessions
from lamplighter.usecases.sessions.sessions import OpenedSession


async def handed(db: Database, *services: str, tier: int = 1) -> Session:
    """Return a session that ended and escalates these services."""
    by = await session(db, tier=tier)
    await said(db, by, *(f"[ESCALATE:{name}] connection refused" for name in services))
    return await finished(db, by)


async def taken_on(db: Database, parent: Session) -> OpenedSession:
    plan = await chain.next_plan(db, parent)
    return await sessions.begin(db, plan, services=SERVICES, epoch=1, now=NOON)


async def told(db: Database, source: str = "supervisor") -> list[tuple[str, str, str | None]]:
    return [
        (row["level"], row["text"], row["service"])
        for row in await rows(db, "events")
        if row["source"] == source
    ]


async def test_escalations_of_a_session_form_the_plan_of_the_next(db: Database) -> None:
    parent = await handed(db, "web", "db")

    plan = await chain.next_plan(db, parent)

    assert (parent.status, parent.reason) == ("escalated", "Escalated Web and db to tier 2.")
    assert plan == SessionPlan(
        tier=2,
        engine="exec",
        trigger=Trigger.ESCALATION,
        services=("Web", "db"),
        parent_id=parent.id,
    )
    assert await told(db, "marker") == [
        ("warning", "Escalation to tier 2: connection refused", "Web"),
        ("warning", "Escalation to tier 2: connection refused", "db"),
    ]


async def test_the_next_session_accepts_the_escalations_with_all_details(db: Database) -> None:
    root = await session(db)
    await seen(db, root, "Web", ok=False)
    await seen(db, root, "db", ok=True)
    await seen(db, root, "bare", ok=False)
    await said(db, root, "[ESCALATE:web] connection refused")
    second = await taken_on(db, await finished(db, root))
    async with writing(db):
        found = Finding(service="Web", stage="tcp", cause="db", detail="refused")
        await findings.insert(db, second.session.id, found, now=NOON)
    await seen(db, second.session, "db", ok=False)
    await said(db, second.session, "[ESCALATE:web] the connection fails")
    await used_up(db)

    third = await taken_on(db, await finished(db, second.session))

    session_ids = [root.id, second.session.id]
    assert third.session.parent_id == second.session.id
    assert third.handoff is not None
    assert third.handoff.services == ("Web",)
    assert [(look.service, look.ok) for look in third.handoff.check_results] == [
        ("Web", False),
        ("db", False),
    ]
    assert [(each.service, each.cause) for each in third.handoff.findings] == [("Web", "db")]
    assert [use.outcome for use in third.handoff.tried] == [UseOutcome.FAILURE] * 2
    assert await kept.lineage(db, third.session.id) == [*session_ids, third.session.id]
    for words in (
        "## Handoff",
        f"Session {second.session.id} (tier 2) escalated:",
        "- Web: the connection fails",
        "- check: Web/tcp failing: refused",
        "- diagnosis: Web fails at tcp, caused by db: refused",
        "- action: restart of Web at 12:00 UTC, failure: exit 1",
    ):
        assert words in third.prompt.injected
    assert await states(db) == [("Web", "taken", "")] * 2
    children = [each.child_id for each in await escalations.of_sessions(db, session_ids)]
    assert children == [second.session.id, third.session.id]


async def test_the_whole_chain_is_returned_from_any_of_its_sessions(db: Database) -> None:
    root = await handed(db, "web")
    second = await taken_on(db, root)
    await said(db, second.session, "[ESCALATE:web] the connection fails")
    third = await taken_on(db, await finished(db, second.session))

    numbers = [root.id, second.session.id, third.session.id]
    for number in numbers:
        found = await chain.get_chain(db, number)
        assert [each.id for each in found.sessions] == numbers
        assert [each.reason for each in found.handed] == [
            "connection refused",
            "the connection fails",
        ]


async def test_session_escalates_a_service_once(db: Database) -> None:
    by = await session(db)
    await said(db, by, "[ESCALATE:web] one", "[ESCALATE:WEB] two", "[ESCALATE:Web] three")

    ended = await finished(db, by)

    assert ended.reason == "Escalated Web to tier 2."
    assert [each.reason for each in await escalations.of_sessions(db, [by.id])] == ["one"]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("wbe", "service wbe not found; did you mean Web?"),
        ("plex", "service plex not found; declared services: db, Web, bare"),
    ],
)
async def test_escalation_of_an_undeclared_service_is_refused_immediately(
    db: Database, name: str, problem: str
) -> None:
    by = await session(db)
    await said(db, by, f"[ESCALATE:{name}] connection refused")

    assert await texts(db, "warning") == [f"Not escalated: {problem}"]
    ended = await finished(db, by)
    assert ended.status is Status.COMPLETED
    assert await states(db) == []
    assert [(row["state"], row["reason"]) for row in await rows(db, "markers")] == [
        ("refused", problem)
    ]


async def test_undeclared_service_does_not_block_other_escalations(db: Database) -> None:
    by = await session(db)
    await said(db, by, "[ESCALATE:nosuch] refused", "[ESCALATE:web] refused")

    assert (await finished(db, by)).reason == "Escalated Web to tier 2."


async def test_general_escalation_investigates_all_services(db: Database) -> None:
    parent = await handed(db, "general")

    begun = await taken_on(db, parent)

    assert begun.session.services is None
    assert begun.prompt.message == "Find out what is wrong with all services."


@pytest.mark.parametrize("status", sorted(set(sessions.ALARMING) | {Status.STOPPED}))
async def test_session_that_does_not_complete_drops_its_escalations(
    db: Database, status: Status
) -> None:
    by = await session(db)
    await said(db, by, "[ESCALATE:web] connection refused")

    ended = await finished(db, by, status)

    why = f"its session {status.replace('_', ' ')}"
    assert ended.status is status
    assert await states(db) == [("Web", "dropped", why)]
    text = f"Not escalated to tier 2, {why}. The next round checks again."
    assert ("warning", text, "Web") in await told(db)


async def test_dry_run_reports_services_without_escalating(db: Database) -> None:
    by = await kept_dry(db)
    await said(db, by, "[ESCALATE:web] connection refused", "[ESCALATE:db] gone")

    ended = await finished(db, by)

    assert (ended.status, ended.reason) == (
        "completed",
        "Dry run: Web and db would be escalated to tier 2.",
    )
    assert await told(db) == [
        ("info", "Dry run: would have escalated to tier 2: connection refused", "Web"),
        ("info", "Dry run: would have escalated to tier 2: gone", "db"),
    ]
    assert await escalations.unfinished(db) == []


async def kept_dry(db: Database) -> Session:
    await session(db)
    async with writing(db):
        return await kept.insert(db, SessionPlan(dry_run=True), model=None, epoch=1, now=NOON)


@pytest.mark.parametrize("max_tier", [1, 2, 3])
async def test_highest_tier_escalates_to_a_person_immediately(db: Database, max_tier: int) -> None:
    by = await session(db, tier=max_tier)
    await said(db, by, "[ESCALATE:web] nothing helps", max_tier=max_tier)
    at_once = await told(db, "marker")

    ended = await finished(db, by, max_tier=max_tier)

    assert at_once == [("critical", "Needs a person: nothing helps", "Web")]
    assert (ended.status, ended.reason) == ("completed", "Needs a person: Web.")
    assert await states(db) == [("Web", "person", "")]
    assert await told(db) == []


async def test_escalation_to_a_person_remains_if_the_session_fails(db: Database) -> None:
    by = await session(db, tier=3)
    await said(db, by, "[ESCALATE:web] nothing helps")

    await finished(db, by, Status.TIMED_OUT)

    assert await states(db) == [("Web", "person", "")]


async def test_escalations_are_accepted_once(db: Database) -> None:
    parent = await handed(db, "web")
    plan = await chain.next_plan(db, parent)
    await sessions.begin(db, plan, services=SERVICES, epoch=1, now=NOON)

    with pytest.raises(Conflict, match="is no longer open"):
        await sessions.begin(db, plan, services=SERVICES, epoch=1, now=NOON)

    assert [row["id"] for row in await rows(db, "sessions")] == [1, 2]


async def test_drop_stranded_drops_and_reports_escalations_of_a_dead_supervisor(
    db: Database,
) -> None:
    running = await session(db)
    await said(db, running, "[ESCALATE:db] refused")
    parent = await handed(db, "web")

    await chain.drop_stranded(db, now=NOON)

    why = "the supervisor ended before the next session started"
    assert await states(db) == [("db", "open", ""), ("Web", "dropped", why)]
    text = f"Not escalated to tier 2, {why}. The next round checks again."
    assert await told(db) == [("warning", text, "Web")]
    with pytest.raises(Conflict):
        await taken_on(db, parent)


async def test_escalation_reason_is_masked_and_truncated(db: Database) -> None:
    by = await session(db)
    await said(db, by, f"[ESCALATE:web] hunter2-hunter2 {'x' * 2 * REASON_CHARS}", redact=SECRETIVE)

    [found] = await escalations.of_sessions(db, [by.id])

    assert "hunter2" not in found.reason
    assert len(found.reason) <= REASON_CHARS


@pytest.mark.parametrize(
    ("names", "around"),
    [
        (["Web"], ["db"]),
        (["db"], ["Web"]),
        (["WEB", "DB"], []),
        (["bare"], []),
        (["plex"], []),
    ],
)
def test_neighbors_are_dependencies_and_dependents(names: list[str], around: list[str]) -> None:
    assert SERVICES.neighbors(names) == around
