"""Processes of a killed warden: on Linux they become children of the supervisor, which ends them.

A warden is the subreaper of its tree. If the kernel kills it, for lack of memory for example, it
ends no process: a process without the mark in its environment would run forever. The supervisor is
the next subreaper, so it becomes the parent of all of them.
"""

import contextlib
import ctypes
import os
import signal
import time
from functools import cache
from pathlib import Path
from typing import Final

from lamplighter.engines import warden

TURNS: Final = 200
PAUSE_SECONDS: Final = 0.005
SCRIPT: Final = os.fsencode(warden.__file__)


@cache
def become_subreaper() -> None:
    """Become the parent of orphaned processes below this one (Linux)."""
    if warden.LINUX:
        ctypes.CDLL(None).prctl(warden.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_orphans() -> None:
    """Kill the processes that a killed warden left behind, and everything below them."""
    if not warden.LINUX:
        return
    for _ in range(TURNS):
        orphans = _orphans()
        if not orphans:
            return
        for orphan in orphans:
            for each in (*warden.descendants(orphan), orphan):
                with contextlib.suppress(OSError):
                    os.kill(each, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(orphan, os.WNOHANG)
        time.sleep(PAUSE_SECONDS)


def _orphans() -> list[int]:
    """Return the children that this process did not start.

    Processes that it started are in its session, or are a warden or about to become one: these
    still run Lamplighter's code. An engine's process is never in this session, because a warden
    gives it another.
    """
    ours, own_command, pids = os.getsid(0), _command_line(os.getpid()), []
    for child, parent in warden.parents():
        if parent == os.getpid():
            with contextlib.suppress(OSError, IndexError):
                elsewhere = int(warden.stat_fields(child)[3]) != ours
                theirs = _command_line(child)
                if elsewhere and theirs != own_command and SCRIPT not in theirs.split(b"\0")[:6]:
                    pids.append(child)
    return pids


def _command_line(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()
