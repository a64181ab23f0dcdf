"""Requests to a person while a real session waits: on the command line, and after kills."""

import asyncio
import json
import shlex
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import pytest
from homes import Home

from contexts import context
from lamplighter.domain.actions.approval import Approval, ApprovalAnswer, ApprovalChoice
from lamplighter.domain.errors import Conflict
from lamplighter.repository import Database
from lamplighter.repository.store.database import sqlite_url
from lamplighter.usecases.sessions.approvals import decide
from lamplighter.usecases.sessions.sessions import stop

T = TypeVar("T")

ASKS = Path(__file__).parents[1] / "fakes" / "asks.py"
YES = ApprovalAnswer(choice=ApprovalChoice.APPROVE)
ACTS = 'echo "$2" >> "$1"'
ACTS_SLOWLY = 'echo begins >> "$1"; until [ -e "$1.end" ]; do sleep 0.1; done; echo ends >> "$1"'
STATES = "SELECT state FROM approvals ORDER BY id"
WAITING = "SELECT count(*) FROM approvals WHERE state = 'open'"


def declare(home: Home, *names: str, says: str = "ran", approve: str = "always") -> None:
    """Write services that fail, each with a restart that records each of its runs."""
    services = {
        name: {
            "approve": approve,
            "checks": [{"tcp": "127.0.0.1:9", "retries": 0}],
            "actions": [
                {
                    "restart": ["/bin/sh", "-c", ACTS, "sh", str(home.path / f"{name}.ran"), says],
                    "wait": "1s",
                }
            ],
        }
        for name in names
    }
    (home.path / "services.yaml").write_text(json.dumps({"services": services}))


def ran(home: Home, name: str = "web") -> str:
    path = home.path / f"{name}.ran"
    return path.read_text() if path.exists() else ""


def waits(home: Home, count: int = 1) -> None:
    home.until(lambda: home.value(WAITING) == count)


def asks_to(home: Home, *names: str) -> None:
    """Let sessions request these restarts."""
    home.env["LAMPLIGHTER_ENGINE"] = "exec"
    home.env["LAMPLIGHTER_EXEC_COMMAND"] = shlex.join([sys.executable, str(ASKS), *names])


def asks(home: Home, *names: str) -> subprocess.Popen[bytes]:
    """Start a session of tier 3 that requests all restarts, and wait until it waits."""
    asks_to(home, *names)
    started = home.start("run", "--tier", "3")
    waits(home, len(names))
    return started


def says(home: Home, number: int, answer: ApprovalAnswer) -> Approval:
    """Decide an approval as a person, like the app."""
    return within(
        home,
        lambda db: decide(context(db, datetime.now(UTC)), number, answer, by="anna"),
    )


def within(home: Home, work: Callable[[Database], Awaitable[T]]) -> T:
    async def done() -> T:
        async with Database(sqlite_url(home.path / "lamplighter.db")) as db:
            return await work(db)

    return asyncio.run(done())


def numbers(home: Home) -> dict[str, str]:
    rows = home.rows("SELECT service, id FROM approvals WHERE state = 'open'")
    return {str(service): str(number) for service, number in rows}


def test_approvals_command_approves_edits_and_denies(
    home: Home,
) -> None:
    declare(home, "web", "db", "mail")
    session = asks(home, "web", "db", "mail")
    cases = numbers(home)

    listed = home.run("approvals", "--json")
    shown = home.run("approvals", "show", cases["web"])
    approved = home.run("approvals", "approve", cases["web"])
    edited = home.run(
        *("approvals", "edit", cases["db"], "--approve", "--note", "The other way", "--"),
        *("/bin/sh", "-c", ACTS, "sh", str(home.path / "db.ran"), "otherwise"),
    )
    denied = home.run("approvals", "deny", cases["mail"], "--note", "Not now")
    late = home.run("approvals", "approve", cases["mail"])

    assert {each["service"] for each in json.loads(listed.stdout)} == {"web", "db", "mail"}
    assert "reason   session 1 reports: web answers 503" in shown.stdout
    assert [each.returncode for each in (approved, edited, denied, late)] == [0, 0, 0, 1]
    assert edited.stdout == "4\n"
    assert "is already closed: denied by" in late.stderr
    assert "cooldown 2 of 2 uses of restart left" in shown.stdout
    assert "evidence no memories about web" in shown.stdout
    bare = home.run("approvals", "edit", cases["mail"])
    assert (bare.returncode, f"edit {cases['mail']} -- COMMAND" in bare.stderr) == (2, True)
    assert "used" not in home.run("approvals", "--all").stdout
    assert "    replaced by approval 4\n" in home.run("approvals", "show", cases["db"]).stdout
    assert session.wait(20) == 0
    assert (ran(home), ran(home, "db"), ran(home, "mail")) == ("ran\n", "otherwise\n", "")
    assert sorted(home.rows(STATES)) == [("denied",), ("replaced",), ("used",), ("used",)]
    response = str(home.value("SELECT response FROM sessions"))
    assert "web: a person approved; done; not confirmed: tcp: connection refused" in response
    assert "db: a person approved /bin/sh" in response
    assert "(The other way); done" in response
    assert response.endswith("mail: denied by a person: Not now")
    who = {str(by) for (by,) in home.rows("SELECT DISTINCT decided_by FROM approvals")}
    assert {each.endswith("command line)") or each == "command line" for each in who} == {True}


def test_probe_waits_for_approval_and_escalates_a_denial(home: Home) -> None:
    declare(home, "web")
    session = home.start("run", "--tier", "3")
    waits(home)
    says(home, 1, ApprovalAnswer(choice=ApprovalChoice.DENY, note="I look at it myself"))

    assert session.wait(20) == 1, "a person is needed"
    [(text,)] = home.rows("SELECT reason FROM escalations")
    assert str(text).endswith("restart refused: denied by a person: I look at it myself")
    assert str(home.value("SELECT reason FROM approvals")), "it said why"
    assert ran(home) == ""


def test_next_supervisor_withdraws_approvals_of_a_killed_one(home: Home) -> None:
    declare(home, "web")
    asks(home, "web").send_signal(signal.SIGKILL)
    home.env["LAMPLIGHTER_ENGINE"] = "probe"

    home.start("supervisor")
    home.until(lambda: home.rows(STATES) == [("withdrawn",)])

    with pytest.raises(Conflict):
        says(home, 1, YES)
    assert (
        home.value("SELECT note FROM approvals")
        == "the supervisor stopped while the session waited for approval"
    )
    assert ran(home) == ""
    home.until(lambda: home.value("SELECT status FROM sessions WHERE id = 1") == "interrupted")


def test_two_approved_sessions_do_not_act_on_a_service_at_the_same_time(home: Home) -> None:
    declare(home, "web")
    file = home.path / "services.yaml"
    file.write_text(file.read_text().replace(json.dumps(ACTS), json.dumps(ACTS_SLOWLY)))
    asks_to(home, "web")
    home.start("supervisor")
    home.until(lambda: home.value("SELECT count(*) FROM leases"))  # `run` would lead otherwise
    for count in (1, 2):
        home.start("run", "--tier", "3")
        waits(home, count)

    for number in (1, 2):
        says(home, number, YES)
    home.until(lambda: home.value("SELECT count(*) FROM approvals WHERE state = 'withdrawn'"))

    home.until(lambda: ran(home))  # on a busy machine the first program may not run yet
    assert ran(home) == "begins\n"
    (home.path / "web.ran.end").touch()
    home.until(lambda: ran(home) == "begins\nends\n")
    withdrawn = home.rows("SELECT note FROM approvals WHERE state = 'withdrawn'")
    assert withdrawn == [("another action on this service is running",)]


def test_stopped_session_withdraws_its_approval(home: Home) -> None:
    declare(home, "web")
    session = asks(home, "web")

    within(home, lambda db: stop(db, 1, now=datetime.now(UTC)))

    assert session.wait(20) == 1
    assert home.rows(STATES) == [("withdrawn",)]
    assert home.value("SELECT status FROM sessions") == "stopped"
    with pytest.raises(Conflict):
        says(home, 1, YES)
    assert ran(home) == ""


def test_approved_action_does_not_run_if_redeclared_meanwhile(home: Home) -> None:
    declare(home, "web")
    session = asks(home, "web")

    declare(home, "web", says="changed")
    says(home, 1, YES)

    assert session.wait(20) == 0
    words = "web: its declaration in services.yaml changed after the request"
    assert home.value("SELECT response FROM sessions") == words
    assert home.rows(STATES) == [("withdrawn",)]
    assert ran(home) == ""


def test_unanswered_request_expires_and_waiting_is_not_idle_time(home: Home) -> None:
    home.env |= {"LAMPLIGHTER_APPROVAL_TIMEOUT": "2s", "LAMPLIGHTER_IDLE_TIMEOUT": "1s"}
    declare(home, "web")
    session = asks(home, "web")

    assert session.wait(20) == 0
    assert home.value("SELECT response FROM sessions") == "web: no decision within 2 s"
    assert home.rows(STATES) == [("expired",)]
    assert ran(home) == ""


def test_approve_command_reports_an_unknown_approval(home: Home) -> None:
    done = home.run("approvals", "approve", "7")

    assert (done.returncode, done.stderr) == (2, "lamplighter: Approval 7 not found.\n")


def test_approve_command_is_refused_within_a_session(home: Home) -> None:
    home.env["LAMPLIGHTER_SESSION"] = "1"

    done = home.run("approvals", "approve", "1")

    assert done.returncode == 2
    assert "A session cannot decide on approvals. Ask a person." in done.stderr
