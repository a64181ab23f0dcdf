"""What a warden leaves behind that was killed itself: on Linux it becomes our child and is ended.

A warden is the subreaper of what it guards. Killed, by the kernel for want of memory say, it
ends nothing any more: whatever lost the mark of the environment would run forever. We are
the next subreaper, so all of it falls to us.
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
    """Kill what fell to us when a warden was killed, and all below it."""
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
    """Return our children that we did not start.

    What we start is in our session, or a warden, or about to become one: then its words are
    still ours. Nothing of an engine is ever in our session, since a warden gives it another.
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
