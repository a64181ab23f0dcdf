"""Real `lamplighter` processes that begin with what every one of them loads first.

To load it takes half a second of processor time, and a run of all tests starts well over
a thousand. So each process that runs tests has a nursery, which has loaded it once and
forks: a child has a session, an environment, a directory and streams of its own, does what
`python -m lamplighter` does and ends as that ends. What `up`, `demo`, the hook and the wheel
start is a Python from its very beginning, as are those of the benchmarks and what has
PYTHON… in its environment.
"""

import atexit
import ctypes
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from runpy import run_module
from tempfile import TemporaryFile
from typing import IO, Any

LOADED = (
    *("lamplighter.cli", "lamplighter.serve.supervisor", "lamplighter.serve.web"),
    *(
        "lamplighter.serve.checkup.doctor",
        "lamplighter.serve.backup.restore",
        "lamplighter.repository.store.backend",
    ),
    *("lamplighter.config.services", "lamplighter.serve.process_runner"),
    *("lamplighter.engines.exec", "lamplighter.engines.messages"),
    *("sqlalchemy.dialects.sqlite.aiosqlite", "aiosqlite", "alembic.command", "asyncinotify"),
    *("sqlalchemy.dialects.postgresql.asyncpg", "lamplighter.repository.store.postgres", "httpx2"),
    *("uvicorn.lifespan.on", "uvicorn.loops.uvloop", "uvicorn.protocols.http.httptools_impl"),
)
PASSED_ON = ("PATH", "HOME", "LANG")
REQUEST_BYTES = 1 << 18
LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1
LEFT_SECONDS = 20.0

Stream = IO[Any] | int


@dataclass
class Child:
    """A process that a nursery forked; signalled and waited for as a `subprocess.Popen` is."""

    args: Sequence[str]
    pid: int
    report: int
    returncode: int | None = None

    def poll(self) -> int | None:
        return self._ended(0)

    def wait(self, timeout: float | None = None) -> int:
        ended = self._ended(timeout)
        if ended is None:
            raise subprocess.TimeoutExpired(list(self.args), timeout or 0)
        return ended

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _ended(self, seconds: float | None) -> int | None:
        if self.returncode is None and select.select([self.report], [], [], seconds)[0]:
            said = os.read(self.report, 64)
            assert said, f"the nursery of {self.pid} is gone"
            self.returncode = int(said)
            os.close(self.report)
        return self.returncode


def start(
    *words: str, env: dict[str, str], stdout: Stream, stderr: Stream, stdin: Stream | None = None
) -> "Child | subprocess.Popen[bytes]":
    """Start a `lamplighter` in a session of its own."""
    with open(os.devnull, "rb") as nothing:
        streams = (stdin or nothing, stdout, stderr)
        if _from_the_beginning(env):
            return subprocess.Popen(
                [sys.executable, "-m", "lamplighter", *words],
                env=env,
                stdin=streams[0],
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
        return _nursery().bear(words, env, streams)


def run(*words: str, env: dict[str, str], seconds: float) -> "subprocess.CompletedProcess[str]":
    """Run a `lamplighter` to its end, and return what it printed."""
    with TemporaryFile("w+", encoding="utf-8") as out, TemporaryFile("w+", encoding="utf-8") as err:
        child = start(*words, env=env, stdout=out, stderr=err)
        try:
            child.wait(seconds)
        finally:
            child.kill()
            ended = child.wait(LEFT_SECONDS)
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(words, ended, out.read(), err.read())


def _from_the_beginning(env: dict[str, str]) -> bool:
    measured = "pytest" not in sys.modules  # a benchmark is of what a user starts
    return measured or sys.platform != "linux" or any(name.startswith("PYTHON") for name in env)


@dataclass
class Nursery:
    """Asks a process that has loaded everything for children; it ends with us."""

    asking: socket.socket
    process: subprocess.Popen[bytes]
    one_at_a_time: threading.Lock = field(default_factory=threading.Lock)

    def bear(self, words: Sequence[str], env: dict[str, str], streams: Sequence[Stream]) -> Child:
        report, reporting = os.pipe()
        request = json.dumps([words, env, str(Path.cwd())]).encode()
        numbers = [each if isinstance(each, int) else each.fileno() for each in streams]
        with self.one_at_a_time:
            socket.send_fds(self.asking, [request], [*numbers, reporting])
            os.close(reporting)
            pid = self.asking.recv(64)
        assert pid, "the nursery is gone"
        return Child(words, int(pid), report)

    def close(self) -> None:
        """Let it end."""
        self.asking.close()
        self.process.wait(LEFT_SECONDS)


@cache
def _nursery() -> Nursery:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())],
            env={
                name: value
                for name, value in os.environ.items()
                if name in ("PATH", "HOME", "LANG")
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            process_group=0,  # of our session: what is not is ended when a warden is killed
        )
    nursery = Nursery(ours, process)
    atexit.register(nursery.close)
    return nursery


@dataclass
class Asked:
    """What a child is to be."""

    words: list[str]
    env: dict[str, str]
    directory: str
    streams: list[int]
    parent: int

    def become(self) -> None:
        """Make this process one that was just started so."""
        os.setsid()
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)  # also when its test is killed
        if os.getppid() != self.parent:  # it was killed before we said so
            os._exit(1)
        for number, stream in enumerate(self.streams):
            os.dup2(stream, number)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        os.chdir(self.directory)
        os.environ.clear()
        os.environ.update(self.env)
        time.tzset()
        sys.argv[1:], sys.path[0] = self.words, self.directory


def tend(asked: socket.socket) -> Asked:
    """Fork a child for each request, and report its end; returns in the children alone."""
    reports: dict[int, int] = {}
    nursery = os.getpid()
    ended, ending = os.pipe()
    os.set_blocking(ending, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(ending)
    watched: list[socket.socket | int] = [asked, ended]
    while True:
        ready, _, _ = select.select(watched, [], [])
        if ended in ready:
            os.read(ended, 4096)
            _report(reports)
        if asked in ready:
            request, numbers, _, _ = socket.recv_fds(asked, REQUEST_BYTES, 4)
            if not request:
                os._exit(0)
            *streams, report = numbers
            pid = os.fork()
            if not pid:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                asked.detach()  # its number will be another file's
                words, env, directory = json.loads(request)
                return Asked(words, env, directory, streams, nursery)
            reports[pid] = report
            asked.send(str(pid).encode())
            for stream in streams:
                os.close(stream)


def _report(reports: dict[int, int]) -> None:
    while reports:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        report = reports.pop(pid)
        os.write(report, str(os.waitstatus_to_exitcode(status)).encode())
        os.close(report)


def run_command() -> object:
    """Do what `python -m lamplighter` does, and return its exit status or its last words."""
    try:
        run_module("lamplighter", run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        return ended.code
    return None


def end(status: object) -> None:
    """End this process as Python ends, but without freeing the modules.

    A child shares their memory with the nursery. Freeing them copies every page, which
    takes four times the processor time of a short command.
    """
    if status is not None and not isinstance(status, int):
        sys.stderr.write(f"{status}\n")
        status = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    gc.collect()  # warns of what was left open
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit((status or 0) & 0xFF)


def compile_statements() -> None:
    """Compile what each process would compile again, for both databases."""
    from lamplighter.repository.store import backend, postgres
    from lamplighter.repository.store.statements import Statement

    for statement in [each for each in gc.get_objects() if isinstance(each, Statement)]:
        for compiler in (backend.COMPILER, postgres.COMPILER):
            with suppress(AttributeError):  # it is of the other database
                statement.compiled(compiler.dialect)


def main() -> None:
    """Load what every process needs, and tend the children."""
    for name in LOADED:
        import_module(name)
    import authorities  # noqa: F401 - read once
    from lamplighter.domain.relate import builtin_lexicon
    from lamplighter.domain.secrets.redact import build_redactor

    builtin_lexicon()
    build_redactor(())("password=what-is-masked")  # compiles what it looks for
    compile_statements()
    gc.collect()
    gc.freeze()
    asked = tend(socket.socket(fileno=int(sys.argv[1])))
    asked.become()
    end(run_command())


if __name__ == "__main__":
    main()
