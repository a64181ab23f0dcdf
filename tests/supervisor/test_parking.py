"""Rounds never wait for a person: a waiting session is parked, everything else continues."""

import json
import signal
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from homes import Home

STATES = "SELECT service, state FROM approvals ORDER BY id"
OPEN = "SELECT count(*) FROM approvals WHERE state = 'open'"
ROUNDS = "SELECT count(*) FROM sessions WHERE tier = 1 AND status != 'running'"
RESTARTS = (
    "import pathlib, sys; pathlib.Path(sys.argv[1]).touch(); open(sys.argv[2], 'a').write('x')"
)


class Lab(ThreadingHTTPServer):
    """A server of services: each is healthy if its file exists; a restart creates the file."""

    daemon_threads = True
    home: Home
    declared: dict[str, object]

    def declare(self, name: str, approve: str) -> None:
        files = [str(self.file(name)), str(self.file(f"{name}-restarts"))]
        self.declared[name] = {
            "approve": approve,
            "checks": [{"http": f"http://127.0.0.1:{self.server_port}/{name}", "retries": 0}],
            "actions": [{"restart": [sys.executable, "-c", RESTARTS, *files]}],
        }
        text = json.dumps({"services": self.declared})
        (self.home.path / "services.yaml").write_text(text)

    def file(self, name: str) -> Path:
        return self.home.path / f"{name}.serves"

    def restarts(self, name: str) -> int:
        runs = self.file(f"{name}-restarts")
        return len(runs.read_text()) if runs.exists() else 0

    def rounds(self, more: int) -> None:
        """Wait for this number of further rounds."""
        before = int(str(self.home.value(ROUNDS)))
        self.home.until(lambda: int(str(self.home.value(ROUNDS))) >= before + more, 60)

    def waits(self, count: int = 1) -> None:
        self.home.until(lambda: self.home.value(OPEN) == count, 60)


class Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Lab)
        found = self.server.file(self.path.strip("/")).exists()
        self.send_response(200 if found else 503)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@pytest.fixture
def lab(home: Home) -> Iterator[Lab]:
    home.env |= {
        "LAMPLIGHTER_ENGINE": "probe",
        "LAMPLIGHTER_INTERVAL": "1s",
        "LAMPLIGHTER_APPROVAL_TIMEOUT": "10m",
    }
    lab = Lab(("127.0.0.1", 0), Page)
    lab.home, lab.declared = home, {}
    serving = threading.Thread(target=lab.serve_forever, kwargs={"poll_interval": 0.05})
    serving.start()
    yield lab
    lab.shutdown()
    serving.join()
    lab.server_close()


def test_service_is_repaired_while_another_waits_for_approval(lab: Lab, home: Home) -> None:
    lab.declare("asks", "always")
    lab.declare("helps", "never")
    lab.file("helps").touch()
    home.start("supervisor")
    lab.waits()

    lab.file("helps").unlink()
    home.until(lambda: lab.restarts("helps") == 1, 60)
    repaired = "SELECT outcome FROM cooldowns WHERE service = 'helps'"
    home.until(lambda: home.rows(repaired) == [("success",)], 60)
    lab.rounds(3)

    assert home.rows(STATES) == [("asks", "open")]
    asked = "SELECT count(*) FROM escalations WHERE service = 'asks' AND tier = 2"
    assert home.value(asked) == 1, "it is not escalated again"
    words = (
        "SELECT text FROM events WHERE service = 'asks' AND text LIKE '%approval was requested%'"
    )
    assert len(home.rows(words)) == 1, "it is stated once"
    state = "SELECT status FROM sessions WHERE id = (SELECT session_id FROM approvals)"
    assert home.value(state) == "running"

    assert home.run("approvals", "approve", "1").returncode == 0
    home.until(lambda: home.value(state) == "completed", 60)
    assert (home.rows(STATES), lab.restarts("asks")) == ([("asks", "used")], 1)
    lab.rounds(2)
    assert home.value(OPEN) == 0
    assert lab.restarts("asks") == 1


@pytest.mark.parametrize("tier", [1, 2])
def test_escalation_is_held_back_while_its_service_waits_for_approval(
    lab: Lab, home: Home, tier: int
) -> None:
    home.engine("lines", "[ESCALATE:asks] It still answers 503", "[ESCALATE:helps] It does too")
    home.env["LAMPLIGHTER_ENGINE"] = "probe"
    lab.declare("asks", "always")
    lab.declare("helps", "never")
    lab.file("helps").touch()
    home.start("supervisor")
    lab.waits()

    home.run("run", "--tier", str(tier), "--engine", "exec")

    [(number,)] = home.rows("SELECT id FROM sessions WHERE engine = 'exec' AND tier = ?", tier)
    marks = "SELECT service, outcome, reason FROM markers WHERE session_id = ? ORDER BY id"
    [held, escalated] = home.rows(marks, number)
    assert held[:2] == ("asks", "held back")
    assert str(held[2]).startswith("not escalated: another session is waiting for approval since ")
    assert escalated == ("helps", "recorded", "")
    stated = "SELECT text FROM events WHERE session_id = ? AND text LIKE 'Escalation held back%'"
    [(words,)] = home.rows(stated, number)
    assert str(words).endswith(" UTC: It still answers 503")
    opened = "SELECT services FROM sessions WHERE parent_id = ?"
    assert home.rows(opened, number) == [('["helps"]',)]
    assert home.rows(STATES) == [("asks", "open")]


def test_approval_is_withdrawn_if_its_service_recovers(lab: Lab, home: Home) -> None:
    lab.declare("asks", "always")
    home.start("supervisor")
    lab.waits()

    lab.file("asks").touch()
    home.until(lambda: home.rows(STATES) == [("asks", "withdrawn")], 60)
    state = "SELECT status FROM sessions WHERE id = (SELECT session_id FROM approvals)"
    home.until(lambda: home.value(state) == "completed", 60)
    lab.rounds(2)

    assert home.value("SELECT note FROM approvals") == "asks is healthy again"
    assert lab.restarts("asks") == 0
    assert home.rows("SELECT * FROM escalations WHERE state = 'person'") == []
    assert home.rows("SELECT text FROM events WHERE text LIKE 'Approval of%'") == [
        ("Approval of restart of asks withdrawn: asks is healthy again.",)
    ]


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_parked_session_is_interrupted_by_a_supervisor_restart(
    lab: Lab, home: Home, end: signal.Signals
) -> None:
    home.env["LAMPLIGHTER_NOTIFY"] = f"http://127.0.0.1:{lab.server_port}/notices"
    lab.declare("asks", "always")
    first = home.start("supervisor")
    lab.waits()
    lab.rounds(1)

    first.send_signal(end)
    first.wait(60)
    home.start("supervisor")
    home.until(lambda: len(home.rows(STATES)) == 2, 60)

    [(number, before), (later, _)] = home.rows("SELECT session_id, state FROM approvals")
    assert (before, later != number) == ("withdrawn", True)
    ended = "SELECT status, reason FROM sessions WHERE id = ?"
    assert home.rows(ended, number) == [
        ("interrupted", "The supervisor stopped while the session waited for approval.")
    ]
    assert lab.restarts("asks") == 0
    notified = "SELECT link FROM notices WHERE kind = 'approval'"
    assert home.rows(notified) == [("/approvals/1",)], "a repeated request notifies once"
    assert home.run("approvals", "approve", "1").returncode == 0
    home.until(lambda: lab.restarts("asks") == 1, 60)


def test_parked_sessions_are_limited_by_the_setting(lab: Lab, home: Home) -> None:
    home.env["LAMPLIGHTER_PARKED_SESSIONS"] = "1"
    lab.declare("first", "always")
    home.start("supervisor")
    lab.waits()

    lab.declare("second", "always")
    refused = "SELECT text FROM cooldowns WHERE service = 'second'"
    home.until(lambda: home.rows(refused), 60)
    lab.rounds(3)

    words = "too many sessions are waiting for approval (1 of at most 1)"
    assert home.rows(refused) == [(words,)]
    assert home.rows(STATES) == [("first", "open")]
    assert home.value("SELECT count(*) FROM events WHERE text LIKE 'Needs a person%'") == 1

    assert home.run("approvals", "deny", "1").returncode == 0
    home.until(lambda: ("second", "open") in home.rows(STATES), 60)


def test_halt_stops_parked_sessions(lab: Lab, home: Home) -> None:
    lab.declare("asks", "always")
    home.start("supervisor")
    lab.waits()
    lab.rounds(1)

    assert home.run("halt", "--reason", "the rack is being moved").returncode == 0
    running = "SELECT count(*) FROM sessions WHERE status = 'running'"
    home.until(lambda: home.value(running) == 0, 60)

    assert home.rows(STATES) == [("asks", "withdrawn")]
    state = "SELECT status FROM sessions WHERE id = (SELECT session_id FROM approvals)"
    assert home.value(state) == "stopped"
    assert home.left_over() == []
    assert lab.restarts("asks") == 0


def test_waiting_for_approval_is_not_working_time(lab: Lab, home: Home) -> None:
    home.env["LAMPLIGHTER_SESSION_TIMEOUT"] = "20s"
    home.env["LAMPLIGHTER_APPROVAL_TIMEOUT"] = "25s"
    lab.declare("asks", "always")
    home.start("run", "--tier", "3").wait(120)

    assert home.rows(STATES) == [("asks", "expired")]
    assert home.value("SELECT status FROM sessions") == "completed"


def test_denied_approval_is_not_requested_again_by_the_next_round(lab: Lab, home: Home) -> None:
    lab.declare("asks", "always")
    home.start("supervisor")
    lab.waits()

    assert home.run("approvals", "deny", "1", "--note", "I am at it").returncode == 0
    home.until(lambda: home.rows("SELECT * FROM escalations WHERE state = 'person'"), 60)
    lab.rounds(4)

    assert home.rows(STATES) == [("asks", "denied")]
    assert home.value("SELECT count(*) FROM events WHERE text LIKE 'Needs a person%'") == 1
