"""The only place that starts engines, and the cleanup of processes of a dead supervisor."""

import asyncio
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from lamplighter.engines import Command, orphans, warden

MARK: Final = "LAMPLIGHTER_SESSION"
PROGRAM: Final = "run"
"""What the mark of an action or a command names, in place of a session."""

GRACE_SECONDS: Final = 2.0
KILLING_SECONDS: Final = 1.0
STDERR_LINES: Final = 20
SWEEPS: Final = 100
WARDEN: Final = os.path.join("lamplighter", "engines", "warden.py")
SWEEP_SECONDS: Final = 0.02


@dataclass(slots=True)
class EngineProcess:
    """A running engine behind its warden.

    `disk_full` states whether the disk of its output was full when it ended.
    """

    mark: str
    errors: Path
    _process: asyncio.subprocess.Process
    _control: socket.socket
    disk_full: bool = False

    async def wait(self) -> int:
        """Wait for its end and return its exit status."""
        status = await self._process.wait()
        self._close()
        return await exit_status(status)

    @property
    def ended(self) -> bool:
        """Whether the engine and all its processes have ended."""
        return self._process.returncode is not None

    def interrupt(self) -> None:
        """Request that the session stops and reports its progress."""
        self._order(b"i")

    def terminate(self) -> None:
        """Request that the session ends."""
        self._order(b"t")

    def kill(self) -> None:
        """End it and all it started."""
        self._order(b"k")
        kill_later(self._process)

    def last_words(self) -> list[str]:
        """Return the end of the session's standard error."""
        with suppress(OSError):
            size = self.errors.stat().st_size
            with self.errors.open("rb") as file:
                file.seek(max(0, size - 8192))
                lines = file.read().decode("utf-8", "replace").splitlines()
                return [line.strip() for line in lines if line.strip()][-STDERR_LINES:]
        return []

    def _order(self, order: bytes) -> None:
        with suppress(OSError):  # the process has ended
            self._control.send(order)

    def _close(self) -> None:
        with self._control as control, suppress(OSError):  # no message, or already closed
            self.disk_full = self.disk_full or bool(control.recv(1))


async def start(
    command: Command, *, session_id: int, output: Path, scratch: Path, largest: int = 0
) -> EngineProcess:
    """Start an engine whose standard output goes directly to the file `output`.

    Its output is therefore stored even without a reader. It works in `scratch`, where its files are
    written first. None of its files, and not its output, grows beyond `largest` bytes.
    """
    for name, content in command.files.items():
        _write(scratch / name, content)
    mark = process_mark(session_id)
    errors = output.with_suffix(".err")
    with ExitStack() as cleanup:
        parent_socket, control = socket.socketpair()
        cleanup.callback(parent_socket.close)
        parent_socket.setblocking(False)
        with (
            control,
            tempfile.TemporaryFile() as stdin,
            os.fdopen(_append_only(output), "wb") as out,
            os.fdopen(_append_only(errors), "wb") as err,
        ):
            stdin.write(command.stdin)
            stdin.seek(0)
            orphans.become_subreaper()
            process = await asyncio.create_subprocess_exec(
                *warden_command(command.argv, control.fileno(), largest, command.alone),
                stdin=stdin,
                stdout=out,
                stderr=err,
                env={**command.env, MARK: mark},
                cwd=scratch,
                pass_fds=(control.fileno(),),
                start_new_session=True,
            )
        cleanup.pop_all()
    return EngineProcess(mark, errors, process, parent_socket)


async def start_server(argv: Sequence[str], env: Mapping[str, str]) -> asyncio.subprocess.Process:
    """Start a Lamplighter process that reads orders from a pipe, and ends when it is closed."""
    return await asyncio.create_subprocess_exec(
        *argv,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=env,
        cwd="/",
        process_group=0,  # Ctrl-C reaches only us; in our session it does not look orphaned
    )


def warden_command(
    argv: Sequence[str],
    control: int,
    largest: int = 0,
    alone: signal.Signals = signal.SIGINT,
    *,
    delayed: bool = False,
) -> tuple[str, ...]:
    """Return the command that runs `argv` behind a warden, which obeys the descriptor `control`.

    A `delayed` program starts only after an order.
    """
    ours = (sys.executable, "-I", "-S", warden.__file__, str(control), str(GRACE_SECONDS))
    return (*ours, str(largest), str(int(alone)), warden.DELAYED if delayed else "--", *argv)


def kill_later(process: asyncio.subprocess.Process) -> None:
    """Kill a warden that does not end in time: its engine may have stopped it."""

    def kill() -> None:
        with suppress(ProcessLookupError):
            process.kill()

    asyncio.get_running_loop().call_later(KILLING_SECONDS, kill)


async def exit_status(status: int) -> int:
    """Return the exit status of a program from that of its warden, which may have been killed."""
    if status >= 0:
        return status
    await asyncio.to_thread(orphans.end_orphans)
    return 128 - status


def process_mark(what: int | str, by: int | None = None) -> str:
    """Return the mark of the processes that a process (this one) starts, for `sweep`."""
    pid = by or os.getpid()
    return f"{what}:{pid}:{_started_at(pid)}"


async def sweep(mark: str | None = None) -> int:
    """Kill the remaining processes of a session (or, without a mark, of all dead supervisors).

    Returns the number of processes; none of them runs when it returns.
    """
    count = 0
    for turn in range(SWEEPS):
        left = [
            each
            for each, value in _marked_processes()
            if value == mark or (not mark and _is_orphan(value))
        ]
        if not left:
            break
        count = max(count, len(left))
        wardens = [each for each in left if _is_warden(each)]
        # a warden ends its whole tree, including unmarked processes: signal it, do not kill it
        if wardens and turn < SWEEPS // 2:
            _signal(wardens, signal.SIGUSR1)
        else:
            below = [each for one in wardens for each in _children(one)]
            _signal([*below, *left], signal.SIGKILL)
        await asyncio.sleep(SWEEP_SECONDS)
    return count


def _signal(processes: Iterable[psutil.Process], number: signal.Signals) -> None:
    for process in processes:
        with suppress(psutil.Error):
            process.send_signal(number)


def _children(process: psutil.Process) -> list[psutil.Process]:
    """Return the child processes that no other process would end."""
    with suppress(psutil.Error):
        return list(process.children(recursive=True))
    return []


def _is_warden(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        # also of another installation, such as one before an upgrade
        return any(part.endswith(WARDEN) for part in process.cmdline()[:6])
    return False


def _marked_processes() -> Iterator[tuple[psutil.Process, str]]:
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            value = process.environ().get(MARK)
            if value and process.pid != os.getpid() and process.status() != psutil.STATUS_ZOMBIE:
                yield process, value


def _is_orphan(mark: str) -> bool:
    """Whether the supervisor that started a marked process is dead."""
    _, _, rest = mark.partition(":")
    pid, _, started = rest.partition(":")
    return pid.isdigit() and _started_at(int(pid)) != started


def _started_at(pid: int) -> str:
    try:
        if warden.LINUX:  # since boot: the system clock may be changed meanwhile
            return warden.stat_fields(pid)[19]
        return f"{psutil.Process(pid).create_time():.2f}"
    except (psutil.Error, OSError, IndexError):
        return ""


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)


def _append_only(path: Path) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    return os.open(path, flags, 0o600)
