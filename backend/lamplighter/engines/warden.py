"""The warden: a process between supervisor and engine that ends the engine with the supervisor.

Started as `python -I -S warden.py CONTROL GRACE LARGEST ALONE -- ENGINE…` with the standard library
alone. The warden runs the engine in a session of its own, passes its exit status on, and ends the
whole tree when the supervisor dies: the socket or pipe CONTROL, whose other end only the supervisor
holds, is then closed. Bytes from CONTROL are orders: `i` interrupt, `t` terminate, `k` kill; a byte
to it reports that the disk of the engine's output was full when the engine ended. SIGUSR1 kills
too: the next supervisor uses it to hurry a warden that is still ending a tree. No file of the
engine grows beyond LARGEST bytes; 0 is no limit. ALONE is the number of the signal that the engine
gets first when its supervisor has died. With `--delayed` instead of `--`, the warden reports by a
byte to CONTROL that it is ready, and starts the engine only after the order `g`.

On Linux the warden is the subreaper of the tree: every process that an engine leaves behind, even
in a session of its own, becomes the warden's child and ends with it.
"""

import contextlib
import ctypes
import os
import resource
import select
import signal
import sys
import time

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
NOT_FOUND = 127
DELAYED = "--delayed"
FULL_BYTES = 64 * 1024
ORDERS = {"i": signal.SIGINT, "t": signal.SIGTERM, "k": signal.SIGKILL}
RESET = (
    *(signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGUSR1),
    *(signal.SIGPIPE, signal.SIGXFSZ),  # a Python ignores these two
)
LINUX = sys.platform == "linux"


class Warden:
    """Runs one engine until it and all it started have ended."""

    def __init__(
        self, control: int, grace: float, largest: int, alone: signal.Signals, argv: list[str]
    ) -> None:
        self._control, self._grace, self._largest, self._alone = control, grace, largest, alone
        self._watched = [control]
        self._steps: list[signal.Signals] = []
        self._deadline: float | None = None
        self._status: int | None = None
        self._libc = ctypes.CDLL(None, use_errno=True) if LINUX else None
        self._child_ended = self._prepare()
        self._engine = self._start(argv)

    def guard(self) -> int:
        """Wait for the engine's end, carrying out orders; return its exit status."""
        while self._status is None:
            ready, _, _ = select.select([*self._watched, self._child_ended], [], [], self._left())
            if self._child_ended in ready:
                if signal.SIGUSR1 in os.read(self._child_ended, 4096):
                    self._kill_tree()
                self._reap()
            if self._control in ready:
                self._obey(os.read(self._control, 64).decode("ascii", "replace"))
            if self._deadline is not None and time.monotonic() >= self._deadline:
                self._press_on()
        self._kill_tree()
        return self._status if self._status >= 0 else 128 - self._status

    def _prepare(self) -> int:
        os.set_inheritable(self._control, False)
        if self._libc is not None:
            self._libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)  # orders arrive only through the pipe
        ended, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGUSR1, lambda *_: None)  # order of another supervisor to kill now
        return ended

    def _start(self, argv: list[str]) -> int:
        """Start the engine; loading `subprocess` would double the time of a warden's start."""
        read, write = os.pipe()  # closed by the start of the engine, like all that is not inherited
        pid = os.fork()
        if pid == 0:
            try:
                self._become_engine()
                os.execvp(argv[0], argv)
            except OSError as error:
                os.write(write, b"%d" % (error.errno or 0))
            finally:
                os._exit(NOT_FOUND)
        os.close(write)
        if number := os.read(read, 16):
            raise OSError(int(number), os.strerror(int(number)))
        os.close(read)
        return pid

    def _become_engine(self) -> None:
        os.setsid()
        for number in RESET:
            signal.signal(number, signal.SIG_DFL)
        if self._largest:
            _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
            largest = self._largest if most < 0 else min(self._largest, most)
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest, most))
        if self._libc is not None:
            self._libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)

    def _left(self) -> float | None:
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    def _obey(self, orders: str) -> None:
        if not orders:  # the supervisor is gone
            self._watched = []
            self._steps = [self._alone, signal.SIGTERM, signal.SIGKILL]
            self._press_on()
        for order in orders:
            if order in ORDERS:
                self._signal(ORDERS[order])

    def _press_on(self) -> None:
        self._signal(self._steps.pop(0) if self._steps else signal.SIGKILL)
        self._deadline = time.monotonic() + self._grace

    def _signal(self, number: signal.Signals) -> None:
        if number == signal.SIGKILL:
            self._kill_tree()
            return
        with contextlib.suppress(OSError):
            os.kill(self._engine, number)

    def _kill_tree(self) -> None:
        """Kill and reap until no child is left: only then is no process below this one.

        The state of a process does not show that: one whose main thread has ended is called a
        zombie while its other threads run.
        """
        for _ in range(200):
            if not self._reap():
                return
            for pid in descendants(os.getpid()):
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.005)

    def _reap(self) -> bool:
        """Reap the ended children; without any child, no process is below this one."""
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return True
                if pid == self._engine:
                    self._status = os.waitstatus_to_exitcode(status)
                    self._tell_if_full()
        return False

    def _tell_if_full(self) -> None:
        # immediately: space may be free again before the supervisor checks
        with contextlib.suppress(OSError):  # one end is a pipe, or is already closed
            disk = os.fstatvfs(sys.stdout.fileno())
            if disk.f_bavail * disk.f_frsize < FULL_BYTES:
                os.write(self._control, b"f")


def descendants(pid: int) -> list[int]:
    """Return all processes below this one."""
    children: dict[int, list[int]] = {}
    for child, parent in parents():
        children.setdefault(parent, []).append(child)
    pids: list[int] = []
    waiting = [pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        pids += below
        waiting += below
    return pids


def parents() -> list[tuple[int, int]]:
    """Return (process, its parent) of all processes of this machine."""
    if not LINUX:
        import subprocess

        listed = subprocess.run(["ps", "-axo", "pid=,ppid="], capture_output=True, text=True)
        pairs = (line.split() for line in listed.stdout.splitlines())
        return [(int(child), int(parent)) for child, parent in pairs]
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                found.append((int(name), int(stat_fields(int(name))[1])))
    return found


def stat_fields(pid: int) -> list[str]:
    """Return a process's stat fields behind its name: state, parent, …"""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return file.read().rsplit(")", 1)[1].split()


def is_permitted(control: int) -> bool:
    """Report that the engine can start, and wait for the order; any other order forbids it."""
    with contextlib.suppress(OSError):  # the supervisor is gone
        os.write(control, b"r")
        return os.read(control, 1) == b"g"
    return False


def main() -> None:
    """Guard the engine that the command line names."""
    control, grace, largest = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    alone, argv = signal.Signals(int(sys.argv[4])), sys.argv[6:]
    if sys.argv[5] == DELAYED and not is_permitted(control):
        os._exit(NOT_FOUND)
    try:
        warden = Warden(control, grace, largest, alone, argv)
    except OSError as error:
        sys.stderr.write(f"{argv[0]}: {error.strerror}\n")
        sys.stderr.flush()
        os._exit(NOT_FOUND)
    os._exit(warden.guard())


if __name__ == "__main__":
    main()
