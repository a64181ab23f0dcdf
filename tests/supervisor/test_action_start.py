"""What happens between the reservation of an action and its start, in real processes.

As on a loaded machine: the supervisor is stopped in that time, and the program starts slowly.
"""

import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from homes import Home, there
from homes import rows as postgres_rows
from test_approvals_run import asks_to, declare, ran, within

import nursery
from lamplighter.usecases.sessions.sessions import stop
from restarted_service import Init
from restarted_service import declare as declare_service
from slow_start import SlowStart

PROGRAM = """
import sys

sys.executable = sys.argv.pop(1)

from lamplighter.__main__ import main

main()
"""
SECONDS = 60
STARTS_SECONDS = 1.0
"""How long a program would take to start."""

WAITING = "SELECT id FROM approvals WHERE state = 'open'"
APPROVALS = "SELECT state, note FROM approvals"
USES = "SELECT outcome, attempts, text FROM cooldowns"
HEALTHY = "SELECT 1 FROM check_series WHERE state = 'passed' AND streak >= 2"
RECOVERED = "SELECT 1 FROM incident_entries WHERE kind = 'recovered'"
OUTCOME = "SELECT outcome FROM incidents"
CHANGED = "its declaration in services.yaml changed after the request"
CHANGED_MEANWHILE = "the action's declaration in services.yaml has changed since this session began"


class SlowHome:
    """A home whose actions start slowly, with its rows in either database."""

    def __init__(self, home: Home, mark: str = "web.ran") -> None:
        self.home, self.start_of = home, SlowStart(home.path, mark)

    def rows(self, query: str) -> list[tuple[object, ...]]:
        if "LAMPLIGHTER_DATABASE_URL" not in self.home.env:
            return self.home.rows(query)
        return postgres_rows(self.home, query) if there(self.home, query) else []

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        """Start a process of the product whose actions start slowly."""
        argv = ("-c", PROGRAM, str(self.start_of.python()), *words)
        with (self.home.path / "log").open("ab") as log:
            process = nursery.python(
                *argv, env=self.home.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self.home.started.append(process)
        return process

    def approve(self) -> None:
        """Approve the open request as a person."""
        self.home.until(lambda: self.rows(WAITING), SECONDS)
        [(number,)] = self.rows(WAITING)
        approved = self.home.run("approvals", "approve", str(number))
        assert approved.returncode == 0, approved.stderr

    def until(self, query: str, expected: list[tuple[object, ...]]) -> None:
        with suppress(AssertionError):
            self.home.until(lambda: self.rows(query) == expected, 20)
        assert self.rows(query) == expected


def halted(slow: SlowHome, approve: str) -> str:
    done = slow.home.run("halt", "--reason", "the rack is moved")
    assert done.returncode == 0, done.stderr
    return f"Lamplighter is halted: {done.stdout.strip()}"


def halted_by_file(slow: SlowHome, approve: str) -> str:
    (slow.home.path / "HALT").write_text("the rack is moved")
    return "Lamplighter is halted: Halted by the file HALT: the rack is moved."


def redeclared(slow: SlowHome, approve: str) -> str:
    declare(slow.home, "web", approve=approve, says="changed")
    return CHANGED if approve == "always" else CHANGED_MEANWHILE


def stopped(slow: SlowHome, approve: str) -> str:
    within(slow.home, lambda db: stop(db, 1, now=datetime.now(UTC)))
    return "its session has ended"


CHANGES = [
    ("home", halted, "always"),
    ("home", halted_by_file, "never"),
    ("home", redeclared, "always"),
    ("home", redeclared, "never"),
    ("home", stopped, "always"),
    ("kept", halted, "never"),
    ("kept", redeclared, "always"),
]


@pytest.mark.parametrize(("kind", "change", "approve"), CHANGES)
def test_reserved_action_does_not_start_after_a_change(
    request: pytest.FixtureRequest,
    kind: str,
    change: Callable[[SlowHome, str], str],
    approve: str,
) -> None:
    slow = SlowHome(request.getfixturevalue(kind))
    declare(slow.home, "web", approve=approve)
    asks_to(slow.home, "web")
    supervisor = slow.start("run", "--tier", "3")
    if approve == "always":
        slow.approve()
    slow.home.until(slow.start_of.begun, SECONDS)

    supervisor.send_signal(signal.SIGSTOP)
    why = change(slow, approve)  # acknowledged
    slow.start_of.go_on()
    began = time.monotonic()
    while time.monotonic() < began + STARTS_SECONDS:
        assert ran(slow.home) == ""
        time.sleep(0.05)
    supervisor.send_signal(signal.SIGCONT)

    slow.until(USES, [("refused", 0, why)])
    slow.until(APPROVALS, [("withdrawn", why)] * (approve == "always"))
    assert ran(slow.home) == ""


@pytest.mark.parametrize("approve", ["always", "never"])
def test_action_does_not_start_after_its_service_recovered(home: Home, approve: str) -> None:
    slow, init = SlowHome(home, "acted"), Init(home.path)
    init.thread.start()
    try:
        declare_service(home.path, init, home.path / "acted")
        text = (home.path / "services.yaml").read_text()
        text = text.replace("  app:\n", f"  app:\n    approve: {approve}\n")
        (home.path / "services.yaml").write_text(text)
        home.env["LAMPLIGHTER_CHECK_INTERVAL"] = "1s"
        slow.start("supervisor")
        home.until(lambda: slow.rows(HEALTHY), SECONDS)
        init.kill()
        if approve == "always":
            slow.approve()
        home.until(slow.start_of.begun, SECONDS)

        init.asked.touch()
        home.until(lambda: slow.rows(RECOVERED), SECONDS)
        slow.start_of.go_on()

        withdrawn = ("refused", 0, "withdrawn: app is healthy again")
        unneeded = ("unneeded", 0, "healthy again before the action ran")
        slow.until(USES, [withdrawn if approve == "always" else unneeded])
        slow.until(APPROVALS, [("withdrawn", "app is healthy again")] * (approve == "always"))
        if approve == "never":
            slow.until(OUTCOME, [("recovered",)])
        assert not (home.path / "acted").exists()
    finally:
        init.stopped.set()
        init.thread.join()
        init.kill()
