"""The basis of every fault test: a home, its real processes, and a small disk that can fail."""

import errno
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
from homes import NO_SERVICES, Home

import living

SMALL_BYTES = 12 * 2**20
PIECE_BYTES = 65_536


@contextmanager
def home_at(path: Path) -> Iterator[Home]:
    """Yield a home with no services; all processes started on it end."""
    path.mkdir(parents=True)
    (path / "services.yaml").write_text(NO_SERVICES)
    home = Home(path, living.Home(path).env | {"LAMPLIGHTER_INTERVAL": "1h"})
    yield home
    for process in home.started:
        process.kill()
        process.wait()
    assert home.until(lambda: not home.left_over())


@contextmanager
def serving(home: Home) -> Iterator[living.Server]:
    """Yield a real web process on a home."""
    server = living.Server(living.Home(home.path))
    try:
        yield server
    finally:
        server.kill()


def client(server: living.Server, seconds: float = 30) -> httpx2.Client:
    """Return a client that is authorized for everything."""
    headers = getattr(server, "headers", {})
    return httpx2.Client(base_url=server.url, headers=headers, timeout=seconds)


def remembered(asking: httpx2.Client, observation: str) -> httpx2.Response:
    """Request the storage of a memory."""
    body = {"category": "timing", "service": "jellyfin", "observation": observation}
    return asking.post("/api/v1/memories", json=body)


@dataclass
class SmallDisk:
    """A separate disk in memory."""

    path: Path

    def mount(self) -> None:
        size = f"size={SMALL_BYTES}"
        self._run("mount", "-t", "tmpfs", "-o", size, "tmpfs", str(self.path))

    def read_only(self, *, on: bool) -> None:
        self._run(
            "mount", "-o", f"remount,{'ro' if on else 'rw'},size={SMALL_BYTES}", str(self.path)
        )

    def fill(self, name: str = "ballast") -> None:
        """Fill the remaining space."""
        for size in (PIECE_BYTES, 512):
            try:
                with (self.path / name).open("ab", buffering=0) as ballast:
                    while ballast.write(b"x" * size) == size:
                        pass
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise

    def free(self, name: str = "ballast") -> None:
        (self.path / name).unlink()

    def unmount(self) -> None:
        self._run("umount", str(self.path))

    def _run(self, *words: str) -> None:
        subprocess.run(words, check=True, capture_output=True, timeout=30)


@contextmanager
def mounted(path: Path) -> Iterator[SmallDisk]:
    """Mount a small disk at a directory; the test is skipped if mounting is not permitted."""
    found = SmallDisk(path)
    try:
        found.mount()
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"no small disk can be mounted here: {error}")
    try:
        yield found
    finally:
        found.unmount()
