"""A session prints 20,000 markers: writes and approvals continue, and each kind of halt ends it."""

import json
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest
from homes import Home
from staged import client, serving

from thorough import examples

MARKERS = 20_000
WRITES = 25
HALTS = examples(3)
ASKS = Path(__file__).parents[1] / "fakes" / "asks.py"
TAKEN = "SELECT count(*) FROM markers"


def press_the_button(home: Home, asking: httpx2.Client) -> None:
    assert asking.put("/api/v1/halt", json={"reason": "a flood"}).json()["halted"]


def run_the_command(home: Home, asking: httpx2.Client) -> None:
    assert home.run("halt").returncode == 0


def write_the_file(home: Home, asking: httpx2.Client) -> None:
    (home.path / "HALT").write_text("a flood")


def count_printed(home: Home) -> int:
    """Count the markers in complete lines: the engine may have been stopped within one."""
    return home.output(1).read_bytes().rpartition(b"\n")[0].count(b"[MEMORY:")


@pytest.mark.timeout(240)
@pytest.mark.parametrize("halt", [press_the_button, run_the_command, write_the_file][:HALTS])
def test_a_flood_of_markers_delays_neither_writes_nor_a_halt(
    home: Home, halt: Callable[[Home, httpx2.Client], None]
) -> None:
    home.env["LAMPLIGHTER_MAX_MARKERS"] = str(MARKERS)
    home.engine("numbered", str(MARKERS), "0")
    with serving(home) as server, client(server) as asking:
        supervisor = home.start("supervisor")
        home.until(lambda: int(str(home.value(TAKEN) or 0)) >= 100)
        took, answers = [], []
        for number in range(WRITES):
            began = time.monotonic()
            body = {"level": "info", "text": f"Meanwhile {number}"}
            answers.append(asking.post("/api/v1/events", json=body).status_code)
            took.append(time.monotonic() - began)
        began = time.monotonic()
        halt(home, asking)
        home.until(lambda: home.value("SELECT status FROM sessions") != "running", 60)
        stopped = time.monotonic() - began
        taken = home.value(TAKEN)
        printed = count_printed(home)

    assert answers == [201] * WRITES
    assert isinstance(taken, int)
    assert home.value("SELECT status FROM sessions") == "stopped"
    assert supervisor.poll() is None
    assert home.value("SELECT markers_left FROM sessions") == printed - taken > 0
    figures = f"POST /events p95 {sorted(took)[-2]:.3f} s; ended {stopped:.1f} s after the halt"
    sys.stderr.write(f"{figures}\n")


@pytest.mark.timeout(240)
def test_an_approved_action_runs_during_a_flood_of_markers(home: Home) -> None:
    restarted = home.path / "restarted"
    web = {
        "approve": "always",
        "checks": [{"tcp": "127.0.0.1:9", "retries": 0}],
        "actions": [{"restart": ["/usr/bin/touch", str(restarted)], "wait": "1s"}],
    }
    (home.path / "services.yaml").write_text(json.dumps({"services": {"web": web}}))
    command = shlex.join([sys.executable, str(ASKS), str(MARKERS), "web"])
    home.env |= {
        "LAMPLIGHTER_MAX_MARKERS": str(MARKERS),
        "LAMPLIGHTER_ENGINE": "exec",
        "LAMPLIGHTER_EXEC_COMMAND": command,
    }
    with serving(home) as server, client(server) as asking:
        home.start("run", "--tier", "3")
        number = home.until(lambda: home.value("SELECT id FROM approvals WHERE state = 'open'"))
        home.until(lambda: int(str(home.value(TAKEN) or 0)) >= 100)
        began = time.monotonic()
        decided = asking.put(f"/api/v1/approvals/{number}/decision", json={"decision": "approve"})
        answered = time.monotonic() - began
        home.until(restarted.exists)
        carried_out = time.monotonic() - began
        taken = home.value(TAKEN)
        press_the_button(home, asking)
        home.until(lambda: home.value("SELECT status FROM sessions") != "running")

    assert decided.status_code == 200
    assert 100 <= int(str(taken)) < MARKERS  # the flood was not over
    sys.stderr.write(f"decided after {answered:.2f} s, carried out after {carried_out:.2f} s\n")
