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
class _Usage:
    name: str
    size: int = 0
    files: int = 0


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
    usages = [_usage(entry, device, rest) for entry in entries]
    if not usages:
        return [f"too large to count: {path}" if rest.over else f"nothing lies at {path} itself"]
    total = _Usage("", sum(each.size for each in usages), sum(each.files for each in usages))
    first = sorted(usages, key=lambda each: (-each.size, -each.files, each.name))[:NAMED]
    named = ", ".join(f"{harmless(each.name, NAME_CHARACTERS)} {size(each.size)}" for each in first)
    part = " (counted in part)" if rest.over else ""
    return [f"largest at {path}: {named}; {total.files:,} files in all{part}"]


def _usage(entry: "os.DirEntry[str]", device: int, rest: _Rest) -> _Usage:
    """Return the disk usage of an entry and everything below it on a device."""
    usage, queue = _Usage(entry.name), [entry]
    while queue and not rest.late():
        each = queue.pop()
        with suppress(OSError):
            found = each.stat(follow_symlinks=False)
            if found.st_dev != device:
                continue
            usage.size += found.st_blocks * 512
            usage.files += 1
            if each.is_dir(follow_symlinks=False):
                with os.scandir(each.path) as below:
                    queue += rest.limit(below)
    return usage
