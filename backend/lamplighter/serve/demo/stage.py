"""The stage: runs the demo's services, breaks them on purpose, and restarts one on request.

The next failure depends on Lamplighter's progress, never on the clock: a slow machine shows the
same events, only slower.
"""

import asyncio
import json
import os
import socket
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx2

ARCHIVE, COURIER, STORE = "archive", "courier", "shop"
SLOW_SECONDS: Final = 4.0
WAIT_SECONDS: Final = 8.0
POLL_SECONDS: Final = 0.5
STARTING_SECONDS: Final = 120.0

Services = Callable[[], Awaitable[Mapping[str, Mapping[str, Any]]]]
"""Reads the status of each service from Lamplighter, by name; empty while it does not answer."""

_SERVICES: Final = Path(__file__).with_name("services.yaml").read_text(encoding="utf-8")


@dataclass(slots=True)
class DemoServices:
    """Three services, each a process of its own; `print_line` reports failures and restarts."""

    path: Path
    print_line: Callable[[str], None]
    ports: dict[str, int] = field(default_factory=dict)
    options: dict[str, list[str]] = field(default_factory=dict)
    overhead: float = 0.0
    """How many seconds a start takes on this machine, beside the archive's own four."""
    _repaired: asyncio.Event = field(default_factory=asyncio.Event)
    _running: dict[str, asyncio.subprocess.Process] = field(default_factory=dict)
    _restarted: dict[str, asyncio.Event] = field(default_factory=dict)

    def services(self) -> str:
        """Return the services.yaml that declares them."""
        program = [sys.executable, "-m", "lamplighter.serve.demo.restart", str(self.path)]
        restart = {name: _join_words([*program, name]) for name in self.ports}
        return _SERVICES.format(
            archive=ARCHIVE,
            courier=COURIER,
            shop=STORE,
            ports=self.ports,
            restart=restart,
            wait=WAIT_SECONDS + round(2 * self.overhead),
        )

    async def start(self, name: str) -> None:
        """Start a service, ending the one that runs."""
        await self.end(name)
        self._running[name] = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "lamplighter.serve.demo.service"),
            *(str(self.ports[name]), str(os.getpid()), *self.options.get(name, [])),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )

    async def end(self, name: str) -> None:
        """End a service."""
        process = self._running.pop(name, None)
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def play(self, services: Services) -> None:
        """Break things, again and again, each time that all is healthy again."""
        await asyncio.gather(self._break_archive(services), self._break_courier(services))

    async def _break_archive(self, services: Services) -> None:
        while True:
            await _until(services, self._is_rested)
            self.print_line(f"[demo] stops {ARCHIVE}; {STORE} depends on it")
            await self._break(ARCHIVE)
            self._repaired.set()

    async def _break_courier(self, services: Services) -> None:
        await self._repaired.wait()
        await _until(services, lambda found: _is_healthy(found, COURIER))
        self.print_line(f"[demo] stops {COURIER}; from now on it crashes after each restart")
        while True:
            await self._break(COURIER)
            await _until(services, lambda found: _is_repaired(found, COURIER))

    async def _break(self, name: str) -> None:
        """End a service, and wait until it was restarted."""
        restarted = self._restarted[name] = asyncio.Event()
        await self.end(name)
        await restarted.wait()

    @staticmethod
    def _is_rested(found: Mapping[str, Mapping[str, Any]]) -> bool:
        """Whether the archive and the shop are healthy, their incident is over, and every restart
        slot is free again."""
        slots = found[ARCHIVE]["cooldowns"]
        over = all(
            _is_healthy(found, name) and not found[name]["incident"] for name in (ARCHIVE, STORE)
        )
        return over and not any(each["used"] for each in slots)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Start a service by its name."""
        name = (await reader.readline()).decode("utf-8", "replace").strip()
        if name in self.ports:
            await self.start(name)
        if name in self._restarted:
            self._restarted[name].set()
        writer.write(f"started {name}\n".encode() if name in self.ports else b"unknown\n")
        with suppress(ConnectionError):
            await writer.drain()
        writer.close()


@asynccontextmanager
async def run_services(path: Path, report: Callable[[str], None]) -> AsyncIterator[DemoServices]:
    """Start the three services and wait until they are healthy; end them with the context."""
    names = (ARCHIVE, COURIER, STORE)
    here = DemoServices(path, report, dict(zip(names, free_ports(len(names)), strict=True)))
    here.options[ARCHIVE] = [f"slow={SLOW_SECONDS:g}"]
    here.options[STORE] = [f"needs=http://127.0.0.1:{here.ports[ARCHIVE]}/"]
    async with AsyncExitStack() as ending:
        began = time.monotonic()
        for name in here.ports:
            ending.push_async_callback(here.end, name)
            await here.start(name)
        await _answering(here.ports.values())
        here.overhead = max(0.0, time.monotonic() - began - SLOW_SECONDS)
        server = await asyncio.start_unix_server(here.answer, path)
        ending.callback(server.close)
        yield here


async def _answering(ports: Iterable[int]) -> None:
    """Wait until every service answers as healthy, or a time limit."""
    deadline = time.monotonic() + STARTING_SECONDS
    async with httpx2.AsyncClient(trust_env=False, timeout=STARTING_SECONDS) as client:
        for port in ports:
            while time.monotonic() < deadline:
                with suppress(httpx2.HTTPError):
                    if (await client.get(f"http://127.0.0.1:{port}/")).is_success:
                        break
                await asyncio.sleep(POLL_SECONDS / 5)


async def _until(
    services: Services, reached: Callable[[Mapping[str, Mapping[str, Any]]], bool]
) -> None:
    """Wait until Lamplighter's own view of the services is so."""
    while True:
        found = await services()
        if found and reached(found):
            return
        await asyncio.sleep(POLL_SECONDS)


def _is_healthy(found: Mapping[str, Mapping[str, Any]], name: str) -> bool:
    return bool(found[name]["state"] == "ok")


def _is_repaired(found: Mapping[str, Mapping[str, Any]], name: str) -> bool:
    """Whether a service is healthy, and no session is at work on it."""
    return _is_healthy(found, name) and found[name]["incident"] in ("", "open")


def free_ports(count: int) -> list[int]:
    """Return ports of loopback that are free now, each another one."""
    plugs = [socket.socket() for _ in range(count)]
    try:
        for plug in plugs:
            plug.bind(("127.0.0.1", 0))
        return [int(plug.getsockname()[1]) for plug in plugs]
    finally:
        for plug in plugs:
            plug.close()


def _join_words(words: list[str]) -> str:
    return json.dumps(words, ensure_ascii=False)  # a JSON list is valid YAML too
