"""The outcome of a session is decided at its end, and again after a person handled it."""

import json

from chains import DB, NAMES, RESTART, SERVICES, WEB, finished, said, seen
from examples import NOON, rows, session

from lamplighter.domain.services.cooldown import UseOutcome
from lamplighter.domain.sessions.session import OutcomeState
from lamplighter.repository import Database, writing
from lamplighter.repository.services import cooldowns
from lamplighter.repository.sessions import escalations, sessions
from lamplighter.usecases.services import act
from lamplighter.usecases.sessions import chain
from lamplighter.usecases.system.overview import overview


async def test_outcome_of_a_round_counts_its_failing_services(db: Database) -> None:
    healthy, failing = await session(db), await session(db)
    for name in NAMES:
        await seen(db, healthy, name, ok=True)
        await seen(db, failing, name, ok=name == "bare")

    assert (healthy.outcome, healthy.outcome_state) == ("", "")
    assert (await finished(db, healthy)).outcome == "all healthy"
    assert (await finished(db, failing)).outcome == "2 failing"


async def test_outcome_of_a_repair_has_its_time_and_is_in_the_overview(db: Database) -> None:
    by = await session(db, tier=3)
    use = await act.reserve(db, by, WEB.name, RESTART, now=NOON)
    await act.settle(db, use, UseOutcome.SUCCESS, text="done", now=NOON)
    async with writing(db):
        await cooldowns.record_recovery(db, use.id, 3.6, session_id=by.id, now=NOON)
    await finished(db, await session(db))

    ended = await finished(db, by)

    assert (ended.outcome, ended.outcome_state) == ("repaired Web in 4 s", "repaired")
    shown = await overview(db, SERVICES, start=NOON, now=NOON)
    assert [each.outcome for each in shown.outcomes] == ["repaired Web in 4 s"]


async def test_outcome_changes_once_an_escalation_is_marked_as_handled(db: Database) -> None:
    by = await session(db, tier=3)
    await said(db, by, f"[ESCALATE:{DB.name}] Refused")
    before = await finished(db, by)
    [asked] = await escalations.open_for_people(db)

    await chain.mark_handled(db, asked.id, now=NOON)

    after = await sessions.get(db, by.id)
    assert after is not None
    assert (before.outcome, after.outcome) == ("needs you for db", "needed you for db")
    assert after.outcome_state is OutcomeState.HANDLED
    assert after.version == before.version + 1
    fed = [row for row in await rows(db, "changes") if row["entity"] == "session"]
    assert json.loads(fed[-1]["row"])["outcome"] == "needed you for db"
