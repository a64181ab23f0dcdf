"""An action with a later check failure is known not to help; one that helps is tried first."""

from dataclasses import replace

import pytest
from acting import REDEPLOY, RESTART, acted
from examples import session, stream
from happening import (
    HOUR,
    MINUTE,
    NOON,
    SECOND,
    checked,
    failing,
    happened,
    held,
    with_actions,
)

from contexts import context, ingesting
from lamplighter.domain.configuration import Configuration
from lamplighter.domain.secrets.redact import Redactor
from lamplighter.domain.services.check import PushCheck
from lamplighter.domain.services.cooldown import UseOutcome
from lamplighter.domain.services.series import PointState
from lamplighter.domain.services.service import Service, Services
from lamplighter.domain.sessions.session import Session, Status, Trigger
from lamplighter.repository import Database, writing
from lamplighter.repository.services import incidents, outcomes
from lamplighter.repository.sessions import requests
from lamplighter.supervisor.run.tasks import known_fixes_of
from lamplighter.usecases.ingest import session_lines
from lamplighter.usecases.services import act
from lamplighter.usecases.services.incidents.learn import learn
from lamplighter.usecases.sessions.sessions import SessionEnd, finish

BOTH = with_actions(RESTART, REDEPLOY)
CLAIM = "[COOLDOWN:restart:Web] failure - not healthy after 15 s"


async def repaired_by_the_second_action(db: Database, failed: list[int]) -> list[tuple[str, str]]:
    """Return the outcome of a restart, after which a check failed at these seconds."""
    incident = await failing(db, NOON, services=BOTH)
    by = await session(db, tier=3)
    async with writing(db):
        await requests.claim(db, incident.request_id or 0, by.id, now=NOON)
    await acted(db, by, outcome=UseOutcome.UNCONFIRMED, now=NOON + SECOND)
    await claimed(db, by)
    for after in failed:
        await checked(db, PointState.FAILED, NOON + (1 + after) * SECOND, "Web", services=BOTH)
    await acted(db, by, now=NOON + 20 * SECOND, action=REDEPLOY)
    await finish(context(db, NOON), Configuration(), by, SessionEnd(status=Status.COMPLETED))
    for at in (NOON + MINUTE, NOON + 2 * MINUTE):
        await checked(db, PointState.PASSED, at, "Web", services=BOTH)
    assert await learn(context(db, NOON + 3 * MINUTE), BOTH) == 1
    return [(e.action, e.result) for e in await outcomes.of_incident(db, incident.id)]


async def test_failures_during_an_action_leave_its_result_unclear(db: Database) -> None:
    incident = await failing(db, NOON, services=BOTH)
    by = await session(db, tier=3)
    async with writing(db):
        await requests.claim(db, incident.request_id or 0, by.id, now=NOON)
    use = await act.reserve(db, by, "Web", RESTART, now=NOON + SECOND)
    for after in (10, 20, 30):
        await checked(db, PointState.FAILED, NOON + after * SECOND, "Web", services=BOTH)
    await act.settle(db, use, UseOutcome.UNCONFIRMED, text="done", now=NOON + 40 * SECOND)
    await acted(db, by, now=NOON + 41 * SECOND, action=REDEPLOY)
    await finish(context(db, NOON), Configuration(), by, SessionEnd(status=Status.COMPLETED))
    for at in (NOON + MINUTE, NOON + 2 * MINUTE):
        await checked(db, PointState.PASSED, at, "Web", services=BOTH)
    assert await learn(context(db, NOON + 3 * MINUTE), BOTH) == 1

    found = {each.action: each.result for each in await outcomes.of_incident(db, incident.id)}
    assert found["restart"] == "unclear"


async def claimed(db: Database, by: Session) -> None:
    ingest = ingesting(db, by, Redactor(), ["Web"])
    await session_lines.ingest(ingest, stream(CLAIM), now=NOON + 16 * SECOND)


@pytest.mark.parametrize(
    ("failed", "result"), [([2, 8, 14], "failed"), ([1], "unclear"), ([25, 30], "unclear")]
)
async def test_failed_action_is_judged_by_later_check_results(
    db: Database, failed: list[int], result: str
) -> None:
    assert ("restart", result) in await repaired_by_the_second_action(db, failed)


@pytest.mark.parametrize("kind", ["push", "tcp"])
async def test_next_push_signal_confirms_the_restart_of_a_job(db: Database, kind: str) -> None:
    job = PushCheck(name="tcp", every=60.0) if kind == "push" else BOTH.items[0].checks[0]
    services = Services((Service(name="Web", checks=(job,), actions=(RESTART,)),))
    words = "no signal since the run expected at 2026-01-01 12:00:00 UTC"
    await checked(db, PointState.FAILED, NOON, "Web", detail=words, services=services)
    [incident] = await incidents.live(db)
    by = await session(db, tier=3)
    async with writing(db):
        await requests.claim(db, incident.request_id or 0, by.id, now=NOON)
    await acted(db, by, outcome=UseOutcome.UNCONFIRMED, now=NOON + SECOND)
    await finish(context(db, NOON), Configuration(), by, SessionEnd(status=Status.COMPLETED))
    for at in (NOON + MINUTE, NOON + 2 * MINUTE):
        await checked(db, PointState.PASSED, at, "Web", services=services)
    assert await learn(context(db, NOON + 3 * MINUTE), services) == 1

    fixed = [("Restart fixes 'no signal' on Web: 1 of 1", 0.7)] if kind == "push" else []
    assert await held(db) == fixed


async def test_known_fix_is_suggested_first_but_once_per_incident(
    db: Database,
) -> None:
    await happened(db, NOON, services=BOTH)
    at = NOON + HOUR
    await failing(db, at, services=BOTH)
    by = await session(db, tier=3)
    of = replace(by, services=("Web",))

    assert await known_fixes_of(db, of, BOTH, now=at + SECOND) == {"Web": "restart"}
    lower = replace(of, tier=2)
    assert await known_fixes_of(db, lower, BOTH, now=at + SECOND) == {}

    await acted(db, by, ok=False, now=at + 2 * SECOND)
    assert await known_fixes_of(db, of, BOTH, now=at + MINUTE) == {}
    begins = replace(of, trigger=Trigger.KNOWN_FIX)
    assert await known_fixes_of(db, begins, BOTH, now=at + MINUTE) == {"Web": "restart"}
