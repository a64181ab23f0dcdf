"""The checkpoint: all that a session needs to go on after a crash, in a file of its own.

It lies in the session's scratch directory, for its owner's eyes only, and goes
with it; no route serves it.
"""

import fcntl
import os
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import field

from lamplighter.domain.sessions.transcript import Usage
from lamplighter.engines import CHECKPOINT, CHECKPOINT_LOCK

VERSION: Final = 1
_LOCKING: Final = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
_AT_ONCE: Final = fcntl.LOCK_EX | fcntl.LOCK_NB


class Checkpoint(
    msgspec.Struct,
    kw_only=True,
    rename={"injected": "told", "printed": "said", "unprinted": "unsaid"},
):
    """The progress of a session.

    `answers` are those of tools that its last message uses, as far as they came, and
    `under_way` is the use that was begun and has none yet. `printed` counts the lines
    that were printed before `unprinted`, which are the ones to print next. `injected` is
    what was injected last, `scale` corrects our estimate of tokens. `chain`,
    `handoffs` and `approvals` say what it stands in and what waits because of it.
    """

    session: int
    chain: dict[str, Any]
    version: int = VERSION
    model: str = ""
    messages: list[dict[str, Any]] = field(default_factory=list)
    answers: list[dict[str, Any]] = field(default_factory=list)
    under_way: str = ""
    tools: list[dict[str, Any]] = field(default_factory=list)
    uses: dict[str, int] = field(default_factory=dict)
    injected: str = ""
    handoffs: list[Any] = field(default_factory=list)
    approvals: list[Any] = field(default_factory=list)
    turns: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    duration_ms: int = 0
    scale: float = 1.0
    room: int = 0
    cuts: int = 0
    cut_lines: list[str] = field(default_factory=list)
    printed: int = 0
    unprinted: list[dict[str, Any]] = field(default_factory=list)
    ended: bool = False


def lock_session(directory: Path) -> bool:
    """Hold this session until our process ends; False while another process still has it."""
    try:
        fcntl.flock(os.open(directory / CHECKPOINT_LOCK, _LOCKING, 0o600), _AT_ONCE)
    except BlockingIOError:
        return False
    return True


def save(state: Checkpoint, directory: Path) -> None:
    """Write a checkpoint; a reader finds the old one or this one, never a part."""
    path = directory / CHECKPOINT
    fresh = path.with_suffix(".new")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(msgspec.json.encode(state))
        file.flush()
        os.fsync(file.fileno())
    os.replace(fresh, path)
    holder = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(holder)
    finally:
        os.close(holder)


def load(directory: Path) -> Checkpoint | None:
    """Return the checkpoint that is there; None for none, ValueError for an unreadable one."""
    try:
        return msgspec.json.decode((directory / CHECKPOINT).read_bytes(), type=Checkpoint)
    except FileNotFoundError:
        return None
