"""The Claude CLI on this machine: its path, its version, and its problems."""

import importlib.util
import os
import re
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from lamplighter.engines import InstalledProgram
from lamplighter.engines.claude import environment

PROGRAM: Final = "claude"
MIN_VERSION: Final = (2, 1, 197)
"""The oldest version that supports everything the engine needs."""

VERSION_SECONDS: Final = 10.0
RETRY_SECONDS: Final = 60.0
INSTALL_HINT: Final = (
    "Install it (`pip install 'lamplighter[claude]'`, or npm), or set LAMPLIGHTER_CLAUDE_BIN."
)
_VERSION: Final = re.compile(r"(\d+)\.(\d+)\.(\d+)")


def find_binary(path: str, environ: Mapping[str, str]) -> InstalledProgram | str:
    """Return the CLI that is configured, on PATH or part of the extra; else why there is none."""
    place = _configured(path, environ) if path else _anywhere(environ)
    if place is None:
        if path:
            return (
                f"LAMPLIGHTER_CLAUDE_BIN names {path!r}, which was not found or is not executable."
            )
        return f"The Claude CLI was not found. {INSTALL_HINT}"
    try:
        seen = os.stat(place)
    except OSError as error:
        return f"The Claude CLI {place} cannot be read: {error.strerror}."
    return _VERSIONS.once(place, (seen.st_mtime_ns, seen.st_size))


def _configured(path: str, environ: Mapping[str, str]) -> str | None:
    return shutil.which(os.path.expanduser(path), path=environ.get("PATH"))


def _anywhere(environ: Mapping[str, str]) -> str | None:
    return shutil.which(PROGRAM, path=environ.get("PATH", os.defpath)) or _bundled()


def _bundled() -> str | None:
    """Return the CLI that the Python package brings, without importing the package."""
    spec = importlib.util.find_spec("claude_agent_sdk")
    if spec is None or spec.origin is None:
        return None
    return shutil.which(str(Path(spec.origin).parent / "_bundled" / PROGRAM))


class _VersionCache:
    """Versions of CLIs: cached until the file changes; failures for a minute."""

    def __init__(self) -> None:
        self._told: dict[str, tuple[tuple[int, int], float, InstalledProgram | str]] = {}

    def once(self, place: str, stamp: tuple[int, int]) -> InstalledProgram | str:
        """Return the version of a CLI; the CLI is run only if its version is not cached."""
        kept = self._told.get(place)
        if kept is not None and kept[0] == stamp:
            _, at, version = kept
            if isinstance(version, InstalledProgram) or time.monotonic() - at < RETRY_SECONDS:
                return version
        version = _read_version(place)
        self._told[place] = stamp, time.monotonic(), version
        return version


_VERSIONS: Final = _VersionCache()


def _read_version(place: str) -> InstalledProgram | str:
    try:
        answer = subprocess.run(
            [place, "--version"],
            env=environment.version_environment(os.environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=VERSION_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"The Claude CLI {place} printed no version within {VERSION_SECONDS:g} s."
    except OSError as error:
        return f"The Claude CLI {place} cannot be run: {error.strerror}."
    return _parse_version(place, answer)


def _parse_version(
    place: str, answer: "subprocess.CompletedProcess[bytes]"
) -> InstalledProgram | str:
    said = answer.stdout.decode("utf-8", "replace").strip()
    version = _VERSION.match(said)
    if answer.returncode != 0 or version is None:
        words = (said or answer.stderr.decode("utf-8", "replace")).strip().splitlines()
        last = f": {words[-1][:200]}" if words else ""
        return f"{place} is not a working Claude CLI (exit {answer.returncode}){last}."
    if tuple(map(int, version.groups())) < MIN_VERSION:
        oldest = ".".join(map(str, MIN_VERSION))
        return (
            f"The Claude CLI {place} is {version[0]}; {oldest} or newer is needed. {INSTALL_HINT}"
        )
    return InstalledProgram(place, version[0])
