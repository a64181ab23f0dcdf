"""Halt, in each of three ways, with real processes."""

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from gates import gate, opened, until, uses, with_action
from homes import Home

from lamplighter.domain.actions.halt import HaltSource
from lamplighter.domain.services.cooldown import UseOutcome
from lamplighter.repository import Database, writing
from lamplighter.repository.sessions import halts
from lamplighter.repository.store import driver
from lamplighter.usecases.sessions.halt import HaltControl

FILE_FIRST = """
import os, sys

file = sys.argv.pop(1)

def check(event, given):
    if event == "import" and given[0] == "sqlalchemy":
        assert os.path.exists(file), "the database modules were loaded before the halt"

sys.addaudithook(check)

from lamplighter.__main__ import main

main()
"""
NOTHING_BEGINS_SECONDS = 1
NOTHING_LIVES_SECONDS = 10


def by_command(home: Home) -> None:
    done = home.run("halt", "--reason", "the rack is moved")
    assert done.returncode == 0, done.stderr
    assert "Halted by " in done.stdout


def by_file(home: Home) -> None:
    new = home.path / "HALT.new"  # complete at once: a file without text halts too
    new.write_text("the rack\nis moved\n")
    new.rename(home.path / "HALT")


WAYS = pytest.mark.parametrize("pull", [by_command, by_file])


def status(home: Home, session: int = 1) -> tuple[object, ...]:
    rows = home.rows("SELECT status, reason FROM sessions WHERE id = ?", session)
    return rows[0] if rows else (None, None)


@WAYS
def test_halt_stops_sessions_and_starts_none_until_resumed(
    home: Home, pull: Callable[[Home], None]
) -> None:
    home.engine("hangs")
    home.env["LAMPLIGHTER_INTERVAL"] = "1s"
    supervisor = home.start("supervisor")
    home.until(lambda: home.value("SELECT count(*) FROM events"))

    pull(home)
    home.until(lambda: not home.left_over(), NOTHING_LIVES_SECONDS)

    home.until(lambda: status(home)[0] == "stopped")
    assert "the rack is moved" in str(status(home)[1])
    supervisor.send_signal(signal.SIGKILL)
    supervisor.wait()
    home.start("supervisor")
    home.until(lambda: home.value("SELECT epoch FROM leases") == 2)
    time.sleep(NOTHING_BEGINS_SECONDS)
    assert home.value("SELECT count(*) FROM sessions") == 1

    home.engine("lines", "[EVENT:info] here")
    done = home.run("resume")
    assert done.returncode == 0, done.stderr
    assert not (home.path / "HALT").exists()
    home.until(lambda: status(home, 2)[0] in ("running", "completed"))
    texts = [str(row[0]) for row in home.rows("SELECT text FROM events WHERE source = 'operator'")]
    assert len(texts) == 2
    assert texts[0].startswith("Lamplighter is halted. Halted by")
    assert "Resumed by" in texts[1]


def test_halt_file_stops_a_session_while_the_database_is_locked(home: Home) -> None:
    home.engine("ignores_signals")
    home.start("supervisor")
    home.until(lambda: home.value("SELECT count(*) FROM events"))
    connection = driver.connect(str(home.path / "lamplighter.db"))
    connection.execute("BEGIN EXCLUSIVE")
    try:
        by_file(home)
        home.until(lambda: not home.left_over(), NOTHING_LIVES_SECONDS)
    finally:
        connection.execute("ROLLBACK")
        connection.close()

    home.until(lambda: status(home)[0] == "stopped")
    assert status(home)[1] == "Halted by the file HALT: the rack is moved."


def test_halt_command_writes_the_file_first_and_without_a_usable_database(home: Home) -> None:
    (home.path / "lamplighter.db").write_bytes(b"no database at all" * 100)

    program = (sys.executable, "-c", FILE_FIRST, str(home.path / "HALT"))
    done = subprocess.run(
        [*program, "halt", "--reason", "it is broken"],
        env=home.env,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert (home.path / "HALT").read_text().startswith("it is broken\n-- ")
    assert "HALT instead: Lamplighter is halted" in done.stdout


def test_manual_run_is_refused_while_halted_with_instructions(home: Home) -> None:
    by_file(home)

    done = home.run("run")

    assert done.returncode == 2
    assert "Halted by the file HALT: the rack is moved. Delete " in done.stderr
    assert home.value("SELECT count(*) FROM sessions") == 0


def test_queued_requests_run_after_the_halt_file_is_deleted(home: Home) -> None:
    home.engine("lines", "[EVENT:info] here")
    by_file(home)
    home.start("supervisor")
    home.until(lambda: home.value("SELECT count(*) FROM halts WHERE released_at IS NULL"))
    query = "INSERT INTO requests (state, tier, trigger, prompt, created_at) VALUES"
    with driver.connect(str(home.path / "lamplighter.db")) as connection:
        connection.execute(f"{query} ('queued', 1, 'api', 'x', '2026-01-01T12:00:00.000000Z')")
    time.sleep(NOTHING_BEGINS_SECONDS)
    assert home.rows("SELECT state FROM requests") == [("queued",)]

    (home.path / "HALT").unlink()

    home.until(lambda: home.rows("SELECT state FROM requests") == [("done",)])
    home.until(lambda: home.value("SELECT released_by FROM halts") == "the deletion of the file")
    feed = home.rows("SELECT op FROM changes WHERE entity = 'halt' ORDER BY seq")
    assert feed == [("created",), ("updated",)]


def test_doctor_reports_the_halt(home: Home) -> None:
    by_file(home)

    assert (
        "WARN Lamplighter is halted. Halted by the file HALT: the rack" in home.run("doctor").stdout
    )


async def test_halt_stops_the_running_action_and_refuses_the_next(
    db: Database, tmp_path: Path
) -> None:
    session = await opened(db)
    halt_control = HaltControl(tmp_path / "HALT")
    runs = with_action("/bin/sh", "-c", f"touch {tmp_path}/runs; exec sleep 60")
    asked = gate(db, session, halt_control=halt_control, services=runs)
    acting = asyncio.create_task(asked.run_action("web", "restart"))
    await until((tmp_path / "runs").exists)
    (tmp_path / "HALT").write_text("stop")
    asked.end_actions()

    verdict = await acting
    assert (verdict.outcome, verdict.text) == (
        UseOutcome.FAILURE,
        "stopped by a halt",
    )
    refused = await asked.run_action("web", "restart")
    assert refused.text == "Lamplighter is halted: Halted by the file HALT: stop."
    assert len(await uses(db)) == 1


async def test_gate_checks_the_halt_in_the_reserving_transaction(db: Database) -> None:
    session = await opened(db)
    asked = gate(db, session)
    async with writing(db):
        await halts.insert(db, HaltSource.ROW, reason="", by="me", now=session.started_at)
    object.__setattr__(asked, "halt_control", type("Never", (), {"pulled": staticmethod(_never)})())

    refused = await asked.run_action("web", "restart")

    assert (refused.outcome, refused.text) == (UseOutcome.REFUSED, "Lamplighter is halted")


async def _never(db: Database) -> None:
    return None
