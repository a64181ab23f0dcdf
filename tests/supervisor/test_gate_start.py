"""The start of an action at the gate: the last check, and what an action not started leaves."""

import asyncio
import random
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from gates import FAILS, NOON, RESTART, gate, known_to_fail, opened, told, until, uses
from test_approval_waits import SECONDS, YES, asked, declared, ran

from lamplighter import clock
from lamplighter.domain.services.cooldown import UseOutcome
from lamplighter.domain.services.service import Service, Services
from lamplighter.repository import Database
from lamplighter.usecases.sessions import halt
from lamplighter.usecases.sessions.halt import HaltControl
from slow_start import SlowStart

BOOT_SECONDS = 1.0
SPAWN_SECONDS = 0.5
TRIALS = 5
STAMPS = ("/bin/sh", "-c", 'date +%s.%N > "$1"', "sh")
BOOTS = f"""#!/bin/sh
case "$*" in
*stamp*) sleep {BOOT_SECONDS};;
esac
exec {sys.executable} "$@"
"""


@pytest.fixture(params=["sqlite", "postgres_url"], ids=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    """Return the address of a new database, on SQLite or PostgreSQL."""
    return str(request.getfixturevalue(request.param))


@pytest.fixture
def slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SlowStart:
    """Start the programs that name this directory slowly."""
    found = SlowStart(tmp_path, str(tmp_path / "Web"))
    monkeypatch.setattr(sys, "executable", str(found.python()))
    return found


async def test_action_does_not_start_after_its_approval_expired(
    db: Database, tmp_path: Path, slow: SlowStart
) -> None:
    at = NOON
    person = await asked(db, declared(tmp_path), now=lambda: at)
    wish = person.wish()
    [case] = await person.waits()
    await person.says(case.id, YES)
    await until(slow.begun)

    at = case.expires_at
    slow.go_on()
    verdict = await asyncio.wait_for(wish, SECONDS)

    why = "its approval expired at 12:05 UTC"
    assert (verdict.outcome, verdict.ran) == (UseOutcome.REFUSED, False)
    assert verdict.text == f"a person approved; {why}"
    assert await person.states() == ["withdrawn"]
    [use] = await uses(db)
    assert (use.outcome, use.attempts, use.text, use.spent) == ("refused", 0, why, False)
    assert (await told(db))[-1] == ("warning", f"Restart refused: {why}.")
    assert ran(tmp_path) == ""


async def test_request_cancelled_before_the_start_leaves_its_slot_free(
    db: Database, tmp_path: Path, slow: SlowStart
) -> None:
    person = await asked(db, declared(tmp_path))
    wish = person.wish()
    [case] = await person.waits()
    await person.says(case.id, YES)
    await until(slow.begun)

    wish.cancel()
    slow.go_on()
    await asyncio.wait([wish])

    words = "the request was cancelled before the action started"
    assert [(use.outcome, use.text, use.spent) for use in await uses(db)] == [
        ("refused", words, False)
    ]
    assert [(each.state, each.note) for each in await person.cases()] == [("withdrawn", words)]
    assert ran(tmp_path) == ""


async def test_second_attempt_that_does_not_start_restores_the_first(
    db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await known_to_fail(db)
    current = Services((Service(name="Web", actions=(FAILS,)),))
    asking = gate(db, await opened(db), services=current, current=lambda: current)
    first = await asking.run_action("web", "fails")
    [before] = await uses(db)
    slow = SlowStart(tmp_path, FAILS.argv[0])
    monkeypatch.setattr(sys, "executable", str(slow.python()))
    again = asyncio.create_task(asking.run_action("web", "fails", again=first.use_id))
    await until(slow.begun)

    current = Services()
    slow.go_on()
    second = await asyncio.wait_for(again, SECONDS)

    assert (second.outcome, second.ran) == (UseOutcome.REFUSED, False)
    after, refused = await uses(db)
    assert replace(after, version=before.version) == before
    assert (refused.outcome, refused.text) == ("refused", second.text)


async def test_no_action_starts_after_a_halt_was_acknowledged(
    db: Database, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The halts come at random moments; the program takes a second to start."""
    chance = random.Random(11)
    python = tmp_path / "python"
    python.write_text(BOOTS)
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    control = HaltControl(tmp_path / "HALT")
    stamped = {f"svc{number}": tmp_path / f"stamp{number}" for number in range(TRIALS)}
    services = Services(
        tuple(
            Service(name=name, actions=(replace(RESTART, argv=(*STAMPS, str(file))),))
            for name, file in stamped.items()
        )
    )
    session = await opened(db)

    async with Database(url) as operator:
        for name, file in stamped.items():
            asking = gate(db, session, services=services, halt_control=control, now=clock.now)
            wish = asyncio.create_task(asking.run_action(name, "restart"))
            await asyncio.sleep(chance.uniform(0.1, BOOT_SECONDS))
            await halt.halt_all(operator, control, "Fire", by="anna", now=clock.now())
            acknowledged = time.time()
            verdict = await asyncio.wait_for(wish, SECONDS)

            started = float(file.read_text()) if verdict.ran else 0.0
            assert started < acknowledged + SPAWN_SECONDS
            assert file.exists() is verdict.ran
            assert verdict.ran or verdict.text.startswith("Lamplighter is halted")
            await halt.resume_all(operator, control, by="anna", now=clock.now())
