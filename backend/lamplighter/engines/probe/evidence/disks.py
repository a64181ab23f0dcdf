"""Disk usage by directory."""

import asyncio
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Final

from lamplighter.engines.probe.text import harmless, size

SECONDS: Final = 2.0
ENTRIES: Final = 50_000
NAMED: Final = 3
NAME_CHARACTERS: Final = 80


@dataclass(slots=True)
class _Rest:
    """How many entries may still be read, and until when."""

    entries: int
    deadline: float
    over: bool = False

    def late(self) -> bool:
        """Whether the time is over."""
        late = monotonic() >= self.deadline
        self.over = self.over or late
        return late

    def limit(self, found: "Iterable[os.DirEntry[str]]") -> "Iterator[os.DirEntry[str]]":
        """Yield entries until the rest is used up."""
        for entry in found:
            if self.entries <= 0 or self.late():
                self.over = True
                return
            self.entries -= 1
            yield entry


async def largest(path: str) -> list[str]:
    """Return the largest directories below a path, within a time limit."""
    return await asyncio.to_thread(_largest, path)


def _largest(path: str) -> list[str]:
    device, rest = os.stat(path).st_dev, _Rest(ENTRIES, monotonic() + SECONDS)
    with os.scandir(path) as found:
        entries = sorted(rest.limit(found), key=lambda each: each.name)
    usages = [(entry.name, *_usage(entry, device, rest)) for entry in entries]
    if not usages:
        return [f"too large to count: {path}" if rest.over else f"nothing lies at {path} itself"]
    first = sorted(usages, key=lambda each: (-each[1], -each[2], each[0]))[:NAMED]
    named = ", ".join(f"{harmless(name, NAME_CHARACTERS)} {size(used)}" for name, used, _ in first)
    part = " (counted in part)" if rest.over else ""
    files = sum(count for _, _, count in usages)
    return [f"largest at {path}: {named}; {files:,} files in all{part}"]


def _usage(entry: "os.DirEntry[str]", device: int, rest: _Rest) -> tuple[int, int]:
    """Return the bytes and files of an entry and everything below it on a device."""
    used, files, queue = 0, 0, [entry]
    while queue and not rest.late():
        each = queue.pop()
        with suppress(OSError):
            found = each.stat(follow_symlinks=False)
            if found.st_dev != device:
                continue
            used += found.st_blocks * 512
            files += 1
            if each.is_dir(follow_symlinks=False):
                with os.scandir(each.path) as below:
                    queue += rest.limit(below)
    return used, files
