"""One attempt of a check of a disk."""

import asyncio
import os

from lamplighter.domain.check import DiskCheck, Room
from lamplighter.engines.probe.facts import Answer
from lamplighter.engines.probe.network import RefusedError
from lamplighter.engines.probe.words import harmless, size


async def ask(check: DiskCheck) -> Answer:
    """Look how much room is left where the path lies."""
    # in a thread: a mount whose server is gone never answers
    try:
        found = await asyncio.to_thread(os.statvfs, check.path)
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise RefusedError(f"cannot look at {check.path}: {reason}") from error
    if not found.f_blocks:
        raise RefusedError(f"nothing is stored at {check.path}")
    if lack := _lack(check.free, found):
        return Answer(ok=False, detail=harmless(f"{lack} free at {check.path}"))
    lack = _lack(check.warn, found)
    return Answer(ok=True, warning=harmless(f"{lack} free at {check.path}") if lack else "")


def _lack(wanted: Room, found: os.statvfs_result) -> str:
    """Say what there is too little of: bytes, or entries for files where they are counted."""
    left = found.f_bavail * found.f_frsize
    if wanted.size is not None:
        return f"{size(left)} of {size(wanted.size)}" if left < wanted.size else ""
    least = wanted.percent or 0.0
    # as df counts: what is kept for root is no room
    share = 100 * found.f_bavail / max(1, found.f_blocks - found.f_bfree + found.f_bavail)
    if share < least:
        return f"{_percent(share)}, less than {_percent(least)}: {size(left)}"
    share = 100 * found.f_favail / found.f_files if found.f_files else 100.0
    return f"{_percent(share)}, less than {_percent(least)} of inodes" if share < least else ""


def _percent(share: float) -> str:
    return f"{share:.3g}%"
