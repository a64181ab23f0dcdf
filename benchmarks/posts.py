"""Memories that eight clients save at once over HTTP. Limit: 1,200 a second.

On a busy machine the seconds mean little: `cpu_ms` is the processor time of the web process per
memory, and 1,000 ms divided by it is the rate of one core per second.
"""

import http.client
import json
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Final

import psutil

from app import App  # of e2e/
from benchmarks.measure import sized, timed
from benchmarks.memory import NO_PAGES

CLIENTS: Final = 8
SAVED: Final = sized(400, short=25)
"""Memories per client."""
ROUNDS: Final = 3
LIMIT_A_SECOND: Final = 1_200.0


def run() -> dict[str, Any]:
    """Save memories, in turn with a route that does nothing, from the same clients."""
    with tempfile.TemporaryDirectory(prefix="lamplighter-") as directory:
        home = Path(directory) / "home"
        home.mkdir()
        app = App(home, NO_PAGES).start("web")
        try:
            web = psutil.Process(app.running["web"].pid)
            way_in = app.way_in()
            saves = [_measure(web, partial(_save, app, way_in, turn)) for turn in range(ROUNDS)]
            bare = [_measure(web, lambda _: _ask(app, way_in)) for _ in range(ROUNDS)]
        finally:
            app.stop()
    seconds, cpu = (min(column) for column in zip(*saves, strict=True))
    bare_seconds, bare_cpu = (min(column) for column in zip(*bare, strict=True))
    count = CLIENTS * SAVED
    return {
        "a_second": round(count / seconds),
        "cpu_ms": round(1_000 * cpu / count, 2),
        "a_second_of_one_core": round(count / cpu),
        "times_a_bare_route": round(seconds / bare_seconds, 1),
        "cpu_times_a_bare_route": round(cpu / bare_cpu, 1),
        "held": count / seconds >= LIMIT_A_SECOND,
    }


def _measure(web: psutil.Process, work: Callable[[int], None]) -> tuple[float, float]:
    """Return the seconds of all clients at once, and the processor time of the server."""
    before = sum(web.cpu_times()[:2])
    with ThreadPoolExecutor(CLIENTS) as clients:
        seconds = timed(lambda: list(clients.map(work, range(CLIENTS))))
    return seconds, sum(web.cpu_times()[:2]) - before


def _save(app: App, way_in: dict[str, str], turn: int, client: int) -> None:
    with closing(http.client.HTTPConnection("127.0.0.1", app.port)) as connection:
        headers = {**way_in, "Content-Type": "application/json"}
        for n in range(SAVED):
            body = {
                "service": f"service-{client}-{n % 20}",
                "category": "pattern",
                "observation": f"Job {turn}-{n} of client {client} writes to volume {n * 7 + turn}",
            }
            connection.request("POST", "/api/v1/memories", json.dumps(body), headers)
            answer = connection.getresponse()
            text = answer.read()
            assert answer.status == 201, text


def _ask(app: App, way_in: dict[str, str]) -> None:
    with closing(http.client.HTTPConnection("127.0.0.1", app.port)) as connection:
        for _ in range(SAVED):
            connection.request("GET", "/healthz", headers=way_in)
            assert connection.getresponse().read()
