"""Permanent installations: a Procfile runner, and systemd units with accurate settings."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import httpx2
import psutil
import pytest

from lamplighter.cli import main
from lamplighter.config.catalog import SETTINGS
from living import Home, free_port

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
PAGE = ROOT / "docs" / "how-to" / "deploy.md"
UNITS = ("lamplighter-web.service", "lamplighter-supervisor.service")
NOT_OURS = ("XDG_RUNTIME_DIR",)


def units() -> dict[str, str]:
    """Return the systemd units of the page by their names."""
    found = re.findall(r"`/etc/systemd/system/(\S+)`:\n\n```ini\n(.*?)```", PAGE.read_text(), re.S)
    assert [name for name, _ in found] == list(UNITS)
    return dict(found)


def options(text: str) -> list[tuple[str, str]]:
    """Return the options of a unit's service section; a name may occur several times."""
    section = text.partition("[Service]\n")[2].partition("\n\n[")[0]
    pairs = (line.partition("=") for line in section.splitlines())
    return [(name, value) for name, _, value in pairs]


@pytest.mark.parametrize("name", UNITS)
def test_systemd_unit_runs_an_existing_command_with_existing_settings(name: str) -> None:
    given = options(units()[name])
    held = dict(given)
    variables = [value.partition("=")[0] for each, value in given if each == "Environment"]

    program, command = held["ExecStart"].split()
    assert program.endswith("/bin/lamplighter")
    assert command in main.commands
    known = {setting.variable for setting in SETTINGS} | set(NOT_OURS)
    assert set(variables) == {"LAMPLIGHTER_HOME", "XDG_RUNTIME_DIR"} <= known
    assert held["RestartPreventExitStatus"] == "2"
    assert held["KillMode"] == "mixed"
    assert f"/var/lib/{held['StateDirectory']}" in text_of(given, "LAMPLIGHTER_HOME")
    assert f"/run/{held['RuntimeDirectory']}" in text_of(given, "XDG_RUNTIME_DIR")
    assert len(text_of(given, "XDG_RUNTIME_DIR")) <= 32, "sockets would be put elsewhere"


def text_of(given: list[tuple[str, str]], variable: str) -> str:
    [found] = [value.partition("=")[2] for _, value in given if value.startswith(f"{variable}=")]
    return found


def test_both_units_share_user_state_and_runtime_directories() -> None:
    web, supervisor = (dict(options(units()[name])) for name in UNITS)

    for option in ("User", "StateDirectory", "RuntimeDirectory", "RuntimeDirectoryPreserve"):
        assert web[option] == supervisor[option]


def test_systemd_analyze_accepts_the_units(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not there")
    paths = []
    for name, text in units().items():
        path = tmp_path / name
        path.write_text(text.replace("/opt/lamplighter/bin/lamplighter", str(BIN / "lamplighter")))
        paths.append(str(path))

    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *paths],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    ours = [line for line in done.stderr.splitlines() if "lamplighter" in line]
    assert ours == [], done.stderr


def sandboxed(home: Path, run: Path) -> str:
    """Return a shell program that sandboxes a process like the units, as far as a test can."""
    return (
        "set -e; mount --make-rprivate /; "
        f"mount --bind {home} {home}; mount --bind {run} {run}; "
        "mount -o remount,bind,ro /; mount -t tmpfs tmpfs /var/tmp; "
        'exec setpriv --no-new-privs --bounding-set=-all --inh-caps=-all "$@"'
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may make a mount namespace of its own")
def test_both_processes_run_with_only_their_own_directories_writable(
    tmp_path: Path,
) -> None:
    if not all(map(shutil.which, ("unshare", "setpriv", "mount"))):
        pytest.skip("unshare, setpriv or mount is not there")
    home, run = Home(tmp_path / "home"), Path(f"/tmp/lamplighter-run-{os.getpid()}")
    run.mkdir(mode=0o700)
    home.more |= {"XDG_RUNTIME_DIR": str(run), "LAMPLIGHTER_PORT": str(free_port())}
    started = []
    try:
        for name in ("web", "supervisor"):
            words = ["unshare", "-m", "sh", "-c", sandboxed(home.path, run), "sh"]
            with (tmp_path / f"{name}.log").open("wb") as log:
                started.append(
                    subprocess.Popen(
                        [*words, str(BIN / "lamplighter"), name],
                        env=home.env,
                        stdout=log,
                        stderr=log,
                    )
                )
            if name == "web":
                until_ready(home.env["LAMPLIGHTER_PORT"], tmp_path / "web.log")
        until(lambda: "completed" in str(session(home)), tmp_path / "supervisor.log")
        sockets = [path.name for path in run.glob("*/feed-*.sock")]
        for process in started:
            process.send_signal(signal.SIGTERM)
        statuses = [process.wait(30) for process in started]
    finally:
        for process in started:
            process.kill()
            process.wait()
        shutil.rmtree(run)

    assert len(sockets) == 2, sockets
    assert statuses == [-signal.SIGTERM, 0]


def session(home: Home) -> object:
    path = home.path / "lamplighter.db"
    with suppress(Exception):
        return home.rows("SELECT status FROM sessions") if path.exists() else None
    return None


def until(what: object, log: Path) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if what():  # type: ignore[operator]
            return
        time.sleep(0.05)
    raise AssertionError(log.read_text())


def until_ready(port: str, log: Path) -> None:
    def ready() -> bool:
        with suppress(httpx2.HTTPError):
            return httpx2.get(f"http://127.0.0.1:{port}/readyz", timeout=5).status_code == 200
        return False

    until(ready, log)


def test_procfile_runner_starts_and_stops_both_processes(tmp_path: Path) -> None:
    home, port = Home(tmp_path / "home"), str(free_port())
    home.more |= {"LAMPLIGHTER_PORT": port, "PATH": f"{BIN}:{os.environ['PATH']}"}
    log = tmp_path / "honcho.log"
    with log.open("wb") as output:
        honcho = subprocess.Popen(
            [str(BIN / "honcho"), "-f", str(ROOT / "Procfile"), "-d", str(tmp_path), "start"],
            env=home.env,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        until_ready(port, log)
        until(lambda: "completed" in str(session(home)), log)
        family = psutil.Process(honcho.pid).children(recursive=True)
        commands = {each.cmdline()[-1] for each in family}

        honcho.send_signal(signal.SIGTERM)

        honcho.wait(20)
    finally:
        honcho.kill()
        honcho.wait()
    assert {"web", "supervisor"} <= commands
    _, living = psutil.wait_procs(family, timeout=15)
    assert living == []
    said = log.read_text()
    assert f"http://127.0.0.1:{port}" in said
    assert "Traceback" not in said
