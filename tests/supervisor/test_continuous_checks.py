"""Checks run continuously: real supervisor, real check process, real sockets."""

import os
import random
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil
import pytest
from homes import Home, rows

import thorough
from living import free_port

SERVICES = """
services:
  api:
    depends_on: [db]
    checks:
      - tcp: 127.0.0.1:{api}
        interval: 1s
        timeout: 500ms
        retries: 0
  db:
    checks:
      - tcp: 127.0.0.1:{db}
        interval: 1s
        timeout: 500ms
        retries: 0
"""
POINTS = "SELECT COUNT(*) FROM check_points"


@contextmanager
def listening(port: int) -> Iterator[None]:
    """Accept connections at a port while this context is open."""
    with socket.socket() as plug:
        plug.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        plug.bind(("127.0.0.1", port))
        plug.listen(64)

        def accept() -> None:
            with suppress(OSError):
                while True:
                    plug.accept()[0].close()

        threading.Thread(target=accept, daemon=True).start()
        yield
        plug.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def checked(home: Home) -> Home:
    home.env |= {"LAMPLIGHTER_CHECK_INTERVAL": "1s"}
    return home


def declare(home: Home, **ports: int) -> None:
    (home.path / "services.yaml").write_text(SERVICES.format(**ports))


def check_processes(supervisor: int) -> list[int]:
    found = []
    for each in psutil.Process(supervisor).children():
        with suppress(psutil.Error):
            if "lamplighter.engines.checker" in each.cmdline():
                found.append(each.pid)
    return found


def passed(home: Home, least: int) -> bool:
    query = "SELECT COUNT(*) FROM check_series WHERE state = 'passed' AND streak >= ?"
    return home.value(query, least) == 2


def test_failing_dependency_starts_one_chain_for_all_affected_services(
    checked: Home,
) -> None:
    ports = {"api": free_port(), "db": free_port()}
    declare(checked, **ports)

    with listening(ports["api"]), listening(ports["db"]):
        checked.start("supervisor")
        checked.until(lambda: passed(checked, 2))
        assert checked.value("SELECT COUNT(*) FROM requests") == 0
    checked.until(lambda: checked.value("SELECT COUNT(*) FROM sessions WHERE trigger = 'check'"))
    checked.until(lambda: checked.value("SELECT COUNT(*) FROM incident_members") == 2)
    before = checked.value(POINTS)
    assert isinstance(before, int)
    checked.until(lambda: checked.value(POINTS) >= before + 6)

    assert checked.value("SELECT COUNT(*) FROM requests WHERE trigger = 'check'") == 1
    with listening(ports["api"]), listening(ports["db"]):
        closed = "SELECT COUNT(*) FROM incident_members WHERE recovered_at IS NOT NULL"
        checked.until(lambda: checked.value(closed) == 2)


def test_killed_check_process_is_replaced_without_false_failures(checked: Home) -> None:
    ports = {"api": free_port(), "db": free_port()}
    declare(checked, **ports)

    with listening(ports["api"]), listening(ports["db"]):
        supervisor = checked.start("supervisor")
        for _ in range(3):
            before = checked.until(lambda: checked.value(POINTS))
            [child] = checked.until(lambda: check_processes(supervisor.pid))  # type: ignore[misc]
            os.kill(child, signal.SIGKILL)
            checked.until(lambda before=before: checked.value(POINTS) >= before + 4)

        assert checked.value("SELECT COUNT(*) FROM check_points WHERE state <> 'passed'") == 0


def has_ended(pid: int) -> bool:
    """Return whether a process has ended; a zombie has."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_check_process_ends_with_its_supervisor_and_the_next_one_continues(
    checked: Home,
) -> None:
    ports = {"api": free_port(), "db": free_port()}
    declare(checked, **ports)
    supervisor = checked.start("supervisor")
    checked.until(lambda: checked.value("SELECT COUNT(*) FROM incident_members") == 2)
    [child] = checked.until(lambda: check_processes(supervisor.pid))  # type: ignore[misc]

    supervisor.kill()
    supervisor.wait()
    checked.until(lambda: has_ended(child))
    before = checked.value(POINTS)
    assert isinstance(before, int)
    checked.start("supervisor")
    checked.until(lambda: checked.value(POINTS) >= before + 4)

    assert checked.value("SELECT COUNT(*) FROM incidents") == 1
    requests = "SELECT COUNT(*) FROM requests WHERE trigger = 'check'"
    assert (checked.value(requests) or 0) <= 1, "the first round may be the investigation"


def is_still(home: Home) -> bool:
    """Whether the results stay the same for 2.5 s; a check that began before may still add one."""
    before = home.value(POINTS)
    time.sleep(2.5)
    return home.value(POINTS) == before


def test_checks_pause_while_halted(checked: Home) -> None:
    ports = {"api": free_port(), "db": free_port()}
    declare(checked, **ports)

    with listening(ports["api"]), listening(ports["db"]):
        checked.start("supervisor")
        checked.until(lambda: passed(checked, 1))
        (checked.path / "HALT").write_text("the rack is being moved")
        checked.until(lambda: is_still(checked))
        before = checked.value(POINTS)
        (checked.path / "HALT").unlink(missing_ok=True)
        assert checked.run("resume").returncode == 0
        checked.until(lambda: checked.value(POINTS) != before)


def test_checks_run_on_postgresql(kept: Home) -> None:
    kept.env["LAMPLIGHTER_CHECK_INTERVAL"] = "1s"
    ports = {"api": free_port(), "db": free_port()}
    declare(kept, **ports)

    kept.start("supervisor")

    kept.until(lambda: rows(kept, "SELECT 1 FROM pg_tables WHERE tablename = 'incident_members'"))
    kept.until(lambda: rows(kept, "SELECT COUNT(*) FROM incident_members")[0][0] == 2)
    kept.until(lambda: rows(kept, "SELECT 1 FROM incident_sessions"))
    assert rows(kept, "SELECT COUNT(*) FROM incidents") == [(1,)]
    [(requests,)] = rows(kept, "SELECT COUNT(*) FROM requests WHERE trigger = 'check'")
    assert requests <= 1, "the first round may be the investigation"


def test_killed_supervisors_neither_lose_nor_repeat_an_investigation(checked: Home) -> None:
    ports = {"api": free_port(), "db": free_port()}
    declare(checked, **ports)
    moments = random.Random(20_261)

    for _ in range(200 if thorough.ALL else 3):
        before = checked.value(POINTS) or 0
        supervisor = checked.start("supervisor")
        checked.until(lambda before=before: (checked.value(POINTS) or 0) > before)
        time.sleep(moments.random())
        supervisor.kill()
        supervisor.wait()

    checked.start("supervisor")
    checked.until(lambda: checked.value("SELECT COUNT(*) FROM incident_members") == 2)
    states = "SELECT COUNT(*) FROM check_points WHERE state <> 'failed'"
    assert checked.value(states) == 0
    assert checked.value("SELECT COUNT(*) FROM incidents") == 1
    requests = "SELECT COUNT(*) FROM requests WHERE trigger = 'check'"
    assert checked.value(requests) <= 1, "the first round may be the investigation"
    linked = "SELECT COUNT(*) FROM incident_sessions"
    checked.until(lambda: (checked.value(linked) or 0) > 0)
    streaks = "SELECT SUM(streak) FROM check_series"
    assert checked.value(f"SELECT ({streaks}) - COUNT(*) FROM check_points") == 0


SLOW = """
commands: [sleep]
services:
  fast:
    checks:
      - tcp: 127.0.0.1:{port}
        interval: 1s
  slow:
    checks:
      - command: [sleep, "60"]
        interval: 1s
        timeout: 60s
"""


def test_hanging_check_delays_no_other_check_and_no_file_change(checked: Home) -> None:
    port = free_port()
    (checked.path / "services.yaml").write_text(SLOW.format(port=port))

    with listening(port):
        checked.start("supervisor")
        checked.until(lambda: checked.value(POINTS))
        before = checked.value(POINTS)
        assert isinstance(before, int)
        checked.until(lambda: checked.value(POINTS) >= before + 5)
        assert checked.value("SELECT COUNT(*) FROM check_series") == 1

        text = SLOW.format(port=port).replace("fast", "renamed")
        (checked.path / "services.yaml").write_text(text)
        renamed = "SELECT 1 FROM check_series WHERE service = 'renamed'"
        checked.until(lambda: checked.value(renamed))


def test_kills_during_an_incident_send_no_notification_twice(checked: Home) -> None:
    checked.env["LAMPLIGHTER_NOTIFY"] = f"json://127.0.0.1:{free_port()}"
    ports = {"api": free_port(), "db": free_port()}
    declare(checked, **ports)
    moments = random.Random(7)
    told = "SELECT COUNT(*) FROM notices WHERE kind = 'incident'"

    with listening(ports["api"]), listening(ports["db"]):
        supervisor = checked.start("supervisor")
        checked.until(lambda: passed(checked, 2))
    checked.until(lambda: checked.value("SELECT COUNT(*) FROM incidents"))
    supervisor.kill()
    supervisor.wait()
    for _ in range(200 if thorough.ALL else 4):
        supervisor = checked.start("supervisor")
        time.sleep(4 * moments.random())
        supervisor.kill()
        supervisor.wait()
    checked.start("supervisor")
    checked.until(lambda: checked.value(told) == 1)

    with listening(ports["api"]), listening(ports["db"]):
        checked.until(lambda: checked.value("SELECT resolved_at FROM incidents") is not None)
    assert checked.value("SELECT COUNT(*) FROM incidents") == 1
    assert checked.value(told) == 2
    assert checked.value("SELECT COUNT(*) FROM requests WHERE trigger = 'check'") == 1
    sessions = "SELECT COUNT(*) FROM sessions WHERE trigger = 'check'"
    linked = f"{sessions} AND id IN (SELECT session_id FROM incident_sessions)"
    assert checked.value(linked) == checked.value(sessions)
