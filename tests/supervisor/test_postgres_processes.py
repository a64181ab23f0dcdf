"""The real processes on PostgreSQL: one leads, and a former leader cannot write."""

import json
import signal
import socket
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest
from homes import Home, rows, there

from living import free_port
from postgres_server import PostgresServer


def test_manual_session_is_stored_only_in_postgresql(kept: Home) -> None:
    kept.engine("lines", "[MEMORY:timing:jellyfin] Takes 60s to start", "[EVENT:info] Looked")

    done = kept.run("run", "--tier", "2")

    assert done.returncode == 0, done.stderr
    assert rows(kept, "SELECT tier, status FROM sessions") == [(2, "completed")]
    assert rows(kept, "SELECT service, confidence FROM memories") == [("jellyfin", 0.7)]
    assert rows(kept, "SELECT text FROM events") == [("Looked",)]
    assert rows(kept, "SELECT count(*) > 3 FROM changes") == [(True,)]
    assert not list(kept.path.glob("*.db*"))


def test_standby_takes_over_from_a_killed_supervisor(kept: Home) -> None:
    kept.engine("numbered", "10000", "0.01")
    first = kept.start("supervisor")
    kept.until(lambda: there(kept, "SELECT 1 FROM memories"))
    second = kept.start("supervisor")
    kept.until(lambda: "is on standby" in (kept.path / "log").read_text())

    first.kill()
    first.wait()

    kept.until(lambda: there(kept, f"SELECT 1 FROM leases WHERE epoch = 2 AND pid = {second.pid}"))
    kept.until(lambda: there(kept, "SELECT 1 FROM sessions WHERE status = 'interrupted'"))
    kept.until(lambda: there(kept, "SELECT 1 FROM sessions WHERE id = 2 AND status = 'running'"))


def test_web_process_starts_with_postgresql_beside_a_supervisor(
    kept: Home,
) -> None:
    kept.engine("lines", "[EVENT:warning:jellyfin] Slow today")
    kept.env["LAMPLIGHTER_PORT"] = str(free_port())
    kept.start("web")
    kept.start("supervisor")

    kept.until(lambda: there(kept, "SELECT 1 FROM events WHERE text = 'Slow today'"))
    assert "Listening on" in kept.until(lambda: (kept.path / "log").read_text())  # type: ignore[operator]


def test_token_revoked_by_another_process_is_refused(kept: Home) -> None:
    port = free_port()
    kept.env["LAMPLIGHTER_PORT"] = str(port)
    kept.start("web")
    kept.until(lambda: "Listening on" in (kept.path / "log").read_text())

    def status(words: str) -> int:
        headers = {"Authorization": f"Bearer {words}"}
        address = f"http://127.0.0.1:{port}/api/v1/memories"
        return httpx2.get(address, headers=headers, timeout=30).status_code

    for number in range(5):
        named = ("--name", f"t{number}", "--scope", "memories:read", "--json")
        made = kept.run("token", "create", *named)
        token = json.loads(made.stdout)
        assert [status(token["token"]) for _ in range(3)] == [200, 200, 200]

        kept.run("token", "revoke", str(token["id"]))

        assert status(token["token"]) == 401


def test_up_waits_for_a_starting_server(home: Home) -> None:
    server = PostgresServer()
    try:
        home.env["LAMPLIGHTER_DATABASE_URL"] = server.create("later")
        home.env["LAMPLIGHTER_PORT"] = str(free_port())
        server.stop()
        up = home.start("up")
        home.until(lambda: "is not available yet" in (home.path / "log").read_text())
        server.start()
        home.until(lambda: there(home, "SELECT 1 FROM sessions WHERE status = 'completed'"))
        up.send_signal(signal.SIGTERM)
        assert up.wait(30) == 0
    finally:
        server.remove()


def test_refused_connection_is_explained_immediately(home: Home, postgres_url: str) -> None:
    home.env["LAMPLIGHTER_DATABASE_URL"] = postgres_url.replace("postgres@", "lamp:s3cret@")

    done = home.run("migrate")

    assert done.returncode == 2
    assert 'role "lamp" does not exist' in done.stderr
    assert "LAMPLIGHTER_DATABASE_URL" in done.stderr
    assert "s3cret" not in done.stderr + home.run("settings").stdout


def test_commands_ask_a_server_that_does_not_answer_only_once(home: Home) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=9) as server, ThreadPoolExecutor() as pool:
        home.env["LAMPLIGHTER_DATABASE_URL"] = "postgresql://u@{}:{}/d".format(
            *server.getsockname()
        )

        status, backup = pool.map(home.run, ("status", "backup"))

        server.setblocking(False)
        for _ in range(2):
            server.accept()[0].close()
        with pytest.raises(BlockingIOError):
            server.accept()
    assert (status.returncode, backup.returncode) == (2, 2)
    for done in (status, backup):
        [line] = done.stderr.splitlines()
        assert "cannot be used: the database did not answer in time. Check" in line


def test_supervisor_remains_the_leader_after_a_server_outage(home: Home) -> None:
    server = PostgresServer()
    try:
        home.engine("numbered", "100000", "0.05")
        home.env["LAMPLIGHTER_DATABASE_URL"] = server.create("leading")
        home.start("supervisor")
        home.until(lambda: there(home, "SELECT 1 FROM memories"))
        server.stop()
        home.until(lambda: "retrying" in (home.path / "log").read_text())
        server.start()
        before = rows(home, "SELECT count(*) FROM memories")[0][0]

        assert isinstance(before, int)
        home.until(lambda: there(home, f"SELECT 1 FROM memories WHERE id > {before + 5}"), 60)
        assert rows(home, "SELECT epoch FROM leases") == [(1,)]
        assert rows(home, "SELECT id, status FROM sessions") == [(1, "running")]
    finally:
        server.remove()
