"""A program run to its end within a time, whatever it does; nothing of it is left running."""

import asyncio
import errno
import os
import socket
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from lamplighter.engines import orphans
from lamplighter.engines.process import (
    MARK,
    PROGRAM,
    exit_status,
    kill_later,
    process_mark,
    warden_command,
)
from lamplighter.engines.warden import NOT_FOUND

GRACE_SECONDS: Final = 1.0
EXHAUSTED: Final = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOMEM))
DRAIN_SECONDS: Final = 1.0
ERROR_BYTES: Final = 8192
END_BYTES: Final = 8192

Permit = Callable[[], AbstractAsyncContextManager[None]]
"""The last check before a program starts; the program starts within its context."""

_START_ERRORS: Final = {
    errno.ENOENT: "program not found: {}",
    errno.EAGAIN: "too many processes to run {}",
    errno.EMFILE: "too many open files to run {}",
    errno.ENFILE: "too many open files to run {}",
    errno.EACCES: "program not executable: {}",
    errno.ENOEXEC: "not an executable: {}",
    errno.E2BIG: "too many or too long arguments: {}",
}
_REASONS: Final = {os.strerror(number): number for number in errno.errorcode}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramResult:
    """The result of a program: `error` is the reason if it could not be started.

    Without an exit code the program was not started, or was ended by the timeout. `output` and
    `errors` are the beginning of its output; `output_end` and `errors_end` the end, if there was
    more. `exhausted`: it was not started because this machine lacks processes, files or memory.
    """

    exit_code: int | None = None
    output: bytes = b""
    errors: bytes = b""
    output_end: bytes = b""
    errors_end: bytes = b""
    timed_out: bool = False
    error: str = ""
    exhausted: bool = False


async def run_bounded(
    argv: Sequence[str],
    *,
    timeout: float,  # noqa: ASYNC109  # the program's time, after which more is done than to cancel
    output_bytes: int,
    env: Mapping[str, str],
    directory: str | None = None,
    stdin: bytes = b"",
    fds: Sequence[int] = (),
    permit: Permit | None = None,
) -> ProgramResult:
    """Run a program, never through a shell, and return its result.

    The program runs in `directory`, or else in `/`, and can read `stdin` and the descriptors `fds`.
    After the timeout, or when the caller is cancelled, it is terminated and soon afterward killed
    with all processes that it started; processes that remain after its end are killed too. Of
    output beyond the limit only the end is stored.

    With `permit` the program starts within that context, which is entered when all else is ready.
    An exception of the context prevents the start, and is raised.
    """
    sinks = _Sink(output_bytes), _Sink(ERROR_BYTES)
    try:
        async with asyncio.timeout(timeout) as limit:
            if problem := await asyncio.to_thread(_directory_problem, directory or "/"):
                return ProgramResult(error=problem)
            exit_code = await _run(
                argv,
                sinks,
                directory=directory or "/",
                env=env,
                stdin=stdin,
                fds=fds,
                begin=partial(_start_delayed, permit, limit) if permit else None,
            )
    except TimeoutError:
        return replace(_collect(sinks), timed_out=True)
    except (OSError, ValueError, RuntimeError) as error:
        return _not_started(argv[0], error)
    printed = _collect(sinks)
    if exit_code == NOT_FOUND and (reason := _warden_error(argv[0], printed.errors)):
        return _not_started(argv[0], reason)
    return replace(printed, exit_code=exit_code)


class _Sink(asyncio.Protocol):
    """The end of a pipe: stores the first and last bytes, and drops the middle."""

    def __init__(self, limit: int) -> None:
        self.kept = bytearray()
        self.end = b""
        self.at_end = asyncio.Event()
        self._limit = limit

    def data_received(self, data: bytes) -> None:
        room = self._limit - len(self.kept)
        self.kept += data[:room]
        if len(data) > room:
            self.end = (self.end + data[room:])[-END_BYTES:]

    def connection_lost(self, exc: Exception | None) -> None:
        self.at_end.set()


def _collect(sinks: Sequence[_Sink]) -> ProgramResult:
    output, errors = sinks
    return ProgramResult(
        output=bytes(output.kept),
        errors=bytes(errors.kept),
        output_end=output.end,
        errors_end=errors.end,
    )


async def _run(
    argv: Sequence[str],
    sinks: Sequence[_Sink],
    *,
    directory: str,
    env: Mapping[str, str],
    stdin: bytes,
    fds: Sequence[int],
    begin: Callable[[socket.socket], Awaitable[None]] | None,
) -> int:
    with ExitStack() as ours, ExitStack() as theirs:
        orders, control = socket.socketpair()
        ours.enter_context(orders)
        theirs.enter_context(control)
        orders.setblocking(False)
        output, errors = [await _pipe_into(sink, theirs, ours) for sink in sinks]
        orphans.become_subreaper()
        process = await asyncio.create_subprocess_exec(
            *warden_command(argv, control.fileno(), delayed=begin is not None),
            stdin=_stdin_file(stdin, theirs),
            stdout=output,
            stderr=errors,
            env={**env, MARK: os.environ.get(MARK) or process_mark(PROGRAM)},
            cwd=directory,
            pass_fds=(control.fileno(), *fds),
            start_new_session=True,
        )
        theirs.close()
        try:
            if begin is not None:
                await begin(orders)
            await process.wait()
        finally:
            await _stop(process, orders)
            exit_code = await exit_status(process.returncode or 0)
        await _drain(sinks)
        return exit_code


async def _start_delayed(permit: Permit, limit: asyncio.Timeout, orders: socket.socket) -> None:
    """Start a delayed program once its warden is ready; its time begins then."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    if await loop.sock_recv(orders, 1):  # else the warden has ended
        async with permit():
            _order(orders, b"g")
    limit.reschedule((limit.when() or began) + loop.time() - began)


def _stdin_file(content: bytes, theirs: ExitStack) -> int:
    """Return a program's input as an unnamed file: unlike a pipe, it never blocks the writer."""
    if not content:
        return asyncio.subprocess.DEVNULL
    file = theirs.enter_context(tempfile.TemporaryFile())  # noqa: SIM115  # closed with `theirs`
    file.write(content)
    file.seek(0)
    return file.fileno()


async def _pipe_into(sink: _Sink, theirs: ExitStack, cleanup: ExitStack) -> int:
    read, write = os.pipe()
    theirs.callback(os.close, write)
    file = os.fdopen(read, "rb", buffering=0)
    try:
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: sink, file)
    except BaseException:
        file.close()
        raise
    cleanup.callback(transport.close)  # closing the transport also closes the file
    return write


async def _stop(process: asyncio.subprocess.Process, orders: socket.socket) -> None:
    """Terminate the program, kill its process tree if necessary, and wait until it has ended."""
    if process.returncode is None:
        try:
            _order(orders, b"t")
            # not asyncio.timeout: before Python 3.11.3 it cannot end inside a cancelled task
            await asyncio.wait([asyncio.ensure_future(process.wait())], timeout=GRACE_SECONDS)
        finally:  # also after a second cancellation
            _order(orders, b"k")
            kill_later(process)
    await process.wait()


def _order(orders: socket.socket, order: bytes) -> None:
    with suppress(OSError):  # the warden has ended
        orders.send(order)


async def _drain(sinks: Sequence[_Sink]) -> None:
    """Wait for the rest in the pipes, unless an escaped child holds them open."""
    with suppress(TimeoutError):
        async with asyncio.timeout(DRAIN_SECONDS):
            for sink in sinks:
                await sink.at_end.wait()


def is_exhausted(error: BaseException) -> bool:
    """Whether this machine lacks files, memory or threads for what was tried."""
    if isinstance(error, OSError):
        return error.errno in EXHAUSTED
    return isinstance(error, MemoryError) or "start new thread" in str(error)


def _directory_problem(directory: str) -> str:
    if not os.path.isdir(directory):
        return f"no such directory: {directory}"
    return "" if os.access(directory, os.X_OK) else f"directory not accessible: {directory}"


def _warden_error(program: str, errors: bytes) -> OSError | None:
    """Return the start error that the warden reported; None for output of the program itself."""
    name, _, reason = errors.decode(errors="replace").rstrip("\n").rpartition(": ")
    number = _REASONS.get(reason)
    return OSError(number, reason) if number and name == program else None


def _not_started(program: str, error: Exception) -> ProgramResult:
    number = error.errno if isinstance(error, OSError) else None
    if number == errno.ENOENT and os.path.isfile(program):
        why = f"interpreter not found: {program}"
    elif number in _START_ERRORS:
        why = _START_ERRORS[number].format(program)
    else:
        why = f"program cannot be run: {program}: {getattr(error, 'strerror', None) or error}"
    return ProgramResult(error=why, exhausted=number == errno.EAGAIN or is_exhausted(error))
