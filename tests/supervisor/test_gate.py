"""The gate: what may run, how often, and what is stored."""

import asyncio
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from gates import (
    FAILS,
    NOON,
    REDEPLOY,
    UNDER_WAY,
    WEB,
    gate,
    known_to_fail,
    opened,
    told,
    until,
    uses,
    with_action,
)

from lamplighter.domain.actions.policy import REFUSALS
from lamplighter.domain.secrets.redact import Redactor
from lamplighter.domain.services.cooldown import CooldownUse, UseOutcome
from lamplighter.domain.services.service import ActionKind, Services
from lamplighter.domain.sessions.session import Status
from lamplighter.engines.bounded import ProgramResult
from lamplighter.repository import Database, writing
from lamplighter.repository.sessions import sessions
from lamplighter.repository.store.driver import OperationalError
from lamplighter.repository.upkeep import leases
from lamplighter.supervisor.actions.gate import NOT_RECORDED, NOTHING_RUN, SHOWN_CHARS, GateVerdict


async def test_gate_stores_a_use_with_the_output_of_the_action(db: Database) -> None:
    services = with_action("/bin/sh", "-c", "echo one; echo two")
    session = await opened(db)

    verdict = await gate(db, session, services=services).run_action("WEB", "restart")

    words = "done: one two; not confirmed: Web has no checks"
    assert verdict == GateVerdict(
        outcome=UseOutcome.UNCONFIRMED, text=words, use_id=1, attempts=1, exit_code=0
    )
    assert await uses(db) == [
        CooldownUse(
            id=1,
            service="Web",
            action=ActionKind.RESTART,
            outcome=UseOutcome.UNCONFIRMED,
            created_at=NOON,
            name="restart",
            text=words,
            attempts=1,
            session_id=session.id,
            tier=3,
            settled_at=NOON,
            version=2,
        )
    ]


@pytest.mark.parametrize(
    ("more", "service", "action", "words"),
    [
        ({"tier": 1}, "web", "restart", "sessions of tier 1 may not run actions"),
        ({"tier": 2}, "web", "restart", "sessions of tier 2 may not run actions"),
        ({}, "plex", "restart", "'plex' is not in services.yaml"),
        ({}, "a\nb\x1b[31m", "restart", "'a b[31m' is not in services.yaml"),
        ({}, "web", "rm -rf /", "Web has no action 'rm -rf /' in services.yaml"),
        ({}, "web", "Restart", "Web has no action 'Restart' in services.yaml"),
        ({}, "other", "redeployment", "other has no action 'redeployment' in services.yaml"),
        ({"services": ("other",)}, "web", "restart", "Web is not in the scope of this session"),
        ({"services": ()}, "web", "restart", "Web is not in the scope of this session"),
    ],
)
async def test_gate_refuses_undeclared_or_out_of_scope_actions_with_a_reason(
    db: Database, more: dict[str, Any], service: str, action: str, words: str
) -> None:
    session = await opened(db, **more)

    verdict = await gate(db, session).run_action(service, action)

    assert verdict == GateVerdict(outcome=UseOutcome.REFUSED, text=words)
    assert not [use for use in await uses(db) if use.spent]


async def test_refused_requests_are_reported_a_limited_number_of_times(db: Database) -> None:
    asked = gate(db, await opened(db))

    for _ in range(REFUSALS + 5):
        await asked.run_action("web", "rm -rf /")

    words = "Refused 'rm -rf /' of 'web': Web has no action 'rm -rf /' in services.yaml."
    assert await told(db) == [("warning", words)] * REFUSALS


async def test_gate_refuses_actions_of_an_ended_session(db: Database) -> None:
    session = await opened(db)
    asked = gate(db, session)
    async with writing(db):
        await sessions.end(db, session.id, Status.COMPLETED, now=NOON)

    verdict = await asked.run_action("web", "restart")

    assert (verdict.outcome, verdict.text) == (UseOutcome.REFUSED, "its session has ended")


async def test_gate_refuses_actions_after_a_stop_request(db: Database) -> None:
    session = await opened(db)
    asked = gate(db, session)
    async with writing(db):
        await sessions.request_stop(db, session.id, now=NOON)

    verdict = await asked.run_action("web", "restart")

    assert (verdict.outcome, verdict.text) == (UseOutcome.REFUSED, "its session has ended")
    assert not verdict.ran


async def test_gate_refuses_actions_of_an_ending_session(db: Database) -> None:
    asked = gate(db, await opened(db))
    asked.ending = True

    verdict = await asked.run_action("web", "restart")

    assert (verdict.outcome, verdict.text) == (UseOutcome.REFUSED, "its session has ended")
    assert await asked.stopped() == "its session has ended"
    assert await uses(db) == []


@pytest.mark.parametrize("epoch", [7, None])
async def test_gate_refuses_actions_of_a_session_of_another_leader(
    db: Database, epoch: int | None
) -> None:
    session = await opened(db, epoch=epoch or 0)
    if epoch is None:  # it was the leader's, until another one took over
        async with writing(db):
            await leases.acquire(
                db, pid=2, engine="exec", interval_seconds=60, dry_run=False, now=NOON
            )

    verdict = await gate(db, session).run_action("web", "restart")

    assert (verdict.outcome, verdict.text) == (UseOutcome.REFUSED, "its session has ended")
    assert not verdict.ran


async def test_cooldown_refusal_is_stored_and_reported_without_using_a_slot(db: Database) -> None:
    asked = gate(db, await opened(db))
    for _ in range(2):
        assert (await asked.run_action("web", "restart")).outcome is UseOutcome.UNCONFIRMED

    third, fourth = [await asked.run_action("web", "restart") for _ in range(2)]

    words = "used 2 of 2 times in 4 h; next use at 16:00 UTC"
    assert third == GateVerdict(outcome=UseOutcome.REFUSED, text=words, use_id=3)
    assert (fourth.text, fourth.use_id) == (words, 4)
    assert [(use.outcome, use.attempts) for use in await uses(db)] == [
        ("unconfirmed", 1),
        ("unconfirmed", 1),
        ("refused", 0),
        ("refused", 0),
    ]
    assert await told(db) == [("warning", f"Restart refused: {words}.")] * 2
    later = gate(db, asked.session, now=lambda: NOON + timedelta(hours=4))
    assert (await later.run_action("web", "restart")).outcome is UseOutcome.UNCONFIRMED


async def test_cooldowns_are_separate_by_service_and_kind(db: Database) -> None:
    asked = gate(db, await opened(db))

    wishes = [("web", "restart")] * 3 + [("web", "redeployment")] * 2 + [("other", "restart")] * 3
    outcomes = [(await asked.run_action(*wish)).outcome for wish in wishes]

    ok, no = UseOutcome.UNCONFIRMED, UseOutcome.REFUSED
    assert outcomes == [ok, ok, no, ok, no, ok, ok, no]


async def test_dry_run_reports_the_action_and_uses_no_slot(db: Database) -> None:
    asked = gate(db, await opened(db, dry_run=True))

    verdicts = [await asked.run_action("web", "restart") for _ in range(3)]

    words = "would run restart of Web: /bin/true"
    assert [(each.outcome, each.text, each.ran) for each in verdicts] == [
        (UseOutcome.WOULD, words, False)
    ] * 3
    assert [(use.outcome, use.text, use.spent) for use in await uses(db)] == [
        ("would", words, False)
    ] * 3
    assert await told(db) == [("info", f"Dry run: {words}")] * 3


async def test_twenty_concurrent_sessions_run_the_action_twice_and_in_sequence(
    db: Database, tmp_path: Path
) -> None:
    acted = tmp_path / "acted"
    services = with_action("/bin/sh", "-c", f"echo begins >> {acted}; echo ends >> {acted}")
    gates = [gate(db, await opened(db), services=services) for _ in range(20)]
    count = Counter[UseOutcome]()
    for _ in range(3):
        verdicts = await asyncio.gather(*(each.run_action("web", "restart") for each in gates))
        count += Counter(each.outcome for each in verdicts)

    assert acted.read_text() == "begins\nends\n" * 2, "one had not ended when the other began"
    assert count == {"unconfirmed": 2, "refused": 58}


async def test_twenty_concurrent_requests_of_a_session_run_in_sequence(
    db: Database, tmp_path: Path
) -> None:
    acted = tmp_path / "acted"
    slow = f"echo begins >> {acted}; sleep 0.1; echo ends >> {acted}"
    asked = gate(db, await opened(db), services=with_action("/bin/sh", "-c", slow))
    count = 0
    for _ in range(3):
        verdicts = await asyncio.gather(*(asked.run_action("web", "restart") for _ in range(20)))
        count += Counter(each.outcome for each in verdicts)[UseOutcome.UNCONFIRMED]

    assert count == 2
    assert acted.read_text() == "begins\nends\n" * 2, "one had not ended when the other began"


async def test_second_action_on_a_service_is_refused_while_one_runs(db: Database) -> None:
    asked = gate(db, await opened(db))
    first = asyncio.create_task(asked.run_action("web", "pause"))
    await until(lambda: asked.busy)

    others = [await asked.run_action("web", name) for name in ("restart", "redeployment")]
    elsewhere = await asked.run_action("other", "restart")
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)

    assert [(each.outcome, each.text) for each in others] == [(UseOutcome.REFUSED, UNDER_WAY)] * 2
    assert elsewhere.outcome is UseOutcome.UNCONFIRMED


async def test_second_attempt_shares_the_use_if_first_attempts_are_known_to_fail(
    db: Database,
) -> None:
    await known_to_fail(db)
    asked = gate(db, await opened(db))

    first = await asked.run_action("web", "fails")
    second = await asked.run_action("web", "fails", again=first.use_id)
    third = await asked.run_action("web", "fails", again=first.use_id)

    assert [(each.use_id, each.attempts) for each in (first, second, third)] == [
        (1, 1),
        (1, 2),
        (2, 1),
    ]
    assert [(use.attempts, use.outcome) for use in await uses(db)] == [
        (2, "failure"),
        (1, "failure"),
    ]


async def test_second_attempt_is_a_new_use_if_nothing_is_known(db: Database) -> None:
    asked = gate(db, await opened(db))

    first = await asked.run_action("web", "fails")
    second = await asked.run_action("web", "fails", again=first.use_id)
    third = await asked.run_action("web", "fails", again=first.use_id)

    assert [(each.use_id, each.outcome) for each in (first, second, third)] == [
        (1, "failure"),
        (2, "failure"),
        (3, "refused"),
    ]


async def test_second_attempt_is_refused_while_another_action_runs(
    db: Database,
) -> None:
    await known_to_fail(db)
    slow = replace(REDEPLOY, argv=("/bin/sleep", "60"))
    services = Services((replace(WEB, actions=(FAILS, slow)),))
    asked = gate(db, await opened(db), services=services)
    first = await asked.run_action("web", "fails")
    other = asyncio.create_task(asked.run_action("web", "redeployment"))
    await until(lambda: asked.busy)

    second = await asked.run_action("web", "fails", again=first.use_id)
    other.cancel()
    await asyncio.gather(other, return_exceptions=True)

    assert (second.outcome, second.text) == (UseOutcome.REFUSED, UNDER_WAY)


async def test_use_remains_reserved_and_counted_after_a_crash(db: Database) -> None:
    async def broken(*_: object, **__: object) -> ProgramResult:
        raise MemoryError

    asked = gate(db, await opened(db), execute=broken)

    with pytest.raises(MemoryError):
        await asked.run_action("web", "restart")

    [use] = await uses(db)
    assert use.spent
    assert not asked.busy


async def test_finished_action_is_reported_as_done_if_its_result_cannot_be_stored(
    db: Database,
) -> None:
    asked = gate(db, await opened(db))
    ran = asked.execute

    async def then_nobody_writes(*given: Any, **more: Any) -> ProgramResult:
        ended = await ran(*given, **more)
        db.fence = gone
        return ended

    async def gone() -> None:
        raise OperationalError("the disk is full")

    asked.execute = then_nobody_writes
    verdict = await asked.run_action("web", "restart")
    db.fence = None

    assert (verdict.outcome, verdict.text) == (UseOutcome.UNCONFIRMED, f"done; {NOT_RECORDED}")
    [use] = await uses(db)
    assert use.outcome is UseOutcome.RESERVED, "it counts, and is settled when its session ends"


async def test_action_is_refused_and_does_not_run_while_the_database_is_lost(db: Database) -> None:
    async def gone() -> None:
        raise OperationalError("the server closed the connection")

    asked = gate(db, await opened(db))
    db.fence = gone

    verdict = await asked.run_action("web", "restart")
    db.fence = None

    assert (verdict.outcome, verdict.text) == (UseOutcome.REFUSED, NOTHING_RUN)
    assert (await uses(db), asked.busy) == ([], False)
    assert (await asked.run_action("web", "restart")).accepted


async def test_secret_in_action_output_is_masked_before_truncation(db: Database) -> None:
    secret = "hunter2-hunter2-hunter2"
    words = "x" * (SHOWN_CHARS - 10) + secret
    services = with_action("/bin/echo", words)
    asked = gate(db, await opened(db), services=services, redact=Redactor({secret: "A_TOKEN"}))

    verdict = await asked.run_action("web", "restart")

    assert "hunter2" not in verdict.text
    assert "hunter2" not in (await uses(db))[0].text


async def test_second_attempt_requires_the_same_session_and_action(db: Database) -> None:
    await known_to_fail(db)
    one, two = gate(db, await opened(db)), gate(db, await opened(db))
    first = await one.run_action("web", "fails")

    elsewhere = await two.run_action("web", "fails", again=first.use_id)
    another = await one.run_action("web", "restart", again=first.use_id)
    unknown = await one.run_action("other", "restart", again=99)

    assert (elsewhere.use_id, elsewhere.attempts) == (2, 1)
    assert another.outcome is UseOutcome.REFUSED
    assert (unknown.use_id, unknown.attempts) == (4, 1)


async def test_gate_refuses_a_second_attempt_of_an_ended_session(db: Database) -> None:
    await known_to_fail(db)
    asked = gate(db, await opened(db))
    first = await asked.run_action("web", "fails")
    async with writing(db):
        await sessions.end(db, asked.session.id, Status.STOPPED, now=NOON)

    second = await asked.run_action("web", "fails", again=first.use_id)

    assert (second.outcome, second.text) == (UseOutcome.REFUSED, "its session has ended")
