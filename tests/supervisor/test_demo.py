"""`lamplighter demo`: without configuration, it shows everything promised; nothing is left."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from lamplighter.serve.demo.stage import free_ports
from living import KEPT
from thorough import ALL

SHOWN_SECONDS = 600
SEEN = {
    "a failure is found": "!! archive: http: connection refused",
    "investigated": "!! archive: http: the TCP connection fails: connection refused",
    "the repair is learned": "learned    archive: Restart fixes 'connection refused' on archive",
    "repaired": "archive: Restart (success): Healthy again after",
    "the cooldown is given back": "archive: Healthy for 2 rounds in a row",
    "the start-up time is learned": "learned    archive: Takes about",
    "reinforced": "reinforced archive: Takes about",
    "used": "as remembered (memory",
    "a repair that does not last is noticed": "courier: Restart did not last: http: connection",
    "needs approval": "courier: Needs a person",
    "memory is pointed out": "-> Memory: ",
    "the next step is named": "Next, check your own services",
}


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path, int]]:
    port, log = free_ports(1)[0], tmp_path / "log"
    env = {name: os.environ[name] for name in KEPT if name in os.environ}
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "lamplighter", "demo", "--port", str(port)],
            env={**env, "TMPDIR": str(tmp_path)},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
        )
    yield process, log, port
    with suppress(ProcessLookupError):
        process.kill()
    process.wait()


def asking(port: int, directory: Path) -> Callable[[str], Any]:
    """Return a function that queries the demo's API with the token of its home."""
    [token] = directory.glob("lamplighter-demo-*/token")
    way_in = {"Authorization": f"Bearer {token.read_text().strip()}"}

    def ask(path: str) -> Any:
        address = f"http://127.0.0.1:{port}/api/v1/{path}"
        request = urllib.request.Request(address, headers=way_in)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    return ask


@pytest.mark.timeout(SHOWN_SECONDS + 60)
def test_demo_shows_every_promised_feature_and_leaves_nothing(
    demo: tuple[subprocess.Popen[bytes], Path, int], tmp_path: Path
) -> None:
    process, log, port = demo
    deadline = time.monotonic() + SHOWN_SECONDS

    while missing := [what for what, words in SEEN.items() if words not in log.read_text()]:
        assert time.monotonic() < deadline, f"not seen: {missing}\n{log.read_text()}"
        assert process.poll() is None, log.read_text()
        time.sleep(0.2)

    ask = asking(port, tmp_path)
    found = ask("overview")
    assert "courier" in [each["service"] for each in found["people"]]
    used = {(each["service"], each["action"]): each for each in ask("cooldowns")["items"]}
    assert used["courier", "restart"]["used"] == 1
    chain = ask("sessions?tier=3")["items"][-1]
    assert [each["tier"] for each in ask(f"sessions/{chain['id']}/chain")["items"]] == [
        1,
        2,
        3,
    ]
    family = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=20) == 0
    assert not [each for each in family if each.is_running()]
    assert not list(tmp_path.glob("lamplighter-*"))
    assert "Traceback" not in log.read_text()


@pytest.mark.parametrize(
    ("number", "after"),
    [
        *((signal.SIGHUP, 0.5), (signal.SIGINT, 0.1)),
        *((signal.SIGTERM, 0.5), (signal.SIGINT, 0.5)) * ALL,
        *((signal.SIGINT, 0.2), (signal.SIGINT, 0.3)) * ALL,
    ],
)
def test_demo_interrupted_during_start_leaves_nothing(
    tmp_path: Path, number: signal.Signals, after: float
) -> None:
    env = {name: os.environ[name] for name in KEPT if name in os.environ}
    process = subprocess.Popen(
        [sys.executable, "-m", "lamplighter", "demo", "--port", str(free_ports(1)[0])],
        env={**env, "TMPDIR": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("lamplighter-demo-*")):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    time.sleep(after)

    process.send_signal(number)

    said, _ = process.communicate(timeout=60)
    assert not list(tmp_path.glob("lamplighter-*"))
    assert b"Traceback" not in said


def test_demo_reports_a_port_in_use_with_the_option_to_change_it(
    tmp_path: Path,
) -> None:
    env = {name: os.environ[name] for name in KEPT if name in os.environ}
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        done = subprocess.run(
            [sys.executable, "-m", "lamplighter", "demo", "--port", str(port)],
            env={**env, "TMPDIR": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    assert done.returncode == 2
    assert done.stderr == f"lamplighter: Port {port} is in use. Choose another with --port.\n"
    assert not list(tmp_path.glob("lamplighter-*"))
