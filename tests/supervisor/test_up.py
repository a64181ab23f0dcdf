"""`lamplighter up`: one command, both processes, kept running."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from homes import Home

from living import free_port


@pytest.fixture
def port() -> int:
    return free_port()


def ready(port: int) -> bool:
    address = f"http://127.0.0.1:{port}/readyz"
    with suppress(OSError), urllib.request.urlopen(address, timeout=2) as answer:
        return bool(answer.status == 200)
    return False


def child(up: int, name: str) -> psutil.Process | None:
    with suppress(psutil.Error):
        for process in psutil.Process(up).children():
            if name in process.cmdline():
                return process
    return None


def test_first_start_checks_lamplighter_itself(home: Home, port: int) -> None:
    (home.path / "services.yaml").unlink()
    home.env["LAMPLIGHTER_PORT"] = str(port)

    up = home.start("up")

    home.until(lambda: home.value("SELECT count(*) FROM sessions WHERE status = 'completed'"))
    assert home.rows("SELECT service, observation FROM memories") == []  # HTTP 200 is the usual
    assert home.rows("SELECT level, service FROM events") == []
    assert f"127.0.0.1:{port}/readyz" in (home.path / "services.yaml").read_text()
    up.send_signal(signal.SIGTERM)
    assert up.wait(timeout=15) == 0
    assert not ready(port)


def test_json_logs_go_to_standard_error_and_the_login_link_to_standard_output(
    home: Home, port: int, tmp_path: Path
) -> None:
    words = [sys.executable, "-m", "lamplighter", "up"]
    env = home.env | {"LAMPLIGHTER_PORT": str(port), "LAMPLIGHTER_LOG_FORMAT": "json"}
    with (tmp_path / "out").open("wb") as out, (tmp_path / "err").open("wb") as err:
        up = subprocess.Popen(words, env=env, stdout=out, stderr=err)
    try:
        home.until(lambda: "Listening" in (tmp_path / "err").read_text())
    finally:
        up.terminate()
        up.wait(timeout=15)

    logged = [json.loads(line) for line in (tmp_path / "err").read_text().splitlines()]
    assert logged[0]["message"] == f"Listening on http://127.0.0.1:{port}"
    assert "Log in: http" in (tmp_path / "out").read_text()
    assert "Listening" not in (tmp_path / "out").read_text()


@pytest.mark.parametrize("name", ["web", "supervisor"])
def test_up_restarts_a_killed_process(home: Home, port: int, name: str) -> None:
    home.env["LAMPLIGHTER_PORT"] = str(port)
    up = home.start("up")
    first = home.until(lambda: ready(port) and child(up.pid, name))
    assert isinstance(first, psutil.Process)

    first.kill()

    def again() -> bool:
        found = child(up.pid, name)
        return found is not None and found.pid != first.pid and ready(port)

    home.until(again)
    up.send_signal(signal.SIGINT)
    assert up.wait(timeout=15) == 0


def test_killed_up_leaves_no_process(home: Home, port: int) -> None:
    home.env["LAMPLIGHTER_PORT"] = str(port)
    up = home.start("up")
    home.until(lambda: ready(port) and child(up.pid, "supervisor"))
    pids = [process.pid for process in psutil.Process(up.pid).children()]

    up.kill()
    up.wait()

    def gone() -> bool:
        return not any(
            psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
            for pid in pids
        )

    assert len(pids) == 2
    assert home.until(gone)


@pytest.mark.parametrize("words", ["up", "web"])
def test_port_in_use_is_refused_with_an_explanation(home: Home, port: int, words: str) -> None:
    home.env["LAMPLIGHTER_PORT"] = str(port)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()

        done = home.run(words)

    assert done.returncode == 2
    assert f"Port {port} on 127.0.0.1 is in use" in done.stderr
    assert "LAMPLIGHTER_PORT" in done.stderr
    assert "Traceback" not in done.stderr + done.stdout


def test_newer_database_is_refused_and_unchanged(home: Home) -> None:
    home.run("migrate")
    from lamplighter.repository.store import driver

    connection = driver.connect(str(home.path / "lamplighter.db"))
    connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()

    done = home.run("up")

    assert done.returncode == 2
    assert "newer Lamplighter" in done.stderr
    assert home.value("SELECT version_num FROM alembic_version") == "9999"


def test_doctor_reports_a_valid_home_and_invalid_files(home: Home) -> None:
    home.run("migrate")
    sound = home.run("doctor")
    (home.path / "services.yaml").write_text("services: 5\n")

    (home.path / "prices.toml").write_text('["qwen"]\ninput = -1\n')
    home.env["LAMPLIGHTER_READ_ROOTS"] = f"{home.path},/no/such/place"
    broken = home.run("doctor")

    assert "LAMPLIGHTER_READ_ROOTS: /no/such/place: not a readable directory" in broken.stdout
    assert broken.stdout.count("qwen: input must be dollars") == 1
    assert "BAD  " in broken.stdout
    assert broken.returncode == 1
    assert "revision" in sound.stdout
    assert "services.yaml:1:" in broken.stdout


def test_doctor_reports_an_undefined_notification_target(home: Home) -> None:
    home.env["LAMPLIGHTER_NOTIFY"] = "ops=json://127.0.0.1:9/a"
    (home.path / "services.yaml").write_text(
        "services: {nas: {notify: [OPS, family], checks: [{ping: 127.0.0.1}]}}\n"
    )

    found = home.run("doctor").stdout

    assert "names the notification target family; LAMPLIGHTER_NOTIFY has none of it" in found
    assert "notification target OPS" not in found


def test_settings_command_shows_the_source_of_each_value(home: Home) -> None:
    (home.path / "lamplighter.toml").write_text("memory_budget = 100\nport = 9000\n")
    home.env["LAMPLIGHTER_PORT"] = "9001"

    done = home.run("settings")

    lines = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()}
    assert lines["LAMPLIGHTER_PORT"] == ["9001", "[environment]"]
    assert lines["LAMPLIGHTER_MEMORY_BUDGET"] == ["100", "[lamplighter.toml]"]
    assert lines["LAMPLIGHTER_INTERVAL"] == ["1h", "[environment]"]
    assert lines["LAMPLIGHTER_ENGINE"] == ["probe", "[default]"]


def is_zombie(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_idle_processes_leave_no_zombies(home: Home, port: int) -> None:
    home.env |= {"LAMPLIGHTER_PORT": str(port), "LAMPLIGHTER_INTERVAL": "300ms"}
    home.engine("leaves_children")
    up = home.start("up")
    home.until(lambda: int(str(home.value("SELECT count(*) FROM sessions") or 0)) >= 5)

    time.sleep(0.3)
    family = psutil.Process(up.pid).children(recursive=True)

    dead = [each for each in family if is_zombie(each)]  # one may have ended just now
    home.until(lambda: not [each for each in dead if is_zombie(each)])
    os.kill(up.pid, signal.SIGTERM)
    assert up.wait(timeout=15) == 0


def test_files_of_the_home_are_private(home: Home) -> None:
    home.engine("lines", "[EVENT:info] here")
    (home.path / "lamplighter.db").unlink()

    home.run("run")

    kept = [path for path in home.path.rglob("*") if path.name not in ("services.yaml", "log")]
    assert len(kept) > 4
    assert not [path for path in kept if path.stat().st_mode & 0o077]
