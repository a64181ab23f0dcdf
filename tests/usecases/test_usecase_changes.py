"""Changes before a failure: recorded, learned from the second time on, and a fix rechecked."""

from dataclasses import replace

import pytest
from acting import RESTART, acted
from chains import SERVICES as CHAINED
from chains import finished, said
from examples import session
from happening import (
    HOUR,
    MINUTE,
    NOON,
    REFUSED,
    SECOND,
    SERVICES,
    WEB,
    checked,
    failing,
    happened,
    held,
)

from confidences import DOWN, LEARNED, UP, after
from contexts import context
from lamplighter.domain.configuration import Configuration
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.incident import EntryKind
from lamplighter.domain.services.series import PointState
from lamplighter.domain.services.service import Services
from lamplighter.domain.sessions.context import build_env_context
from lamplighter.domain.sessions.session import SessionPlan, Status
from lamplighter.repository import Database, writing
from lamplighter.repository.services import cooldowns, events, incidents, outcomes
from lamplighter.repository.sessions import requests
from lamplighter.usecases.services.events import report
from lamplighter.usecases.services.incidents.advise import advice_on, record_declarations
from lamplighter.usecases.services.incidents.follow import follow
from lamplighter.usecases.services.incidents.lasting import refused_actions
from lamplighter.usecases.services.incidents.learn import learn
from lamplighter.usecases.sessions import chain
from lamplighter.usecases.sessions.sessions import SessionEnd, finish

NAMES = ("Web", "db", "cache")


async def reported(db: Database, text: str, at: int, service: str = "Web") -> None:
    """Report an event `at` minutes after noon."""
    here = context(db, NOON + at * MINUTE)
    await report(here, Level.INFO, text, service=service, services=NAMES)


async def test_deployment_before_a_failure_is_recorded_in_the_incident(
    db: Database,
) -> None:
    await reported(db, "Deployed db 2.1", -3, "db")
    incident = await failing(db, NOON)

    words = "3 min before: deployment of db: Deployed db 2.1"
    noted = {each.kind: each.text for each in await incidents.entries(db, incident.id)}
    assert noted[EntryKind.CHANGED] == words
    request = await requests.get(db, incident.request_id or 0)
    assert request is not None
    assert request.prompt.endswith(f"Failing checks: Web/tcp. {words}.")


@pytest.mark.parametrize(
    "text", ["Backup is done", "The deployment was not started", "The lock is released"]
)
async def test_other_events_do_not_count_as_changes(db: Database, text: str) -> None:
    await reported(db, text, -3)
    record = await happened(db, NOON)
    assert record.context["change"] is None


async def test_second_failure_after_a_deployment_is_learned(db: Database) -> None:
    sentence = "Fails after a deployment of Web: within {}, {} times"
    for hour, minutes in enumerate((4, 2)):
        assert not [text for text, _ in await held(db) if text.startswith("Fails after")]
        await reported(db, f"Deployed Web 2.{hour}", hour * 60 - minutes)
        record = await happened(db, NOON + hour * HOUR)
    assert record.context["change"] == {
        "kind": "deployment",
        "service": "Web",
        "text": "Deployed Web 2.1",
        "event": record.context["change"]["event"],
        "seconds": 120.0,
    }
    assert (sentence.format("4 min", "2 of 2"), LEARNED) in await held(db)

    for hour in (2, 3, 4):
        await reported(db, f"Deployed Web 2.{hour}", hour * 60)
    await reported(db, "Deployed Web 2.5", 299)
    await happened(db, NOON + 5 * HOUR)
    weaker = (sentence.format("4 min", "3 of 6"), after(UP))
    assert weaker in await held(db)
    for hour in (6, 7):
        await reported(db, f"Deployed Web 2.{hour}", hour * 60)
    await reported(db, "Deployed Web 3.0", 479)
    await happened(db, NOON + 8 * HOUR, names=("Web",))
    assert (sentence.format("4 min", "4 of 9"), after(UP, DOWN)) in await held(db)


async def test_two_failures_after_fifty_deployments_are_not_learned(db: Database) -> None:
    for hour in range(50):
        await reported(db, f"Deployed Web 1.{hour}", hour * 60)
    for hour in (60, 61):
        await reported(db, f"Deployed Web 2.{hour}", hour * 60 - 1)
        await happened(db, NOON + hour * HOUR)

    assert not [text for text, _ in await held(db) if text.startswith("Fails after")]


async def test_one_deployment_before_two_failures_counts_once(db: Database) -> None:
    await reported(db, "Deployed Web 2.1", -1)
    await happened(db, NOON)
    await happened(db, NOON + 10 * MINUTE)
    assert not [text for text, _ in await held(db) if text.startswith("Fails after")]

    await reported(db, "Deployed Web 2.2", 58)
    for minutes in (60, 70):
        await happened(db, NOON + minutes * MINUTE)
    learned = ("Fails after a deployment of Web: within 2 min, 2 of 2 times", 0.7)
    assert learned in await held(db)


async def test_handoff_includes_the_last_change_of_a_dependency(db: Database) -> None:
    await reported(db, "Deployed db 2.1", -3, "db")
    by = await session(db, tier=1)
    await said(db, by, "[ESCALATE:Web] refused")
    by = await finished(db, by)
    found = await chain.handoff_from(db, by.id, services=CHAINED, now=NOON)
    assert found is not None
    text = build_env_context(SessionPlan(tier=2), (), handoff=found, now=NOON)
    assert "- change: deployment of db at 11:57 UTC: Deployed db 2.1" in text


async def test_reported_deployment_invalidates_a_known_fix(db: Database) -> None:
    await happened(db, NOON)
    await reported(db, "Deployed Web 2.1", 30)
    assert (await advice_on(db, SERVICES.items[0], REFUSED, now=NOON + HOUR)).fix is None


async def test_change_during_an_incident_allows_another_attempt(
    db: Database,
) -> None:
    incident = await failing(db, NOON)
    by = await session(db, tier=3)
    async with writing(db):
        await requests.claim(db, incident.request_id or 0, by.id, now=NOON)
    use = await acted(db, by, ok=False, now=NOON + SECOND)
    async with writing(db):
        await cooldowns.change(db, use.id, did_not_last=True, now=NOON + SECOND)
    await follow(db, SERVICES, now=NOON + SECOND)
    refused = await refused_actions(db, WEB, REFUSED, now=NOON + MINUTE)
    assert [*refused] == ["restart"]

    changed = Services((replace(WEB, actions=(replace(RESTART, wait=9.0),)), *SERVICES.items[1:]))
    at = NOON + MINUTE
    for _ in range(2):
        assert await record_declarations(db, SERVICES, now=at) == []
    assert await record_declarations(db, changed, now=at) == ["Web"]
    assert await refused_actions(db, changed.items[0], REFUSED, now=at + SECOND) == {}

    await acted(db, by, ok=True, now=at + SECOND)
    await finish(context(db, NOON), Configuration(), by, SessionEnd(status=Status.COMPLETED))
    for minute in (2, 3):
        await checked(db, PointState.PASSED, NOON + minute * MINUTE, "Web", services=changed)
    assert await learn(context(db, NOON + 5 * MINUTE), changed) == 1
    [record] = await outcomes.of_incident(db, incident.id)
    assert (record.attempts, record.result) == (1, "fixed")
    advice = await advice_on(db, changed.items[0], REFUSED, now=NOON + HOUR)
    assert advice.fix
    assert (await advice_on(db, WEB, REFUSED, now=NOON + HOUR)).fix is None
    [event] = (await events.page(db, events.EventSelection(), limit=9)).items
    assert event.text == "The declaration of Web in services.yaml has changed"
