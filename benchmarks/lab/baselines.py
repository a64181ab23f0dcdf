"""Baselines: simple supervisors in the same world, a few lines each.

`restart` restarts a service at its first failed check, without a limit. `monit` restarts after two
cycles, and after three restarts stops watching and alerts; a service without a program only alerts.
`systemd` notices only ended processes (Restart=on-failure), and gives up after five starts in 10 s.
"""

import socket
import threading
import time
import urllib.request
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Final

import dns.exception
import dns.message
import dns.query

from benchmarks.lab.prober import Prober
from benchmarks.lab.world import NAME, World

CYCLE: Final = 2.0
TIMEOUT: Final = 2.0
REST: Final = 5.0
"""How long a restarted service is not checked."""

MONIT_CYCLES: Final = 2
MONIT_RESTARTS: Final = 3
BURST: Final = 5
BURST_SECONDS: Final = 10.0
NAMES: Final = ("restart", "monit", "systemd")


class Baseline:
    """One simple supervisor over a world, in a thread, until closed."""

    def __init__(self, kind: str, world: World) -> None:
        self.kind, self.world = kind, world
        self.alerts: dict[str, float] = {}
        self.messages = 0
        self.noticed: dict[str, float] = {}
        """When the first failure of each service was noticed."""
        self._failed: dict[str, int] = defaultdict(int)
        self._restarts: dict[str, list[float]] = defaultdict(list)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop watching."""
        self._ended.set()
        self._thread.join(20)

    def _run(self) -> None:
        checks = checks_of(self.world)
        while not self._ended.wait(CYCLE if self.kind != "systemd" else 1.0):
            for name in self.world.init.units if self.kind == "systemd" else checks:
                if name in self.alerts or self._ended.is_set():
                    continue
                if self.kind == "systemd":
                    passed = name == "squatter" or self.world.init.units[name].running
                else:
                    passed = _passes(checks[name])
                self._count(name, passed=passed)

    def _count(self, name: str, *, passed: bool) -> None:
        if passed:
            self.messages += self.kind == "monit" and self._failed[name] >= MONIT_CYCLES
            self._failed[name] = 0
            return
        rested = time.time() - max(self._restarts[name], default=0.0)
        if self.kind != "systemd" and rested < REST:
            return
        self._failed[name] += 1
        self.noticed.setdefault(name, time.time())
        if self.kind == "monit" and self._failed[name] < MONIT_CYCLES:
            return
        self._react(name)

    def _react(self, name: str) -> None:
        recent = [at for at in self._restarts[name] if time.time() - at < BURST_SECONDS]
        unit = name in self.world.init.units
        if self.kind == "monit":
            self.messages += 1
            if not unit or len(self._restarts[name]) >= MONIT_RESTARTS:
                self.alerts[name] = time.time()
                return
        if not unit or (self.kind == "systemd" and len(recent) >= BURST):
            return
        self._restarts[name].append(time.time())
        self.world.init.act(f"restart {name}")


def checks_of(world: World) -> Mapping[str, Callable[[], bool]]:
    """Return a basic check of each service; `tls` belongs to nginx and has no program."""
    probes = Prober(world).probes()

    def port(name: str, ask: bytes = b"") -> Callable[[], bool]:
        def probe() -> bool:
            with socket.create_connection(("127.0.0.1", world.ports[name]), TIMEOUT) as plug:
                if ask:
                    plug.sendall(ask)
                return not ask or bool(plug.recv(64))

        return probe

    def app() -> bool:
        with urllib.request.urlopen(world.url("app"), timeout=TIMEOUT) as answer:
            return bool(answer.status == 200)

    def names() -> bool:
        query = dns.message.make_query(NAME, "A")
        found = dns.query.udp(query, "127.0.0.1", timeout=TIMEOUT, port=world.ports["dns"])
        return bool(found.answer)

    return {
        "nginx": probes["front"],
        "app": app,
        "worker": probes["worker"],
        "postgres": port("postgres"),
        "redis": port("link", b"PING\r\n"),
        "dns": names,
        "storage": probes["disk"],
        "certificate": probes["tls"],
        "backup": lambda: world.init.units["backup"].running,
    }


def _passes(check: Callable[[], bool]) -> bool:
    try:
        return check()
    except (OSError, ValueError, dns.exception.DNSException):
        return False
