"""`lamplighter up`: keeps the web process and the supervisor running and prints their output.

A process that dies is restarted after a pause. A process that exits with status 2 cannot work with
the current configuration: it is not restarted, and the other one ends too.
"""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from lamplighter.domain.errors import EXIT_UNUSABLE

logger = logging.getLogger(__name__)

FIRST_PAUSE_SECONDS: Final = 0.2
MAX_PAUSE_SECONDS: Final = 10.0
SETTLED_SECONDS: Final = 30.0
GRACE_SECONDS: Final = 15.0
READY_SECONDS: Final = 10.0
READY_POLL_SECONDS: Final = 0.05
RUNNER_OPTION: Final = "--keeper"


@dataclass(slots=True)
class ProcessRunner:
    """Runs processes by their names until stopped.

    `ready` tells whether the first one is ready; `env` is their environment if it differs from this
    one's. With `bare`, lines are printed unchanged: one object each.
    """

    names: tuple[str, ...]
    print_line: Callable[[str], None]
    ready: Callable[[], bool] = lambda: True
    env: Mapping[str, str] | None = None
    bare: bool = False
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    status: int = 0
    _running: dict[str, asyncio.subprocess.Process] = field(default_factory=dict)

    async def run(self) -> int:
        """Run the processes until stopped, or until one cannot work; return the exit status."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.stopping.set)
        first, *others = self.names
        keeping = [asyncio.create_task(self._keep(first))]
        await self._until_ready()
        keeping += [asyncio.create_task(self._keep(name)) for name in others]
        await self.stopping.wait()
        await self._stop()
        await asyncio.gather(*keeping)
        return self.status

    async def _until_ready(self) -> None:
        """Wait for the first process, which the others need."""
        for _ in range(round(READY_SECONDS / READY_POLL_SECONDS)):
            if self.stopping.is_set() or self.ready():
                return
            await asyncio.sleep(READY_POLL_SECONDS)

    async def _keep(self, name: str) -> None:
        pause = FIRST_PAUSE_SECONDS
        while not self.stopping.is_set():
            began = asyncio.get_running_loop().time()
            try:
                status = await self._once(name)
                ended = f"exited ({_describe_status(status)})"
            except (OSError, RuntimeError) as error:  # no process or thread is available now
                status, ended = 1, f"could not be started ({error})"
            if self.stopping.is_set():
                return
            if status == EXIT_UNUSABLE:
                self.status = status
                self.stopping.set()
                return
            lasted = asyncio.get_running_loop().time() - began
            pause = FIRST_PAUSE_SECONDS if lasted > SETTLED_SECONDS else pause
            self._report(f"{name} {ended}; restarting it.")
            await asyncio.sleep(pause)
            pause = min(MAX_PAUSE_SECONDS, pause * 2)

    async def _once(self, name: str) -> int:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "lamplighter", name, RUNNER_OPTION, str(os.getpid())),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=self.env,
            start_new_session=True,  # Ctrl-C reaches only us; we stop the processes ourselves
        )
        self._running[name] = process
        assert process.stdout is not None
        await self._show(name, process.stdout)
        return await process.wait()

    async def _show(self, name: str, output: asyncio.StreamReader) -> None:
        rest = b""
        while chunk := await output.read(65_536):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self.print_line(self._format_line(name, line))
        if rest:
            self.print_line(self._format_line(name, rest))

    def _format_line(self, name: str, line: bytes) -> str:
        words = line.decode("utf-8", "replace")
        return words if self.bare else f"{name:<10} | {words}"

    def _report(self, words: str) -> None:
        if self.bare:
            logger.warning("%s", words)
        else:
            self.print_line(words)

    async def _stop(self) -> None:
        living = [each for each in self._running.values() if each.returncode is None]
        for process in living:
            process.terminate()
        if not living:
            return
        waits = [asyncio.ensure_future(process.wait()) for process in living]
        _, late = await asyncio.wait(waits, timeout=GRACE_SECONDS)
        for process in living:
            if late and process.returncode is None:
                process.kill()


def exit_with_runner(keeper: int) -> None:
    """End when the keeper ends, even when it is killed (Linux)."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGTERM, 0, 0, 0)  # PR_SET_PDEATHSIG
        if os.getppid() != keeper:  # the parent died before prctl
            os.kill(os.getpid(), signal.SIGTERM)


def _describe_status(status: int) -> str:
    return f"killed by signal {-status}" if status < 0 else f"exit {status}"
