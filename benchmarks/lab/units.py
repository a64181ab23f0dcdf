"""The init of the lab: starts, stops and restarts its units, and records each act."""

import os
import signal
import socketserver
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

STOP_SECONDS: Final = 2.0
SETTLE_SECONDS: Final = 0.3
"""A program that ends sooner than this has failed to start."""


@dataclass
class Unit:
    """One program under the init: its command, and its process while it runs."""

    name: str
    argv: tuple[str, ...]
    log: Path
    env: Mapping[str, str] = field(default_factory=dict)
    stop_signal: signal.Signals = signal.SIGTERM
    process: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> bool:
        """Whether the process is alive, stopped or not."""
        return self.process is not None and self.process.poll() is None

    def start(self) -> bool:
        """Start the program in its own group; return whether it still runs after a moment."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                env={"PATH": os.environ.get("PATH", ""), **self.env},
                start_new_session=True,
            )
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(SETTLE_SECONDS)
        return self.running

    def stop(self, number: signal.Signals | None = None) -> None:
        """Stop the program and its group; kill processes that do not end."""
        if self.process is None:
            return
        group = self.process.pid
        self._signal(group, number or self.stop_signal)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(STOP_SECONDS)
        self._signal(group, signal.SIGKILL)
        self.process.wait()

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the group."""
        if self.process is not None:
            self._signal(self.process.pid, number)

    @staticmethod
    def _signal(group: int, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(group, number)


@dataclass(frozen=True, slots=True)
class Act:
    """One act requested from the init: its time and text, such as `restart app`."""

    at: float
    words: str


class Init:
    """The units of one world, and the socket on which actions request acts."""

    def __init__(self, directory: Path) -> None:
        self.units: dict[str, Unit] = {}
        self.acts: list[Act] = []
        self.verbs: dict[str, Callable[[], bool]] = {}
        self.socket = directory / "init"
        self._lock = threading.Lock()
        init = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                words = self.rfile.readline().decode().strip()
                self.wfile.write(b"ok\n" if init.act(words) else b"failed\n")

        self._server = socketserver.ThreadingUnixStreamServer(str(self.socket), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def act(self, words: str) -> bool:
        """Perform the requested act and record it; return whether it succeeded."""
        self.acts.append(Act(time.time(), words))
        verb, _, name = words.partition(" ")
        with self._lock:
            if words in self.verbs:
                return self.verbs[words]()
            return verb == "restart" and self.restart(name)

    def restart(self, name: str) -> bool:
        """Stop a unit and start it; the lab's own repairs also call this, and are not acts."""
        self.units[name].stop()
        return self.units[name].start()

    def acts_between(self, start: float, end: float) -> list[str]:
        """Return the acts requested in a span of time, in order."""
        return [each.words for each in self.acts if start <= each.at < end]

    def close(self) -> None:
        """Stop everything."""
        for unit in reversed(self.units.values()):
            unit.send(signal.SIGCONT)
            unit.stop(signal.SIGINT if unit.name == "postgres" else None)
        self._server.shutdown()
        self._server.server_close()
