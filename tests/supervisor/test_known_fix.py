"""An incident's memories change the next one: real supervisor, real service, real restarts."""

import sys
from collections.abc import Callable, Iterator
from functools import partial

import psutil
import pytest
from benchmarks.known_fix import investigates
from homes import Home

import direct_writes
from lamplighter.repository.store.database import sqlite_url
from messages_api import MessagesApi
from restarted_service import TOUCH, Init, declare

REDEPLOY = """
      - redeployment: [{python}, -c, "{touch}", {file}]
        wait: 2s
"""


@pytest.fixture
def init(home: Home) -> Iterator[Init]:
    found = Init(home.path)
    found.thread.start()
    home.env |= {"LAMPLIGHTER_CHECK_INTERVAL": "1s"}
    yield found
    found.stopped.set()
    found.thread.join()
    found.kill()


def passing(home: Home) -> bool:
    query = "SELECT 1 FROM check_series WHERE state = 'passed' AND streak >= 2"
    rounds = "SELECT 1 FROM sessions WHERE status = 'completed'"
    return bool(home.value(query) and home.value(rounds))


def let_time_pass(home: Home) -> None:
    """Backdate the last incident by an hour: a service that fails again at once waits."""
    past = "strftime('%Y-%m-%dT%H:%M:%f000Z', detected_at, '-1 hour')"
    url = sqlite_url(home.path / "lamplighter.db")
    direct_writes.run(url, f"UPDATE incidents SET detected_at = {past}")


def incident(
    home: Home, init: Init, number: int, until: Callable[[], object], *, rest: bool = True
) -> None:
    """Kill the service, wait, and restart it if it is still down; then let time pass."""
    home.until(lambda: passing(home))
    init.kill()
    home.until(until)
    if init.running is None or not psutil.pid_exists(init.running.pid) or init.running.poll():
        init.asked.touch()
    learned = "SELECT 1 FROM incidents WHERE id = ? AND learned_at IS NOT NULL"
    home.until(lambda: home.value(learned, number))
    if rest:
        let_time_pass(home)


def repaired(home: Home, number: int) -> bool:
    query = "SELECT 1 FROM incidents WHERE id = ? AND outcome = 'repaired'"
    return bool(home.value(query, number))


def test_known_fix_repairs_the_second_incident_without_investigation(
    home: Home, init: Init
) -> None:
    declare(home.path, init, init.asked)
    home.start("supervisor")
    for number in (1, 2):
        incident(home, init, number, partial(repaired, home, number), rest=False)

    sessions = home.rows(
        "SELECT i.incident_id, s.tier, s.trigger FROM sessions s "
        "JOIN incident_sessions i ON i.session_id = s.id ORDER BY s.id"
    )
    assert sessions == [
        (1, 1, "check"),
        (1, 2, "escalation"),
        (1, 3, "escalation"),
        (2, 3, "known_fix"),
    ]
    [(text,)] = home.rows("SELECT text FROM incident_entries WHERE kind = 'known_fix'")
    assert str(text).startswith(
        "Known fix: restart of app. Restart fixes 'connection refused' on app: 1 of 1, healthy"
    )
    texts = [str(each) for (each,) in home.rows("SELECT observation FROM memories")]
    assert len(texts) == 1
    assert texts[0].startswith("Restart fixes 'connection refused' on app: 2 of 2, healthy after")
    outcomes = home.rows("SELECT incident_id, action, result, tier FROM outcomes ORDER BY id")
    assert outcomes == [(1, "restart", "fixed", 3), (2, "restart", "fixed", 3)]


def test_action_that_did_not_help_is_not_repeated_and_needs_a_person(
    home: Home, init: Init
) -> None:
    declare(home.path, init, home.path / "elsewhere")
    home.start("supervisor")
    waiting = "SELECT 1 FROM incidents WHERE id = ? AND state = 'needs_person'"
    for number in (1, 2):
        incident(home, init, number, partial(home.value, waiting, number))

    assert home.rows("SELECT action, result FROM outcomes ORDER BY id") == [
        ("restart", "failed"),
        ("", "none"),
    ]
    sentence = "Restart does not help against 'connection refused' on app: 0 of 1"
    [(text,)] = home.rows("SELECT text FROM incident_entries WHERE kind = 'no_fix'")
    assert sentence in str(text)


def test_failed_known_fix_is_investigated(home: Home, init: Init) -> None:
    declare(home.path, init, init.asked)
    redeploy = REDEPLOY.format(python=sys.executable, touch=TOUCH, file=init.deployed)
    with (home.path / "services.yaml").open("a") as file:
        file.write(redeploy.lstrip("\n"))
    home.start("supervisor")
    for number, init.broken in ((1, False), (2, True)):
        incident(home, init, number, lambda number=number: repaired(home, number))

    sessions = home.rows(
        "SELECT s.tier, s.trigger FROM sessions s JOIN incident_sessions i ON i.session_id = s.id "
        "WHERE i.incident_id = 2 ORDER BY s.id"
    )
    assert sessions == [(3, "known_fix"), (2, "escalation"), (3, "escalation")]
    tried = home.rows("SELECT session_id, name, outcome FROM cooldowns ORDER BY id")
    assert [each for each in tried if each[0] == sessions_of(home, "known_fix")] == [
        (sessions_of(home, "known_fix"), "restart", "failure")
    ]
    assert tried[-1][1:] == ("redeployment", "success")


def sessions_of(home: Home, trigger: str) -> object:
    return home.value("SELECT id FROM sessions WHERE trigger = ?", trigger)


def test_service_that_crashes_after_each_restart_needs_a_person(home: Home, init: Init) -> None:
    declare(home.path, init, init.asked)
    home.start("supervisor")
    home.until(lambda: passing(home))

    init.crashes_after = 1.5
    init.kill()
    home.until(lambda: home.value("SELECT 1 FROM incidents WHERE state = 'needs_person'"))

    ran = home.rows(
        "SELECT outcome, text LIKE '%, but did not last: %' FROM cooldowns WHERE attempts"
    )
    assert ran == [("failure", 1)], "one restart, and none after it crashed"
    shown = home.run("incidents", "show", "1").stdout
    assert "  state  needs a person\n" in shown
    assert home.rows("SELECT count(*) FROM incidents") == [(1,)]
    assert home.rows("SELECT observation FROM memories") == []
    init.crashes_after = 0.0
    init.asked.touch()
    home.until(lambda: home.value("SELECT 1 FROM incidents WHERE learned_at IS NOT NULL"))
    assert home.rows("SELECT observation FROM memories") == [
        ("Restart does not help against 'connection refused' on app: 0 of 1",)
    ]


def test_known_fix_uses_no_model(home: Home, init: Init) -> None:
    declare(home.path, init, init.asked)
    with MessagesApi({"model": investigates}) as api:
        home.env |= {"LAMPLIGHTER_ENGINE": "messages", "ANTHROPIC_BASE_URL": api.url("model")}
        home.start("supervisor")
        for number in (1, 2):
            incident(home, init, number, partial(repaired, home, number), rest=False)

    used = home.rows(
        "SELECT i.incident_id, s.tier, s.engine, COALESCE(s.input_tokens, 0) > 0 FROM sessions s "
        "JOIN incident_sessions i ON i.session_id = s.id ORDER BY s.id"
    )
    assert used == [
        (1, 1, "messages", 1),
        (1, 2, "messages", 1),
        (1, 3, "messages", 1),
        (2, 3, "probe", 0),
    ]
