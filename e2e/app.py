"""The whole product for a test or a benchmark: both real processes and a separate home."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import Page

import nursery
from lamplighter.config.settings import read_settings
from lamplighter.repository.store.database import sqlite_url
from lamplighter.repository.upkeep import migrate
from lamplighter.serve.commands import access
from living import free_port

PUPPET = Path(__file__).parent / "puppet.py"
KEPT = ("PATH", "HOME", "LANG", "XDG_RUNTIME_DIR")
PROCESSES = ("web", "supervisor")
SERVICES = """
services:
  jellyfin:
    checks:
      - tcp: 127.0.0.1:9
"""


@cache
def migrated() -> bytes:
    """Return a migrated database file; each app starts with a copy of it."""
    with TemporaryDirectory() as directory:
        path = Path(directory) / "lamplighter.db"
        migrate.upgrade(sqlite_url(path))
        return path.read_bytes()


@dataclass
class App:
    """A running Lamplighter whose engine prints the text that the test passes."""

    home: Path
    env: dict[str, str] = field(default_factory=dict)
    port: int = 0
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self, *names: str) -> "App":
        if not self.port:
            self._prepare()
        for name in names or PROCESSES:
            with (self.home / f"{name}.log").open("ab") as log:
                self.running[name] = nursery.start(name, env=self.env, stdout=log, stderr=log)
            if name == "web":
                self.wait_until_ready()
        return self

    def kill(self, name: str, number: signal.Signals = signal.SIGKILL) -> None:
        process = self.running.pop(name)
        process.send_signal(number)
        process.wait(timeout=20)

    def stop(self) -> None:
        for name in list(self.running):
            self.kill(name)
        with suppress(OSError):
            # an engine that still waits for words ends with the supervisor; this frees its FIFO
            os.close(os.open(self._fifo, os.O_WRONLY | os.O_NONBLOCK))

    def says(self, words: str) -> None:
        """Let the engine of the running session print this text."""
        order = (words.replace("\n", "\\n") + "\n").encode()
        deadline = time.monotonic() + 20
        while True:
            try:
                fifo = os.open(self._fifo, os.O_WRONLY | os.O_NONBLOCK)
                with os.fdopen(fifo, "wb", buffering=0) as orders:
                    orders.write(order)  # whole, or not at all where the engine just closed its end
                return
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def ends(self) -> None:
        """Let the engine end its session."""
        self.says("end")

    def get(self, path: str) -> Any:
        return json.loads(self.text(path))

    def text(self, path: str) -> str:
        request = urllib.request.Request(f"{self.url}{path}", headers=self.way_in())
        with urllib.request.urlopen(request, timeout=60) as answer:
            text: str = answer.read().decode()
            return text

    def post(self, path: str, body: object, *, method: str = "POST") -> Any:
        request = urllib.request.Request(
            f"{self.url}{path}",
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json", **self.way_in()},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def way_in(self) -> dict[str, str]:
        """Return the headers with this home's own token."""
        token = self.home / "token"
        return {"Authorization": f"Bearer {token.read_text().strip()}"} if token.exists() else {}

    def link(self) -> str:
        """Return a one-time login link."""
        return nursery.run("login", env=self.env, seconds=30).stdout.strip()

    def log_in(self, page: Page) -> None:
        """Log a browser in; no page loads yet."""
        settings = read_settings(self.env)
        with ThreadPoolExecutor(1) as aside:  # a browser's own loop runs in this thread
            link = aside.submit(access.create_login_link, settings).result(timeout=30)
        assert page.context.request.get(link).ok

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            with suppress(OSError, ValueError):
                if self.get("/readyz") == {"status": "ready"}:
                    return
            time.sleep(0.05)
        raise AssertionError((self.home / "web.log").read_text())

    @property
    def _fifo(self) -> Path:
        return self.home / "words"

    def _prepare(self) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        os.mkfifo(self._fifo)
        self.port = free_port()
        rows = self.home / "lamplighter.db"
        if not rows.exists():
            rows.write_bytes(migrated())
        services = self.home / "services.yaml"
        if not services.exists():
            services.write_text(SERVICES)
        command = shlex.join([sys.executable, str(PUPPET), str(self._fifo)])
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        ours = {
            "LAMPLIGHTER_HOME": str(self.home),
            "LAMPLIGHTER_PORT": str(self.port),
            "LAMPLIGHTER_ENGINE": "exec",
            "LAMPLIGHTER_VECTORS": "off",
            "LAMPLIGHTER_CHECK_INTERVAL": "0",  # stories count sessions
            "LAMPLIGHTER_EXEC_COMMAND": command,
        }
        self.env = {**kept, **ours, **self.env}
