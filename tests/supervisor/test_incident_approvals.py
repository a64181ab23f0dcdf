"""An approval inside a real incident: approved, denied, withdrawn; real supervisor and service."""

import json
from collections.abc import Iterator
from functools import partial

import httpx2
import pytest
from homes import Home

import direct_writes
from lamplighter.repository.store.database import sqlite_url
from restarted_service import Init, declare

APPROVALS = "SELECT state FROM approvals ORDER BY id"
INCIDENTS = "SELECT state, outcome FROM incidents ORDER BY id"
NOTICES = "SELECT title FROM notices WHERE kind = 'incident' ORDER BY id"


@pytest.fixture
def init(home: Home) -> Iterator[Init]:
    """Start a supervisor and the web process with a healthy service that needs approvals."""
    found = Init(home.path)
    found.thread.start()
    home.env |= {"LAMPLIGHTER_CHECK_INTERVAL": "1s", "LAMPLIGHTER_NOTIFY": "json://127.0.0.1:9"}
    declare(home.path, found, found.asked)
    path = home.path / "services.yaml"
    path.write_text(path.read_text().replace("  app:\n", "  app:\n    approve: always\n"))
    home.start("up")
    rounds = "SELECT 1 FROM sessions WHERE status = 'completed'"
    home.until(lambda: home.value(rounds) and healthy(home))
    yield found
    found.stopped.set()
    found.thread.join()
    found.kill()


def healthy(home: Home) -> bool:
    return bool(home.value("SELECT 1 FROM check_series WHERE state = 'passed' AND streak >= 2"))


def fails_until(home: Home, init: Init, query: str, expected: list[tuple[object, ...]]) -> None:
    """Kill the service and wait for rows; an earlier incident counts as an hour old."""
    shift_detection(home, "-1 hour")
    init.kill()
    home.until(partial(has, home, query, expected))


def shift_detection(home: Home, by: str) -> None:
    shifted = f"strftime('%Y-%m-%dT%H:%M:%f000Z', detected_at, '{by}')"
    url = sqlite_url(home.path / "lamplighter.db")
    direct_writes.run(url, f"UPDATE incidents SET detected_at = {shifted}")


def has(home: Home, query: str, expected: list[tuple[object, ...]]) -> bool:
    return home.rows(query) == expected


def recovers(home: Home, init: Init) -> None:
    init.asked.touch()
    home.until(lambda: healthy(home))


def status(home: Home) -> dict[str, object]:
    found: dict[str, object] = json.loads(home.run("status", "--json").stdout)
    return found


def timeline(home: Home, number: int) -> list[str]:
    shown = json.loads(home.run("incidents", "show", str(number), "--json").stdout)
    return [f"{each['kind']}: {each['text']}" for each in shown["timeline"]]


def client(home: Home) -> httpx2.Client:
    url = f"http://127.0.0.1:{home.env['LAMPLIGHTER_PORT']}/api/v1"
    home.until(lambda: "Listening on" in (home.path / "log").read_text() and home.way_in())
    return httpx2.Client(base_url=url, headers=home.way_in(), timeout=30)


@pytest.mark.parametrize("way", ["api", "command"])
def test_approved_action_repairs_its_incident_and_names_who_approved(
    home: Home, init: Init, way: str
) -> None:
    fails_until(home, init, APPROVALS, [("open",)])
    home.until(partial(has, home, INCIDENTS, [("waiting_for_approval", "")]))

    if way == "api":
        home.until(lambda: len(home.rows(NOTICES)) == 1)
        with client(home) as web:
            sent = web.put("/approvals/1/decision", json={"decision": "approve"})
        assert sent.status_code == 200, sent.text
    else:
        shift_detection(home, "+1 hour")  # decided before the incident is announced
        assert home.run("approvals", "approve", "1").returncode == 0
    home.until(partial(has, home, INCIDENTS, [("resolved", "repaired")]))

    assert home.rows(APPROVALS) == [("used",)]
    [(by,)] = home.rows("SELECT decided_by FROM approvals")
    assert by
    acted = "SELECT actor FROM acts WHERE action = 'approve' AND subject = 'restart of app'"
    assert home.rows(acted) == [(by,)]
    assert home.rows("SELECT name, outcome FROM cooldowns") == [("restart", "success")]
    shown = timeline(home, 1)
    assert [each for each in shown if "approv" in each] == [
        "approval: Asked to approve restart of app",
        "state: waiting_for_approval",
        f"approval: restart of app: approved by {by} and run",
    ]
    assert len([each for each in shown if "estart (success): Healthy again" in each]) == 1
    assert shown[-1].startswith("resolved: app is healthy again after ")
    assert shown[-1].endswith("; repaired by restart")
    *announced, (end,) = home.rows(NOTICES)
    assert len(announced) == (1 if way == "api" else 0)
    assert str(end).endswith("; repaired by restart")
    assert status(home)["people"] == []


def test_denied_service_that_recovers_and_fails_again_requests_a_new_approval(
    home: Home, init: Init
) -> None:
    fails_until(home, init, APPROVALS, [("open",)])
    denied = home.run("approvals", "deny", "1", "--note", "I repair it")
    assert denied.returncode == 0
    home.until(partial(has, home, INCIDENTS, [("needs_person", "")]))
    assert "denied by a person: I repair it" in str(status(home)["people"])

    recovers(home, init)
    home.until(partial(has, home, INCIDENTS, [("resolved", "recovered")]))
    fails_until(home, init, APPROVALS, [("denied",), ("open",)])

    waiting = [("resolved", "recovered"), ("waiting_for_approval", "")]
    home.until(partial(has, home, INCIDENTS, waiting))
    now = status(home)
    assert (now["people"], now["approvals"]) == ([], 1)
    [(by,)] = home.rows("SELECT decided_by FROM approvals WHERE id = 1")
    assert f"approval: restart of app: denied by {by}: I repair it" in timeline(home, 1)
    assert not any("I repair it" in each for each in timeline(home, 2))


def test_service_that_recovers_withdraws_its_approval(home: Home, init: Init) -> None:
    fails_until(home, init, APPROVALS, [("open",)])

    recovers(home, init)
    home.until(partial(has, home, INCIDENTS, [("resolved", "recovered")]))

    assert home.rows("SELECT state, note FROM approvals") == [("withdrawn", "app is healthy again")]
    waited = "SELECT status FROM sessions WHERE id = (SELECT session_id FROM approvals)"
    home.until(lambda: home.value(waited) == "completed")
    assert home.rows("SELECT id FROM escalations WHERE state = 'person'") == []
    assert home.rows("SELECT id FROM cooldowns WHERE outcome = 'success'") == []
    stated = [each for each in timeline(home, 1) if "of app" in each and "withdrawn" in each]
    assert stated == ["approval: restart of app: withdrawn: app is healthy again"]


def test_closed_incident_withdraws_its_approval_and_the_next_requests_another(
    home: Home, init: Init
) -> None:
    fails_until(home, init, APPROVALS, [("open",)])

    closed = home.run("incidents", "resolve", "1", "--outcome", "unresolved")
    assert closed.returncode == 0
    assert home.rows("SELECT state, note FROM approvals") == [
        ("withdrawn", "incident 1 was closed")
    ]
    fails_until(home, init, APPROVALS, [("withdrawn",), ("open",)])
    home.until(
        partial(has, home, INCIDENTS, [("resolved", "unresolved"), ("waiting_for_approval", "")])
    )

    assert home.rows("SELECT id FROM escalations WHERE state = 'person'") == []
    waited = "SELECT s.status FROM sessions s JOIN approvals a ON a.session_id = s.id WHERE a.id=1"
    # the engine learns of the withdrawal, too: it may end before the supervisor stops it
    assert home.value(waited) in ("stopped", "completed")
    assert home.rows("SELECT use_id FROM approvals WHERE id = 1") == [(None,)]
    assert "approval: restart of app: withdrawn: incident 1 was closed" in timeline(home, 1)
    assert "approval: Asked to approve restart of app" in timeline(home, 2)
