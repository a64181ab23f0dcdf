"""Two homes on one PostgreSQL: output stays with its home, and is ingested when it is back."""

import shlex
import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest
from homes import ENGINE, NO_SERVICES, Home, rows, there

from living import free_port

MARKERS = "SELECT count(*), count(DISTINCT text) FROM markers WHERE session_id = 1"
SESSION = "SELECT status, output_pending, reason FROM sessions WHERE id = 1"
INGESTED = "SELECT 1 FROM sessions WHERE id = 1 AND status = 'interrupted' AND output_pending = 0"
ENDED = "SELECT 1 FROM sessions WHERE id = 1 AND status <> 'running'"


@pytest.fixture
def other(home: Home, postgres_url: str, tmp_path: Path) -> Home:
    """Return a second home; both store their rows in one PostgreSQL database."""
    path = tmp_path / "other"
    path.mkdir()
    (path / "services.yaml").write_text(NO_SERVICES)
    home.env["LAMPLIGHTER_DATABASE_URL"] = postgres_url
    there = Home(path, {**home.env, "LAMPLIGHTER_HOME": str(path)}, home.started)
    there.env["LAMPLIGHTER_EXEC_COMMAND"] = shlex.join(
        [sys.executable, str(ENGINE), "numbered", "400", "0.01"]
    )
    there.env["LAMPLIGHTER_ENGINE"] = "exec"
    return there


def printed(home: Home) -> int:
    return home.output(1).read_bytes().count(b"[MEMORY:")


def leading(other: Home) -> subprocess.Popen[bytes]:
    """Start the supervisor of the second home, and wait until its session is running."""
    supervisor = other.start("supervisor")
    other.until(lambda: there(other, "SELECT 1 FROM markers HAVING count(*) > 20"), 60)
    return supervisor


def api(home: Home) -> httpx2.Client:
    home.env["LAMPLIGHTER_PORT"] = str(free_port())
    home.start("web")
    home.until(lambda: "Listening on" in (home.path / "log").read_text() and home.way_in(), 60)
    url = f"http://127.0.0.1:{home.env['LAMPLIGHTER_PORT']}/api/v1"
    return httpx2.Client(base_url=url, headers=home.way_in(), timeout=30)


@pytest.mark.timeout(240)
def test_output_of_a_killed_leader_is_ingested_when_its_home_is_back(
    home: Home, other: Home
) -> None:
    host = f":{other.path}"
    with api(home) as asking:
        leader = leading(other)
        running = asking.get("/sessions/1").json()
        assert (running["status"], running["output_pending"]) == ("running", False)
        assert running["host"].endswith(host)
        assert asking.get("/sessions/1/log").json()["elsewhere"] == running["host"]

        leader.send_signal(signal.SIGSTOP)  # what is printed from here on is not ingested
        ingested = rows(home, MARKERS)[0][0]
        home.until(lambda: printed(other) > int(str(ingested)))
        leader.send_signal(signal.SIGKILL)
        leader.wait()
        home.start("supervisor")
        home.until(lambda: there(home, ENDED), 60)
        interrupted = asking.get("/sessions/1").json()
        assert interrupted["status"] == "interrupted"
        assert interrupted["output_pending"] is True
        assert interrupted["reason"] == (
            f"The supervisor stopped while the session ran. Its output is on {running['host']},"
            " not ingested yet."
        )
        logged = f"Session 1: interrupted. {interrupted['reason']}"
        home.until(lambda: logged in (home.path / "log").read_text())  # after the commit
        assert rows(home, MARKERS)[0][0] < printed(other), "or nothing was left to ingest"

        other.env["LAMPLIGHTER_ENGINE"] = "probe"
        other.start("supervisor")  # it waits to lead, and leaves nothing behind
        home.until(lambda: there(home, INGESTED), 60)
        ended = asking.get("/sessions/1").json()

    assert rows(home, MARKERS) == [(printed(other), printed(other))]
    assert "not ingested" not in ended["reason"]
    assert ended["log_offset"] == other.output(1).stat().st_size
    assert rows(home, "SELECT text FROM events WHERE text LIKE 'Output of session 1%'") == [
        (f"Output of session 1 was ingested from {running['host']}.",)
    ]
    with api(other) as asking:
        log = asking.get("/sessions/1/log?limit=2000").json()
        assert log["elsewhere"] is None
        assert len(log["items"]) >= printed(other)


@pytest.mark.timeout(240)
def test_suspended_leader_ingests_its_output_when_it_resumes(home: Home, other: Home) -> None:
    leader = leading(other)
    leader.send_signal(signal.SIGSTOP)
    rows(
        home,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name LIKE 'lamplighter%' AND datname = current_database()",
    )
    home.start("supervisor")
    home.until(lambda: there(home, ENDED), 60)
    [(status, pending, _)] = rows(home, SESSION)
    assert (status, pending) == ("interrupted", 1)

    leader.send_signal(signal.SIGCONT)

    home.until(lambda: there(home, INGESTED), 60)
    assert rows(home, MARKERS) == [(printed(other), printed(other))]
    assert leader.poll() is None


@pytest.mark.timeout(240)
def test_lost_output_is_reported_as_missing(home: Home, other: Home) -> None:
    leading(other).send_signal(signal.SIGKILL)
    home.start("supervisor")
    home.until(lambda: there(home, ENDED), 60)
    other.output(1).unlink()
    other.env["LAMPLIGHTER_ENGINE"] = "probe"

    other.start("supervisor")

    home.until(lambda: there(home, INGESTED), 60)
    [(_, _, reason)] = rows(home, SESSION)
    assert "Its output was not found on" in str(reason)
