"""What takes the room of a disk, by directory."""

import asyncio
import os
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Final

from lamplighter.engines.probe.text import harmless, size

SECONDS: Final = 2.0
ENTRIES: Final = 50_000
NAMED: Final = 3
NAME_CHARACTERS: Final = 60


@dataclass(slots=True)
class _Usage:
    name: str
    size: int = 0
    files: int = 0


async def largest(path: str) -> list[str]:
    """Return the directories below a path that take the most, within a bound of time."""
    return await asyncio.to_thread(_largest, path)


def _largest(path: str) -> list[str]:
    began, device = monotonic(), os.stat(path).st_dev
    usages: list[_Usage] = []
    left, complete = ENTRIES, True
    for entry in sorted(os.scandir(path), key=lambda each: each.name):
        usage = _Usage(entry.name)
        left = _count(entry, device, usage, left, began + SECONDS)
        usages.append(usage)
        complete = complete and left > 0
    if not usages:
        return [f"nothing lies at {path} itself"]
    total = _Usage("", sum(each.size for each in usages), sum(each.files for each in usages))
    first = sorted(usages, key=lambda each: (-each.size, -each.files, each.name))[:NAMED]
    named = ", ".join(f"{harmless(each.name, NAME_CHARACTERS)} {size(each.size)}" for each in first)
    part = "" if complete else " (counted in part)"
    return [f"largest at {path}: {named}; {total.files:,} files in all{part}"]


def _count(
    entry: "os.DirEntry[str]", device: int, usage: _Usage, left: int, deadline: float
) -> int:
    """Add an entry and all below it to a usage; return how many entries may still be counted."""
    queue = [entry]
    while queue and left > 0 and monotonic() < deadline:
        each = queue.pop()
        left -= 1
        with suppress(OSError):
            found = each.stat(follow_symlinks=False)
            if found.st_dev != device:
                continue
            usage.size += found.st_blocks * 512
            usage.files += 1
            if each.is_dir(follow_symlinks=False):
                with os.scandir(each.path) as below:
                    queue += below
    return 0 if queue else left
