"""Check results on an open overview: 1,000 a minute; limit: 5 % of a core in the browser.

All processes of a separate browser count. The baseline is the same browser with an empty page.
"""

import socket
import tempfile
import threading
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final

import psutil
from playwright.sync_api import sync_playwright

from app import App  # of e2e/
from benchmarks.measure import sized
from chromium import ARGUMENTS, executable

SERVICES: Final = sized(200, short=10)
EACH_SECONDS: Final = 12
SECONDS: Final = sized(60, short=5)
SETTLE_SECONDS: Final = sized(30, short=5)
LIMIT_PERCENT: Final = 5.0


def run() -> dict[str, Any]:
    """Watch the overview while the supervisor checks, then an empty page."""
    with (
        tempfile.TemporaryDirectory(prefix="lamplighter-") as directory,
        tempfile.TemporaryDirectory(prefix="lamplighter-") as profile,
        closing(socket.create_server(("127.0.0.1", 0), backlog=256)) as listening,
        sync_playwright() as started,
    ):
        threading.Thread(target=_accept, args=(listening,), daemon=True).start()
        app = _start(Path(directory) / "home", listening.getsockname()[1])
        context = started.chromium.launch_persistent_context(
            profile,
            executable_path=executable(),
            args=list(ARGUMENTS),
            viewport={"width": 1280, "height": 800},
        )
        try:
            page = context.new_page()
            app.log_in(page)
            page.goto(f"{app.url}/overview")
            page.locator(".beats").nth(SERVICES - 1).wait_for(state="attached")
            time.sleep(SETTLE_SECONDS)
            ours = _percent(profile)
            strips = page.locator(".service-beats path[data-state=p][d^=M]").count()
            page.goto("about:blank")
            time.sleep(2)
            empty = _percent(profile)
        finally:
            context.close()
            app.stop()
    return {
        "results_a_minute": round(SERVICES * 60 / EACH_SECONDS),
        "strips": strips,
        "percent_of_a_core": ours,
        "empty_page_percent": empty,
        "limit_percent": LIMIT_PERCENT,
        "held": ours <= LIMIT_PERCENT and strips == SERVICES,
    }


def _accept(listening: socket.socket) -> None:
    with suppress(OSError):
        while True:
            listening.accept()[0].close()


def _start(home: Path, port: int) -> App:
    home.mkdir()
    check = f"[{{tcp: 127.0.0.1:{port}, interval: {EACH_SECONDS}s}}]"
    lines = [
        f"  s{n}:\n    group: g{n % 10}\n    checks: {check}\n" for n in range(1, SERVICES + 1)
    ]
    (home / "services.yaml").write_text("services:\n" + "".join(lines))
    env = {
        "LAMPLIGHTER_ENGINE": "probe",
        "LAMPLIGHTER_CHECK_INTERVAL": "60s",
        "LAMPLIGHTER_NOTEBOOK": "no",
    }
    return App(home, env=env).start("web", "supervisor")


def _percent(profile: str) -> float:
    """Return the CPU time of the browser over a period, in percent of a core."""
    before, began = _cpu(profile), time.monotonic()
    time.sleep(SECONDS)
    return round(100 * (_cpu(profile) - before) / (time.monotonic() - began), 2)


def _cpu(profile: str) -> float:
    """Return the CPU seconds of a browser with all its processes, found by its profile."""
    for each in psutil.process_iter():
        with suppress(psutil.Error):
            line = each.cmdline()
            if f"--user-data-dir={profile}" in line and "--headless" in " ".join(line):
                tree = [each, *each.children(recursive=True)]
                return sum(one.cpu_times().user + one.cpu_times().system for one in tree)
    raise AssertionError("the browser has ended")
