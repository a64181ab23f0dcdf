"""The stage: runs the demo's services, breaks them on purpose, and starts one anew when asked."""

import asyncio
import json
import os
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

ARCHIVE, COURIER, SHOP = "archive", "courier", "shop"
SLOW_SECONDS: Final = 4.0
LIFE_SECONDS: Final = 3.0
FIRST_FAILURE_SECONDS: Final = 6.0
COURIER_FAILS_SECONDS: Final = 22.0
WELL_SECONDS: Final = 9.0

_SERVICES: Final = """\
# Three small services on loopback. Lamplighter watches them every few seconds.
services:
  {archive}:
    description: Takes a few seconds to start; somebody keeps ending it
    checks:
      - http: http://127.0.0.1:{ports[archive]}/
        retries: 1
    actions:
      - restart: {restart[archive]}
        timeout: 20s
        wait: 8s
  {courier}:
    description: Crashes soon after each start
    checks:
      - http: http://127.0.0.1:{ports[courier]}/
        retries: 1
    actions:
      - restart: {restart[courier]}
        timeout: 20s
  {shop}:
    description: Sells what the archive holds
    depends_on: [{archive}]
    checks:
      - http: http://127.0.0.1:{ports[shop]}/
        retries: 1
"""


@dataclass(slots=True)
class Stage:
    """Three services, each a process of its own; `say` tells what is done to them."""

    path: Path
    say: Callable[[str], None]
    ports: dict[str, int] = field(default_factory=dict)
    options: dict[str, list[str]] = field(default_factory=dict)
    _running: dict[str, asyncio.subprocess.Process] = field(default_factory=dict)
    _restarted: asyncio.Event = field(default_factory=asyncio.Event)

    def services(self) -> str:
        """Return the services.yaml that tells of them."""
        program = [sys.executable, "-m", "lamplighter.serve.demo.restart", str(self.path)]
        restart = {name: _listed([*program, name]) for name in self.ports}
        return _SERVICES.format(
            archive=ARCHIVE, courier=COURIER, shop=SHOP, ports=self.ports, restart=restart
        )

    async def start(self, name: str) -> None:
        """Start a service anew."""
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

    async def play(self) -> None:
        """Break things, again and again."""
        await asyncio.gather(self._end_archive(), self._shorten_courier())

    async def _end_archive(self) -> None:
        await asyncio.sleep(FIRST_FAILURE_SECONDS)
        while True:
            self.say(f"(the demo ends {ARCHIVE}; {SHOP} needs it)")
            self._restarted.clear()
            await self.end(ARCHIVE)
            await self._restarted.wait()
            await asyncio.sleep(SLOW_SECONDS + WELL_SECONDS)

    async def _shorten_courier(self) -> None:
        await asyncio.sleep(COURIER_FAILS_SECONDS)
        self.options[COURIER] = [f"life={LIFE_SECONDS:g}"]
        self.say(f"(the demo ends {COURIER}; from now on it crashes after each start)")
        await self.end(COURIER)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Start the service that somebody names."""
        name = (await reader.readline()).decode("utf-8", "replace").strip()
        if name in self.ports:
            await self.start(name)
        if name == ARCHIVE:
            self._restarted.set()
        writer.write(f"started {name}\n".encode() if name in self.ports else b"unknown\n")
        with suppress(ConnectionError):
            await writer.drain()
        writer.close()


@asynccontextmanager
async def stage(path: Path, say: Callable[[str], None]) -> AsyncIterator[Stage]:
    """Start the three services and wait until they are well; end them when the context ends."""
    names = (ARCHIVE, COURIER, SHOP)
    here = Stage(path, say, dict(zip(names, free_ports(len(names)), strict=True)))
    here.options[ARCHIVE] = [f"slow={SLOW_SECONDS:g}"]
    here.options[SHOP] = [f"needs=http://127.0.0.1:{here.ports[ARCHIVE]}/"]
    async with AsyncExitStack() as ending:
        for name in here.ports:
            ending.push_async_callback(here.end, name)
            await here.start(name)
        await asyncio.sleep(SLOW_SECONDS)
        server = await asyncio.start_unix_server(here.answer, path)
        ending.callback(server.close)
        playing = asyncio.create_task(here.play())
        ending.callback(playing.cancel)
        yield here


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


def _listed(words: list[str]) -> str:
    return json.dumps(words, ensure_ascii=False)  # a list in JSON is one in YAML too
