"""Replace old files by restored ones: all or none, even if the process is killed.

New files are staged beside their places. The journal in the home is the point of no return: with a
journal, this or the next process finishes the replacement; without one, the old files remain.
"""

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from lamplighter.config.settings import Settings
from lamplighter.repository.store.database import is_postgres
from lamplighter.serve import home_lock
from lamplighter.serve.home_lock import JOURNAL

STAGE: Final = ".restore"
_BESIDE: Final = ("-wal", "-shm", "-journal")


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """The replacement: staged files by their places, and the files to remove.

    `note` identifies the restored PostgreSQL database after its commit.
    """

    replaced: str
    note: str = ""
    places: dict[str, str] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)


def staging_path(target: Path) -> Path:
    """Return the path where the new version of a file or directory is staged."""
    staging = target.parent / STAGE
    staging.mkdir(mode=0o700, parents=True, exist_ok=True)
    return staging / target.name


def is_interrupted(home: Path) -> bool:
    """Whether a restore of a home passed its point of no return and did not end."""
    return (home / JOURNAL).exists()


def begin(home: Path, replacement: Replacement) -> None:
    """Pass the point of no return (on PostgreSQL it is the commit that follows)."""
    for each in replacement.places:
        _flush(Path(each))
    written = staging_path(home / JOURNAL)
    written.write_text(json.dumps(asdict(replacement)))
    _flush(written)
    os.replace(written, home / JOURNAL)
    _flush(home)


def settle(settings: Settings) -> bool:
    """Finish an interrupted restore; if its rows are not committed, undo it and return False."""
    with home_lock.exclusive(settings.home):
        return resolve(settings, Replacement(**json.loads((settings.home / JOURNAL).read_text())))


def resolve(settings: Settings, replacement: Replacement) -> bool:
    """Finish a restore whose rows are committed and undo any other; return whether they are."""
    committed = _is_committed(settings, replacement)
    (finish if committed else undo)(settings.home, replacement)
    return committed


def finish(home: Path, replacement: Replacement) -> None:
    """Move everything to its place; existing files stay."""
    for each in replacement.gone:
        _move_aside(Path(each), replacement.replaced)
    for source, target in replacement.places.items():
        if not Path(source).exists():
            continue  # already in place
        for old in (target, *(f"{target}{end}" for end in _BESIDE)):
            _move_aside(Path(old), replacement.replaced)
        os.replace(source, target)
        _flush(Path(target).parent)
    undo(home, replacement)


def undo(home: Path, replacement: Replacement) -> None:
    """Remove the journal and the staged files."""
    (home / JOURNAL).unlink(missing_ok=True)
    _flush(home)
    for staging in {home / STAGE, *(Path(each).parent for each in replacement.places)}:
        shutil.rmtree(staging, ignore_errors=True)


def _is_committed(settings: Settings, replacement: Replacement) -> bool:
    if not is_postgres(settings.database_url):
        return True
    from lamplighter.repository.upkeep import copies_postgres

    return copies_postgres.note_of(settings.database_url) == replacement.note


def _move_aside(path: Path, replaced: str) -> None:
    if path.exists():
        aside = path.parent / replaced
        aside.mkdir(mode=0o700, exist_ok=True)
        os.replace(path, aside / path.name)


def _flush(path: Path) -> None:
    """Flush a file, or a directory with its files, to the disk, to survive a loss of power."""
    for each in (path, *_below(path)):
        file = os.open(each, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(file)
        finally:
            os.close(file)


def _below(path: Path) -> Iterator[Path]:
    if path.is_dir() and path.parent.name == STAGE:
        yield from path.rglob("*")
