"""A third program locks the database for half a minute: reads continue, writes report it."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import httpx2
import pytest
from homes import Home
from staged import client, remembered, serving

import living
from lamplighter.repository.store import driver

HELD_SECONDS = 30
MARKERS = 400


@pytest.mark.timeout(180)
def test_a_database_locked_for_half_a_minute_loses_nothing(home: Home) -> None:
    home.engine("numbered", str(MARKERS), "0.02")
    with serving(home) as server, client(server) as asking, ThreadPoolExecutor(4) as others:
        assert remembered(asking, "Before").status_code == 201
        supervisor = home.start("supervisor")
        home.until(lambda: home.value("SELECT count(*) FROM markers"))
        with closing(driver.connect(str(home.path / "lamplighter.db"))) as holder:
            holder.execute("BEGIN IMMEDIATE")
            until = time.monotonic() + HELD_SECONDS
            before = holder.execute("SELECT count(*) FROM markers").fetchone()[0]
            refused, read = [], []
            while time.monotonic() < until:
                writing = others.submit(remembered, asking, f"Meanwhile {len(refused)}")
                while not writing.done():
                    for path in ("/api/v1/memories", "/api/v1/overview", "/readyz"):
                        read.append(asking.get(path).status_code)
                    time.sleep(0.4)
                refused.append(writing.result())
            printed = home.output(1).read_bytes().count(b"[MEMORY:")
            holder.execute("ROLLBACK")
        after = remembered(asking, "After")
        home.until(lambda: home.value("SELECT status FROM sessions") == "completed", 60)

    assert printed == MARKERS, "the engine did not print on meanwhile"
    assert before < MARKERS, "all was in before: the test shows nothing"
    assert {each.status_code for each in refused} == {503}
    assert len(refused) >= 4, f"only {len(refused)} were told within {HELD_SECONDS} s"
    assert all(each.headers["retry-after"].isdecimal() for each in refused)
    assert all("Nothing was changed" in each.json()["detail"] for each in refused)
    assert set(read) == {200}, f"{len(read)} reads"
    assert len(read) > 20
    assert after.status_code == 201
    assert supervisor.poll() is None
    assert home.value("SELECT count(*) FROM markers") == MARKERS
    assert home.value("SELECT count(DISTINCT text) FROM markers") == MARKERS
    said = "SELECT count(*) FROM memories WHERE observation LIKE 'Meanwhile%'"
    assert home.value(said) == 0, "a refused write was made after all"


def test_a_supervisor_waits_for_a_locked_database_and_then_leads(home: Home) -> None:
    home.engine("lines", "[MEMORY:timing:jellyfin] Takes 60s to start")
    assert home.run("migrate").returncode == 0
    with closing(driver.connect(str(home.path / "lamplighter.db"))) as holder:
        holder.execute("BEGIN IMMEDIATE")
        supervisor = home.start("supervisor")
        home.until(lambda: b"retrying" in (home.path / "log").read_bytes())
        holder.execute("ROLLBACK")
    home.until(lambda: home.value("SELECT count(*) FROM memories"))

    assert supervisor.poll() is None
    assert home.value("SELECT count(*) FROM sessions") == 1


def test_a_supervisor_ends_on_sigterm_while_the_database_is_locked(home: Home) -> None:
    home.engine("numbered", "100000", "0.2")
    supervisor = home.start("supervisor")
    home.until(lambda: home.value("SELECT count(*) FROM memories"))
    with closing(driver.connect(str(home.path / "lamplighter.db"))) as holder:
        holder.execute("BEGIN IMMEDIATE")
        home.until(lambda: b"retrying" in (home.path / "log").read_bytes())

        supervisor.terminate()

        assert supervisor.wait(30) == 0
        assert home.until(lambda: not home.left_over())
        holder.execute("ROLLBACK")
    home.env["LAMPLIGHTER_ENGINE"] = "probe"
    home.start("supervisor")
    home.until(lambda: home.value("SELECT status FROM sessions WHERE id = 1") == "interrupted")
    printed = home.output(1).read_bytes().count(b"[MEMORY:")
    taken = int(str(home.value("SELECT count(*) FROM markers")))
    assert printed - taken in (0, 1), "more than the cut last line is missing"


@pytest.mark.parametrize("command", ["web", "up"])
def test_a_web_process_started_on_a_locked_database_serves_reads(home: Home, command: str) -> None:
    port = living.free_port()
    home.env |= {"LAMPLIGHTER_PORT": str(port)}
    assert home.run("login").returncode == 0
    asking = httpx2.Client(base_url=f"http://127.0.0.1:{port}", headers=home.way_in(), timeout=30)
    with asking, closing(driver.connect(str(home.path / "lamplighter.db"))) as holder:
        holder.execute("BEGIN IMMEDIATE")
        web = home.start(command)
        home.until(lambda: answers(asking, "/api/v1/memories") == 200, 60)
        assert remembered(asking, "Meanwhile").status_code == 503
        holder.execute("ROLLBACK")
        home.until(lambda: remembered(asking, "After").status_code == 201, 60)
        if command == "web":
            home.until(lambda: "Log in: http" in (home.path / "log").read_text(), 60)
        assert web.poll() is None
        web.terminate()
        web.wait(30)


def answers(asking: httpx2.Client, path: str) -> int:
    try:
        return asking.get(path).status_code
    except httpx2.HTTPError:
        return 0


@pytest.mark.parametrize("words", [["login"], ["token", "create", "--scope", "read"]])
def test_a_command_on_a_locked_database_fails_and_can_be_retried(
    home: Home, words: list[str]
) -> None:
    assert home.run("migrate").returncode == 0
    with closing(driver.connect(str(home.path / "lamplighter.db"))) as holder:
        holder.execute("BEGIN IMMEDIATE")
        done = home.run(*words)

    assert done.returncode == 1
    assert "The database is not available" in done.stderr


@pytest.mark.parametrize("words", [["memory", "list"], ["backup"], ["login"]])
def test_a_command_on_a_locked_database_without_a_log_names_the_lock(
    home: Home, words: list[str]
) -> None:
    assert home.run("migrate").returncode == 0
    with closing(driver.connect(str(home.path / "lamplighter.db"))) as holder:
        holder.execute("PRAGMA journal_mode=DELETE")
        holder.execute("BEGIN IMMEDIATE")
        done = home.run(*words)
        holder.execute("ROLLBACK")

    assert done.returncode == (2 if words == ["backup"] else 1)
    assert "is locked by another program. Try again" in done.stderr
    assert "free space" not in done.stderr
    assert home.run(*words).returncode == 0
