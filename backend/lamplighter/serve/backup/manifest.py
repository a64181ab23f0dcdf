"""The manifest of a backup: its content, with the hash of each file."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import file_digest
from pathlib import Path
from typing import Any, Final

import msgspec

from lamplighter.domain.errors import Unavailable
from lamplighter.repository.upkeep.copies import CopyContents

FILE: Final = "manifest.json"
FORMAT: Final = 1
PARTIAL: Final = ".partial-"
NAME: Final = "lamplighter-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The contents of a backup: `files` are hashes by path; `home` is the identity of its home."""

    lamplighter: str
    made_at: str
    home: str
    host: str
    database: CopyContents
    files: Mapping[str, str]
    format: int = FORMAT


def describe(directory: Path, **about: Any) -> Manifest:
    """Return the manifest of a directory."""
    paths = sorted(path for path in directory.rglob("*") if path.is_file())
    hashes = {str(path.relative_to(directory)): hash_of(path) for path in paths}
    return Manifest(files=hashes, **about)


def write(directory: Path, manifest: Manifest) -> None:
    """Write a manifest into the directory it describes."""
    (directory / FILE).write_text(json.dumps(asdict(manifest), indent=1))


def read(directory: Path) -> Manifest:
    """Return the manifest of a whole backup; raises Unavailable for anything else."""
    try:
        values = json.loads((directory / FILE).read_text())
        if values["format"] != FORMAT:
            raise Unavailable(
                f"{directory} was made by a newer Lamplighter ({values['lamplighter']}). "
                "Install that version to restore it."
            )
        manifest = msgspec.convert(values, Manifest)
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise Unavailable(
            f"{directory} is not a complete backup: it contains no valid {FILE}."
        ) from error
    if directory.name.startswith(PARTIAL):
        raise Unavailable(f"{directory} is not a complete backup: it was never finished.")
    return manifest


def check(directory: Path, manifest: Manifest) -> None:
    """Compare every file with its hash; raises Unavailable naming the first that differs."""
    for name, digest in manifest.files.items():
        path = directory / name
        if not path.is_file():
            raise Unavailable(f"The backup is damaged: {path} is missing. Use another backup.")
        if hash_of(path) != digest:
            raise Unavailable(f"The backup is damaged: {path} has changed. Use another backup.")


def hash_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def flush(directory: Path) -> None:
    """Flush a directory with its files to the disk, to survive a loss of power."""
    for path in (*directory.rglob("*"), directory, directory.parent):
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(file)
        finally:
            os.close(file)
