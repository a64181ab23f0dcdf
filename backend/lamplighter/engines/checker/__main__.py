"""`python -m lamplighter.engines.checker`: orders on stdin, reports on stdout, until EOF."""

import asyncio
import os
import signal
import sys
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from time import monotonic
from typing import Final

import msgspec

from lamplighter.domain.services.check import Check, HttpCheck
from lamplighter.engines.checker import CheckOrder, CheckReport
from lamplighter.engines.probe import checks
from lamplighter.engines.probe.facts import CheckOutcome
from lamplighter.engines.probe.request import unpack_check
from lamplighter.engines.probe.text import harmless

LINE_BYTES: Final = 4 * 1024 * 1024
THREADS: Final = 128
"""For name servers and disks that do not answer: each holds its thread until the system ends it."""

BEAT_SECONDS: Final = 0.1
STALL_SECONDS: Final = 0.25
STALLS_KEPT: Final = 1_000


class StallWatch:
    """Measures for how long this process had no processor time."""

    def __init__(self) -> None:
        self._stalls: deque[tuple[float, float]] = deque(maxlen=STALLS_KEPT)

    async def follow(self) -> None:
        """Measure until cancelled."""
        while True:
            began = monotonic()
            await asyncio.sleep(BEAT_SECONDS)
            stalled = monotonic() - began - BEAT_SECONDS
            if stalled > STALL_SECONDS:
                self._stalls.append((monotonic(), stalled))

    def stalled_seconds(self, began: float) -> float:
        """Return for how long it had none from a moment on."""
        return sum(seconds for ended, seconds in self._stalls if ended > began)


class HttpLoading:
    """Loads the modules of HTTP checks at the first one; many homes on small machines have none.

    Loading runs in a thread: it must not delay a check of another kind.
    """

    def __init__(self) -> None:
        self._loading: asyncio.Task[None] | None = None

    async def finish(self) -> None:
        """Wait until it is loaded."""
        self._loading = self._loading or asyncio.create_task(self._load())
        await asyncio.shield(self._loading)

    async def _load(self) -> None:
        http = await asyncio.to_thread(import_module, "lamplighter.engines.probe.http")
        await http.preload(tls=False)


async def _answer(line: bytes, watch: StallWatch, http: HttpLoading) -> None:
    order = msgspec.json.decode(line, type=CheckOrder)
    began = monotonic()
    try:
        check = unpack_check(order.check)
        if isinstance(check, HttpCheck):
            await http.finish()
            began = monotonic()
        outcome = await checks.run(check, look_again=False)
        report = _report(order, began, outcome, watch)
    except Exception as error:  # our own error is not a failure of the service
        words = harmless(f"{type(error).__name__}: {error}")
        report = CheckReport(order.id, began, error=words)
    _print(report)


def _report(
    order: CheckOrder, began: float, outcome: CheckOutcome, watch: StallWatch
) -> CheckReport:
    stalled = watch.stalled_seconds(began)
    return CheckReport(
        id=order.id,
        began=began,
        ok=outcome.ok,
        warned=outcome.ok and bool(outcome.warning or outcome.flapped or _is_slow(outcome)),
        latency_ms=outcome.latency_ms,
        status=outcome.status,
        attempts=outcome.attempts,
        detail=_detail(outcome),
        failed=outcome.failed,
        answered=outcome.answered,
        starved=not outcome.ok and stalled > outcome.check.timeout / 2,
    )


def _detail(outcome: CheckOutcome) -> str:
    if _is_slow(outcome) and not outcome.detail:
        limit = getattr(outcome.check, "latency_ms", None)
        return f"took {round(outcome.latency_ms)} ms, slower than {limit} ms"
    return outcome.detail or outcome.warning


def _is_slow(outcome: CheckOutcome) -> bool:
    check: Check = outcome.check
    limit = check.latency_ms if isinstance(check, HttpCheck) else None
    return limit is not None and outcome.latency_ms > limit


def _print(report: CheckReport) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(report) + b"\n")
    sys.stdout.buffer.flush()


async def _serve() -> None:
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader(limit=LINE_BYTES)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)
    watch, http = StallWatch(), HttpLoading()
    running: set[asyncio.Task[None]] = {asyncio.create_task(watch.follow())}
    while line := await reader.readline():
        task = asyncio.create_task(_answer(line, watch, http))
        running.add(task)
        task.add_done_callback(running.discard)
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)


def main() -> int:
    """Run checks until the input ends, and return the exit code."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the supervisor ends it by closing its input
    loop = asyncio.new_event_loop()
    loop.set_default_executor(ThreadPoolExecutor(THREADS))
    try:
        # not asyncio.run, which would wait for threads blocked in DNS lookups
        loop.run_until_complete(_serve())
    except BrokenPipeError:  # the reader has closed the pipe
        return 1
    return 0


if __name__ == "__main__":
    # not sys.exit, for the same reason
    os._exit(main())
