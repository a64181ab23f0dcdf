"""A failing service becomes healthy: the real supervisor, the real probe, a real service."""

import re
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from homes import Home

MENDS = "import pathlib, sys; pathlib.Path(sys.argv[1]).touch()"
SERVICES = """
services:
  web:
    depends_on: [db]
    checks:
      - http: http://127.0.0.1:{port}/web
        retries: 0
    actions:
      - restart: [{python}, -c, "{program}", {home}/web]
  db:
    checks:
      - http: http://127.0.0.1:{port}/db
        retries: 1
    actions:
      - restart: [{python}, -c, "{program}", {home}/db]
"""


class Site(ThreadingHTTPServer):
    """A server of two services: /db is healthy if its file exists, /web as soon as /db is."""

    daemon_threads = True
    home = Path()


class Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Site)
        self.send_response(200 if (self.server.home / "db").exists() else 503)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.fixture
def site(home: Home) -> Iterator[Site]:
    server = Site(("127.0.0.1", 0), Page)
    server.home = home.path
    serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    serving.start()
    (home.path / "services.yaml").write_text(
        SERVICES.format(
            port=server.server_address[1], python=sys.executable, program=MENDS, home=home.path
        )
    )
    yield server
    server.shutdown()
    serving.join()
    server.server_close()


def ended(home: Home, count: int) -> bool:
    found = home.value("SELECT count(*) FROM sessions WHERE status != 'running'")
    return int(str(found or 0)) >= count


def test_root_cause_is_repaired_and_healthy_for_two_rounds(home: Home, site: Site) -> None:
    home.env |= {"LAMPLIGHTER_INTERVAL": "1s", "LAMPLIGHTER_COOLDOWN_RESET": "0"}
    home.start("supervisor")

    home.until(lambda: ended(home, 5), 60)

    sessions = home.rows("SELECT tier, status, services FROM sessions ORDER BY id LIMIT 5")
    assert [(tier, status) for tier, status, _ in sessions] == [
        (1, "escalated"),
        (2, "escalated"),
        (3, "completed"),
        (1, "completed"),
        (1, "completed"),
    ]
    assert str(sessions[2][2]) == '["db"]'
    uses = home.rows("SELECT service, outcome, attempts, healthy_after, cleared_by FROM cooldowns")
    [(service, outcome, attempts, healthy_after, cleared_by)] = uses
    assert (service, outcome, attempts, cleared_by) == ("db", "success", 1, "healthy")
    assert healthy_after is not None
    findings = home.rows("SELECT service, stage, cause FROM findings ORDER BY service")
    assert findings == [("db", "http", None), ("web", "http", "db")]
    assert not (home.path / "web").exists()
    assert not home.rows("SELECT * FROM events WHERE text LIKE 'Needs a person%'")
    attempts = home.rows(
        "SELECT session_id, attempts FROM checks WHERE service = 'db' AND NOT ok ORDER BY id"
    )
    by_gate = (3, 2)
    assert attempts == [(1, 2), (2, 1), (3, 1), by_gate]  # a failure just seen is confirmed once


def test_rounds_wait_after_an_escalation_to_a_person(home: Home, site: Site) -> None:
    text = (home.path / "services.yaml").read_text()
    (home.path / "services.yaml").write_text(text.replace(MENDS, "raise SystemExit(3)"))
    home.env["LAMPLIGHTER_INTERVAL"] = "1s"
    home.start("supervisor")
    asked = "SELECT count(*) FROM escalations WHERE state = 'person'"
    home.until(lambda: home.value(asked) == 2, 60)  # each with one of the two restarts
    last = "SELECT max(session_id) FROM escalations WHERE state = 'person'"
    before = int(str(home.value(last)))

    home.until(lambda: ended(home, before + 5), 60)

    later = home.rows("SELECT tier, status, reason FROM sessions WHERE id > ? LIMIT 2", before)
    assert later == [(1, "completed", "")] * 2
    assert home.value(asked) == 2
    words = home.rows(
        "SELECT service FROM events"
        " WHERE session_id > ? AND (text LIKE '%escalated to a person at%'"
        " OR text LIKE '%escalated to a person for db at%')",
        before,
    )
    assert sorted(words) == [("db",), ("web",)]
    outcomes = home.rows("SELECT service, outcome FROM cooldowns")
    assert outcomes == [("db", "failure")] * 2

    (home.path / "db").touch()
    home.until(lambda: home.value(asked) == 0)
    assert home.value("SELECT count(*) FROM escalations WHERE state = 'closed'") == 2


@pytest.mark.parametrize("dry", [False, True])
def test_run_that_escalates_to_a_person_reports_it_and_fails(home: Home, dry: bool) -> None:
    (home.path / "services.yaml").write_text(
        "services:\n  bare:\n    checks: [{tcp: '127.0.0.1:9', retries: 0}]\n"
    )

    done = home.run("run", "--tier", "3", *(["--dry-run"] if dry else []))

    assert done.returncode == (0 if dry else 1)
    said = (
        "bare failing. Dry run: bare would be escalated to a person."
        if dry
        else "needs you for bare. Needs a person: bare."
    )
    assert f"Session 1: {said}" in done.stderr
    assert home.rows("SELECT state FROM escalations") == [("dry" if dry else "person",)]
    levels = {level for (level,) in home.rows("SELECT level FROM events")}
    assert ("critical" in levels) is not dry


def test_run_reports_the_outcome_of_its_chain(home: Home, site: Site) -> None:
    done = home.run("run", "--tier", "1")

    assert done.returncode == 0, done.stderr
    assert "Session 1: Escalated " in done.stdout
    assert re.fullmatch(r"Session 3: repaired \w+ in \d+ s.*", done.stderr.splitlines()[-1])
    assert home.rows("SELECT tier, status FROM sessions") == [
        (1, "escalated"),
        (2, "escalated"),
        (3, "completed"),
    ]
