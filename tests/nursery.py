"""Real Python processes, forked with the common modules already loaded.

Loading them takes half a second of processor time, and a run of all tests starts well over a
thousand processes. Therefore each process that runs tests has a nursery, which has loaded them once
and forks: a child has its own session, environment, directory and streams, and otherwise behaves
like a newly started Python. Processes that `up`, `demo`, the hook and the wheel start are newly
started Pythons, as are those of the benchmarks and those with a PYTHON… variable that differs from
ours.
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
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from runpy import run_module, run_path
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
INHERITED = frozenset(os.environ.items())  # what these tests were given asks for nothing
LEFT_SECONDS = 20.0

Stream = IO[Any] | int


class Child(subprocess.Popen[Any]):
    """A Python that a nursery forked; otherwise like a newly started process."""

    def __init__(self, argv: Sequence[str], nursery: "Nursery", **how: Any) -> None:
        self._nursery, self._report = nursery, -1
        super().__init__([sys.executable, *argv], **how)

    def _execute_child(self, argv: Sequence[str], *how: Any) -> None:
        directory, env, pipes = how[4], how[5], how[9:15]
        asked = [argv[1:], dict(os.environ if env is None else env), str(directory or Path.cwd())]
        streams = (pipes[0], pipes[3], pipes[5])
        same = [number if each == -1 else each for number, each in enumerate(streams)]
        self.pid, self._report = self._nursery.bear(asked, same)
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]

    def _internal_poll(self, *_: object, **__: object) -> int | None:
        return self._ended(0)

    def _wait(self, timeout: float | None) -> int:
        ended = self._ended(timeout)
        if ended is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return ended

    def _ended(self, seconds: float | None) -> int | None:
        if self.returncode is None and select.select([self._report], [], [], seconds)[0]:
            said = os.read(self._report, 64)
            assert said, f"the nursery of {self.pid} is gone"
            self.returncode = int(said)
            os.close(self._report)
        return self.returncode


def python(*argv: str, env: Mapping[str, str] | None = None, **how: Any) -> subprocess.Popen[Any]:
    """Start a Python in a separate session, with the arguments `-m`, `-c` or a file."""
    if _from_the_beginning(os.environ if env is None else env):
        return subprocess.Popen([sys.executable, *argv], env=env, start_new_session=True, **how)
    return Child(argv, _nursery(), env=env, **how)


def finish(
    *argv: str,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    given: str = "",
    seconds: float = 60,
) -> "subprocess.CompletedProcess[str]":
    """Run a Python to its end, with `given` as its standard input."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with python(*argv, env=env, cwd=cwd, **pipes, text=True) as process:
        try:
            out, err = process.communicate(given, timeout=seconds)
        finally:
            process.kill()
    return subprocess.CompletedProcess(argv, process.returncode, out, err)


def start(
    *words: str, env: dict[str, str], stdout: Stream, stderr: Stream, stdin: Stream | None = None
) -> subprocess.Popen[bytes]:
    """Start a `lamplighter` process in a separate session."""
    streams = {"stdin": stdin or subprocess.DEVNULL, "stdout": stdout, "stderr": stderr}
    return python("-m", "lamplighter", *words, env=env, **streams)


def run(*words: str, env: dict[str, str], seconds: float) -> "subprocess.CompletedProcess[str]":
    """Run a `lamplighter` process to its end, and return its output."""
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


def _from_the_beginning(env: Mapping[str, str]) -> bool:
    measured = "pytest" not in sys.modules  # a benchmark is of what a user starts
    asked = any(name.startswith("PYTHON") for name, _ in env.items() - INHERITED)
    return measured or sys.platform != "linux" or asked


@dataclass
class Nursery:
    """A forking process with all modules loaded, and its socket; it ends with this process."""

    asking: socket.socket
    process: subprocess.Popen[bytes]
    one_at_a_time: threading.Lock = field(default_factory=threading.Lock)

    def bear(self, asked: Sequence[Any], streams: Sequence[int]) -> tuple[int, int]:
        """Return the process id of a new child, and the pipe that reports its end."""
        report, reporting = os.pipe()
        with self.one_at_a_time:
            socket.send_fds(self.asking, [json.dumps(asked).encode()], [*streams, reporting])
            os.close(reporting)
            pid = self.asking.recv(64)
        assert pid, "the nursery is gone"
        return int(pid), report

    def close(self) -> None:
        """Close the socket, and wait for the end of the nursery."""
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
    """A request for a child: its arguments, environment, directory and streams."""

    argv: list[str]
    env: dict[str, str]
    directory: str
    streams: list[int]
    parent: int

    def become(self) -> None:
        """Make this process look like a newly started one with these arguments."""
        os.setsid()
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)  # also when its test is killed
        if os.getppid() != self.parent:  # it was killed before we said so
            os._exit(1)
        for number, stream in enumerate(self.streams):
            os.dup2(stream, number)
        # opened for other files, they take a pipe for a file in which one can seek
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
        sys.stderr = os.fdopen(
            2, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False
        )
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        os.chdir(self.directory)
        os.environ.clear()
        os.environ.update(self.env)
        time.tzset()
        sys.path[0] = self.directory


def tend(asked: socket.socket) -> Asked:
    """Fork a child for each request, and report its end; returns only in the children."""
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
                argv, env, directory = json.loads(request)
                return Asked(argv, env, directory, streams, nursery)
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


def run_python(argv: list[str]) -> object:
    """Run these arguments of Python, and return the exit status or the exit message."""
    first, *more = argv
    try:
        if first == "-m":
            sys.argv[1:] = more[1:]
            run_module(more[0], run_name="__main__", alter_sys=True)
        elif first == "-c":
            sys.argv[:] = [first, *more[1:]]
            exec(compile(more[0], "<string>", "exec"), {"__name__": "__main__"})
        else:
            sys.argv[:], sys.path[0] = argv, str(Path(first).parent)
            run_path(first, run_name="__main__")
    except SystemExit as ended:
        return ended.code
    return None


def end(status: object) -> None:
    """End this process like Python, but without freeing the modules.

    A child shares their memory with the nursery. Freeing them copies every page, which takes four
    times the processor time of a short command.
    """
    if status is not None and not isinstance(status, int):
        sys.stderr.write(f"{status}\n")
        status = 1
    threading._shutdown()  # type: ignore[attr-defined]
    gc.collect()  # warns of what was left open
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit((status or 0) & 0xFF)


def compile_statements() -> None:
    """Compile the statements that each process would otherwise compile, for both databases."""
    from lamplighter.repository.store import backend, postgres
    from lamplighter.repository.store.statements import Statement

    for statement in [each for each in gc.get_objects() if isinstance(each, Statement)]:
        for compiler in (backend.COMPILER, postgres.COMPILER):
            with suppress(AttributeError):  # it is of the other database
                statement.compiled(compiler.dialect)


def main() -> None:
    """Load the modules that every process needs, and fork children on request."""
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
    end(run_python(asked.argv))


if __name__ == "__main__":
    main()
