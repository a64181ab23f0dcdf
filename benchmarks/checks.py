"""1,000 checks at 60 s: delay, skipped results, and the processor time of supervisor and checks.

Half of the checks are HTTP, half TCP; 10 of them never get an answer. Those of 20 services are
refused for two intervals of every four: their incidents open and close during the run. The services
answer in a separate process, whose time does not count, nor does that of sessions. A delay is the
time between the earliest end of a check at its own pace and its actual end, without those 20
services: a failing check runs again at once. The result includes the load of the machine, because
delays depend on it.
"""

import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import psutil

from benchmarks.measure import sized
from living import free_port

CHECKS: Final = sized(1_000, short=60)
SILENT: Final = sized(10, short=2)
FALTERING: Final = sized(20, short=4)
INTERVAL: Final = sized(60, short=5)
ROUNDS: Final = int(os.environ.get("ROUNDS", "0")) or sized(10, short=4)
SERVER: Final = """
import asyncio, sys

ANSWER = b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\nConnection: close\\r\\n\\r\\nok"

async def answer(reader, writer):
    if await reader.read(1):
        writer.write(ANSWER)
    writer.close()

async def silent(reader, writer):
    await reader.read()
    await asyncio.sleep(60)
    writer.close()

async def main():
    for handler, port in ((answer, sys.argv[1]), (silent, sys.argv[2])):
        await asyncio.start_server(handler, "127.0.0.1", int(port), backlog=1_000)
    print("ready", flush=True)
    while True:
        async with await asyncio.start_server(answer, "127.0.0.1", int(sys.argv[3]), backlog=1_000):
            await asyncio.sleep(2 * float(sys.argv[4]))
        await asyncio.sleep(2 * float(sys.argv[4]))

asyncio.run(main())
"""


def run() -> dict[str, Any]:
    """Run the checks for several rounds, and report delays and processor time."""
    answering, silent, faltering = free_port(), free_port(), free_port()
    with tempfile.TemporaryDirectory(prefix="lamplighter-") as directory:
        home = Path(directory)
        (home / "services.yaml").write_text(_services(answering, silent, faltering))
        ports = [str(each) for each in (answering, silent, faltering)]
        words = [sys.executable, "-c", SERVER, *ports, str(INTERVAL)]
        with subprocess.Popen(words, stdout=subprocess.PIPE) as server:
            assert server.stdout is not None
            server.stdout.readline()
            try:
                cpu, rss = _measure(home)
            finally:
                server.kill()
        return {
            **_results(home),
            **cpu,
            **rss,
            "load": [round(each, 1) for each in os.getloadavg()],
        }


def _services(answering: int, silent: int, faltering: int) -> str:
    lines = ["services:"]
    for number in range(FALTERING):
        lines += [f"  f{number}:", "    checks:", f"      - tcp: 127.0.0.1:{faltering}"]
    for number in range(CHECKS - FALTERING):
        port = silent if number < SILENT else answering
        what = f"http: http://127.0.0.1:{port}/" if number % 2 else f"tcp: 127.0.0.1:{answering}"
        what = f"http: http://127.0.0.1:{port}/" if number < SILENT else what
        lines += [f"  s{number}:", "    checks:", f"      - {what}"]
    return "\n".join(lines) + "\n"


def _measure(home: Path) -> tuple[dict[str, float], dict[str, int]]:
    env = {
        **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
        "LAMPLIGHTER_HOME": str(home),
        "LAMPLIGHTER_CHECK_INTERVAL": f"{INTERVAL}s",
        "LAMPLIGHTER_INTERVAL": "1d",
        "LAMPLIGHTER_MAX_TIER": "1",
        "LAMPLIGHTER_VECTORS": "off",
        "LAMPLIGHTER_PORT": str(free_port()),
    }
    program = [sys.executable, "-m", "lamplighter", "supervisor"]
    with subprocess.Popen(program, env=env, stderr=subprocess.DEVNULL) as process:
        try:
            supervisor = psutil.Process(process.pid)
            checker = _check_process(supervisor)
            time.sleep(INTERVAL)  # the first results, while all is loaded
            before = _seconds(supervisor), _seconds(checker)
            time.sleep(INTERVAL * ROUNDS)
            replaced = not checker.is_running()  # on a busy machine a check hangs sooner or later
            checker = _check_process(supervisor) if replaced else checker
            began = 0.0 if replaced else before[1]
            used = _seconds(supervisor) - before[0], _seconds(checker) - began
            rss = {
                "rss_mb_supervisor": supervisor.memory_info().rss // 2**20,
                "rss_mb_checks": checker.memory_info().rss // 2**20,
                "check_process_replaced": replaced,
            }
        finally:
            process.terminate()
    spent = INTERVAL * ROUNDS / 100
    return {
        "cpu_percent_supervisor": round(used[0] / spent, 1),
        "cpu_percent_checks": round(used[1] / spent, 1),
    }, rss


def _check_process(supervisor: psutil.Process) -> psutil.Process:
    """Return the check process as soon as the first check is due."""
    while True:
        for each in supervisor.children():
            with suppress(psutil.Error):
                if "engines.checker" in str(each.cmdline()):
                    return each
        time.sleep(0.1)


def _seconds(process: psutil.Process) -> float:
    return sum(process.cpu_times()[:2])


def _results(home: Path) -> dict[str, Any]:
    with sqlite3.connect(home / "lamplighter.db") as database:
        rows = database.execute(
            "SELECT series_id, at, p.state, p.late_ms, service LIKE 'f%' FROM check_points p"
            " JOIN check_series s ON s.id = series_id ORDER BY series_id, at"
        ).fetchall()
    ends: dict[int, list[float]] = defaultdict(list)
    states: dict[str, int] = defaultdict(int)
    for number, at, state, _, falters in rows:
        if not falters:
            ends[number].append(datetime.fromisoformat(at).timestamp())
        states[state] += 1
    delays = [delay for each in ends.values() for delay in _delays(each)]
    skipped = sum(
        max(0, round((times[-1] - times[0]) / INTERVAL) + 1 - len(times)) for times in ends.values()
    )
    checks = len({number for number, *_ in rows})
    return {
        "checks": checks,
        "interval_seconds": INTERVAL,
        "results": len(rows),
        "skipped": skipped,
        "missing": CHECKS - checks,
        "states": dict(states),
        "delay_ms_p50": round(1_000 * statistics.median(delays)),
        "delay_ms_p95": round(1_000 * statistics.quantiles(delays, n=20)[-1]),
        "delay_ms_max": round(1_000 * max(delays)),
        **_count_incidents(home),
        "late": sum(late > 0 for *_, late, _ in rows),
        "late_ms_max": max(late for *_, late, _ in rows),
    }


def _count_incidents(home: Path) -> dict[str, int]:
    with sqlite3.connect(home / "lamplighter.db") as database:
        opened, closed, sessions = database.execute(
            "SELECT COUNT(*), COUNT(resolved_at), (SELECT COUNT(*) FROM sessions) FROM incidents"
        ).fetchone()
    return {"incidents": opened, "incidents_closed": closed, "sessions": sessions}


def _delays(times: list[float]) -> list[float]:
    """Return the delay of each result of a check after its earliest time."""
    phases = [(at - times[0] + INTERVAL / 2) % INTERVAL - INTERVAL / 2 for at in times]
    return [each - min(phases) for each in phases]
