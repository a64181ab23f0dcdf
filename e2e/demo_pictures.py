"""Pictures of the demo for the docs: `make pictures` runs the demo and captures its events.

It prints the time of each picture and the output of the demo, for the times in
`docs/start/demo.md`.
"""

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any, Final

from playwright.sync_api import Page, sync_playwright

from chromium import ARGUMENTS, executable
from living import free_port

OUT: Final = Path(__file__).parents[1] / "docs" / "demo"
SECONDS: Final = 180
SETTLED_MS: Final = 700
REMEMBERED: Final = "waits for the remembered start time"


def say(line: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


@dataclass
class Demo:
    """A running demo, its output, and a logged-in browser."""

    process: "subprocess.Popen[str]"
    said: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def listen(self) -> None:
        """Store the output of the demo."""
        for line in self.process.stdout or ():
            self.said.append(line.rstrip())
            say(line.rstrip())

    def first(self, pattern: str) -> str:
        """Wait for a line and return the match of the pattern."""
        while time.monotonic() - self.began < SECONDS:
            for line in list(self.said):
                if found := re.search(pattern, line):
                    return found[0]
            time.sleep(0.05)
        raise TimeoutError(pattern)


def main() -> int:
    """Run the demo and take each picture once; the exit status is 1 if one is missing."""
    port = free_port()
    command = [sys.executable, "-m", "lamplighter", "demo", "--port", str(port)]
    process = subprocess.Popen(
        [*command, "--seconds", str(SECONDS)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    demo = Demo(process)
    Thread(target=demo.listen, daemon=True).start()
    try:
        link = demo.first(r"http\S+login\?code=\S+")
        with sync_playwright() as started:
            browser = started.chromium.launch(executable_path=executable(), args=list(ARGUMENTS))
            context = browser.new_context(viewport={"width": 1100, "height": 720})
            page = context.new_page()
            demo.first(r"^0:0[2-9]|^0:[1-9]")  # the web process answers
            page.goto(link)
            missing = take(demo, page, link.partition("/login")[0])
            browser.close()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)
    say(f"missing: {', '.join(missing) or 'none'}")
    return int(bool(missing))


def take(demo: Demo, page: Page, base: str) -> list[str]:
    """Take the pictures in order; return those that failed."""
    wanted: list[tuple[str, Callable[[dict[str, Any], list[dict[str, Any]]], str | None]]] = [
        ("2-found", lambda seen, _: failing(seen, "archive", "shop")),
        ("3-repair", repairing),
        ("4-repaired", lambda seen, _: healthy(seen, "archive", "shop")),
        ("5-person", lambda seen, _: waits(seen, "courier", "/overview")),
        ("6-cooldowns", lambda seen, _: waits(seen, "courier", "/cooldowns")),
        ("8-used", lambda _, ran: used(demo, ran)),
    ]
    while wanted and demo.process.poll() is None and time.monotonic() - demo.began < SECONDS:
        seen = page.request.get(f"{base}/api/v1/overview").json()
        ran = page.request.get(f"{base}/api/v1/sessions?limit=20").json()["items"]
        name, at = wanted[0]
        if (path := at(seen, ran)) is None:
            time.sleep(0.1)
            continue
        page.goto(base + path)
        page.wait_for_timeout(SETTLED_MS)
        page.screenshot(path=OUT / f"{name}.jpeg", type="jpeg", quality=70)
        say(f"{name}: after {time.monotonic() - demo.began:.0f} s, of {path}")
        del wanted[0]
    return [name for name, _ in wanted]


def _states(seen: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each["state"] for each in seen["services"]}


def failing(seen: dict[str, Any], *names: str) -> str | None:
    """Return the overview once these services fail."""
    states = _states(seen)
    return "/overview" if all(states.get(name) == "failing" for name in names) else None


def healthy(seen: dict[str, Any], *names: str) -> str | None:
    """Return the overview once these services are healthy."""
    states = _states(seen)
    return "/overview" if all(states.get(name) == "ok" for name in names) else None


def repairing(_: dict[str, Any], ran: list[dict[str, Any]]) -> str | None:
    """Return the page of the repairing session."""
    return next((f"/sessions/{each['id']}" for each in ran if each["tier"] == 3), None)


def waits(seen: dict[str, Any], name: str, path: str) -> str | None:
    """Return a page once a service waits for a person."""
    return path if any(each["service"] == name for each in seen["people"]) else None


def used(demo: Demo, ran: list[dict[str, Any]]) -> str | None:
    """Return the page of the last repair, once the demo reports that it used a memory."""
    if not any(REMEMBERED in line for line in demo.said):
        return None
    repairs = [each for each in ran if each["tier"] == 3 and each["status"] == "completed"]
    return f"/sessions/{repairs[0]['id']}" if repairs else None


if __name__ == "__main__":
    sys.exit(main())
