"""The prober: checks from outside, twice a second, what the users of a world notice."""

import socket
import ssl
import threading
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from os import statvfs
from typing import Final

from benchmarks.lab.world import NAME, PUSH_SECONDS, World

PAUSE: Final = 0.5
TIMEOUT: Final = 3.0


@dataclass
class Prober:
    """Probes one world until closed; `log` holds the times at which each probe passed or failed."""

    world: World
    log: dict[str, list[tuple[float, bool]]] = field(default_factory=dict)
    _ended: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        """Start probing, with one thread per probe."""
        for name, probe in self.probes().items():
            self.log[name] = []
            threading.Thread(target=self._run, args=(name, probe), daemon=True).start()

    def close(self) -> None:
        """Stop probing."""
        self._ended.set()

    def up_since(self, start: float, name: str) -> tuple[float | None, float | None]:
        """Return when a probe first failed after this time, and since when it passes again."""
        log = [each for each in self.log[name] if each[0] >= start]
        failures = [at for at, passed in log if not passed]
        if not failures or not log[-1][1]:
            return min(failures, default=None), None
        last = max(failures)
        return failures[0], next((at for at, _ in log if at > last), None)

    def is_up(self) -> bool:
        """Whether all probes pass now."""
        return all(log and log[-1][1] for log in self.log.values())

    def _run(self, name: str, probe: Callable[[], bool]) -> None:
        while not self._ended.is_set():
            try:
                passed = probe()
            except (OSError, ValueError):
                passed = False
            self.log[name].append((time.time(), passed))
            self._ended.wait(PAUSE)

    def probes(self) -> dict[str, Callable[[], bool]]:
        """Return the probes by name."""
        world = self.world
        context = ssl.create_default_context(cafile=str(world.path("ca.pem")))

        def http(port: str) -> Callable[[], bool]:
            def probe() -> bool:
                with urllib.request.urlopen(world.url(port), timeout=TIMEOUT) as answer:
                    return bool(answer.status == 200)

            return probe

        def tls() -> bool:
            address = ("127.0.0.1", world.ports["https"])
            with (
                socket.create_connection(address, TIMEOUT) as plug,
                context.wrap_socket(plug, server_hostname=NAME),
            ):
                return True

        def disk() -> bool:
            found = statvfs(world.path("disk"))
            return found.f_bavail > found.f_blocks / 20 and found.f_favail > found.f_files / 20

        def job() -> bool:
            return time.time() - world.path("backup").stat().st_mtime < PUSH_SECONDS * 2

        return {
            "front": http("http"), "worker": http("worker"), "tls": tls, "disk": disk, "job": job,
        }  # fmt: skip
