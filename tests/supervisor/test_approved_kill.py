"""An approved action whose supervisor is killed: it runs at most once, and people learn of it."""

import random
import signal
import subprocess
import time

import pytest
from homes import Home
from test_approvals_run import YES, declare, ran, says, waits

import nursery
from thorough import examples

KILLED_AT_THE_ORDER = """
import os
import signal

from lamplighter.engines import bounded

order = bounded._order


def order_and_die(orders, what):
    order(orders, what)
    if what == b"g":
        os.kill(os.getpid(), signal.SIGKILL)


bounded._order = order_and_die

from lamplighter.__main__ import main

main()
"""
KILLS = examples(30, part=30)
MOST_SECONDS = 0.6
"""The latest kill after an approval: later than the start of its action."""

APPROVED = "SELECT state, note FROM approvals WHERE id = 1"
SETTLED = "SELECT 1 FROM approvals WHERE id > 1 AND state IN ('open', 'used')"
REPORTED = "SELECT level, service FROM events WHERE text = ?"


def test_action_killed_at_its_start_is_reported_and_not_repeated(home: Home) -> None:
    home.env["LAMPLIGHTER_CHECK_INTERVAL"] = "1s"
    declare(home, "web")
    argv = ("-c", KILLED_AT_THE_ORDER, "supervisor")
    supervisor = nursery.python(*argv, env=home.env, stdin=subprocess.DEVNULL)
    home.started.append(supervisor)
    waits(home)

    says(home, 1, YES)
    assert supervisor.wait(20) == -signal.SIGKILL
    home.start("supervisor")
    waits(home)

    assert ran(home) in ("", "ran\n"), "it was ended at once, or too late"
    [(state, note)] = home.rows(APPROVED)
    assert state == "withdrawn"
    assert note == "the supervisor stopped as the action started; the action may have run"
    text = "Restart (abandoned): its session ended before the result was known"
    assert home.rows(REPORTED, text) == [("warning", "web")]
    assert home.value("SELECT decided_by FROM approvals WHERE id = 2") is None


@pytest.mark.parametrize("kill", range(KILLS))
def test_approved_action_runs_at_most_once_if_its_supervisor_is_killed(
    home: Home, kill: int
) -> None:
    home.env["LAMPLIGHTER_CHECK_INTERVAL"] = "1s"
    declare(home, "web")
    supervisor = home.start("supervisor")
    waits(home)

    says(home, 1, YES)
    time.sleep(random.Random(kill).random() * MOST_SECONDS)
    supervisor.kill()
    supervisor.wait()
    home.start("supervisor")
    home.until(lambda: home.rows(SETTLED))

    assert ran(home) in ("", "ran\n")
