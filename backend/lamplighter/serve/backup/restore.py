"""Restore a backup: the home ends in the state of the backup, or stays unchanged."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import uuid4

from lamplighter import clock
from lamplighter.config.settings import Settings
from lamplighter.domain.actions.halt import FILE as HALT
from lamplighter.domain.errors import Unavailable
from lamplighter.domain.notebook.index import INDEX_START, RESTORED_START
from lamplighter.domain.notebook.place import INDEX
from lamplighter.notebook.unrecorded import WRITING
from lamplighter.repository.store import database as numbers
from lamplighter.repository.store import driver
from lamplighter.repository.store.database import display_address, file_of, is_postgres, sqlite_url
from lamplighter.repository.upkeep import copies, migrate
from lamplighter.serve import file_replacement, home, home_lock
from lamplighter.serve.backup import create, manifest
from lamplighter.serve.backup.manifest import Manifest
from lamplighter.serve.file_replacement import Replacement
from lamplighter.supervisor.lease import SUFFIX

HOME_NOT_EMPTY: Final = (
    "{} contains data. Restore into an empty home, or pass --replace to move the old data aside."
)
OTHER_DATABASE_KIND: Final = (
    "The backup contains a {} database, but LAMPLIGHTER_DATABASE_URL names a {} database. "
    "Set it to a database of the same kind."
)
INTERRUPTED: Final = (
    "The restore into {} was interrupted: {}. Start PostgreSQL again. The next command or process "
    "that starts completes or undoes the restore."
)
STOPPED: Final = "The restore was interrupted. Nothing was changed. Run the command again."
STOPPED_HALFWAY: Final = (
    "The restore was interrupted while it replaced the data. The next command or process that "
    "starts completes or undoes the restore."
)

Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Restored:
    """The restored files, and the directory of the replaced ones; None if there were none."""

    manifest: Manifest
    revision: str
    replaced: Path | None


def restore(settings: Settings, path: Path, *, replace: bool, report: Report) -> Restored:
    """Restore a backup into the home and its database; raises Unavailable if that is impossible."""
    os.umask(0o077)
    try:
        with create.translate_errors(settings, settings.home):
            return _restore(settings, path, replace=replace, report=report)
    except copies.DamagedCopy as error:
        raise Unavailable(f"The backup is damaged: {error}. Use another backup.") from error


def _restore(settings: Settings, path: Path, *, replace: bool, report: Report) -> Restored:
    with create.interruption(STOPPED):
        made = manifest.read(path)
        manifest.check(path, made)
    files = "1 file" if len(made.files) == 1 else f"{len(made.files):,} files"
    report(f"Backup of {made.made_at} is complete: {files}.")
    _check_kind(settings, made)
    settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    if file_replacement.is_interrupted(settings.home):
        completed = file_replacement.settle(settings)
        report(f"{'Completed' if completed else 'Undid'} the interrupted restore of this home.")
    with _lock_home(settings):
        in_use = [str(each) for each in _existing_files(settings)]
        if in_use and not replace:
            raise Unavailable(HOME_NOT_EMPTY.format(in_use[0]))
        with create.interruption(STOPPED):
            replacement = _stage(settings, path, made)
        with create.interruption(STOPPED_HALFWAY):
            _replace(settings, path, made, replacement)
    report("Restored. Start Lamplighter as usual.")
    aside = settings.home / replacement.replaced
    return Restored(made, migrate.newest_revision(), aside if aside.exists() else None)


def _stage(settings: Settings, path: Path, made: Manifest) -> Replacement:
    """Stage the new files; if that fails, remove them again."""
    stage = settings.home / file_replacement.STAGE
    shutil.rmtree(stage, ignore_errors=True)
    try:
        return _stage_files(settings, path, made)
    except BaseException:
        shutil.rmtree(stage, ignore_errors=True)
        raise


def _replace(settings: Settings, path: Path, made: Manifest, replacement: Replacement) -> None:
    file_replacement.begin(settings.home, replacement)
    try:
        _load(settings, path, made, replacement)
    except Exception as error:
        if not _is_completed(settings, replacement, error):
            raise
    else:
        file_replacement.finish(settings.home, replacement)


def _is_completed(settings: Settings, replacement: Replacement, error: Exception) -> bool:
    """Complete a restore whose rows were committed despite an error; return whether they were."""
    try:
        return file_replacement.resolve(settings, replacement)
    except driver.Error as lost:
        place = display_address(settings.database_url)
        raise Unavailable(INTERRUPTED.format(place, error)) from lost


def _check_kind(settings: Settings, made: Manifest) -> None:
    kind = copies.copier(settings.database_url).kind
    if made.database.kind != kind:
        raise Unavailable(OTHER_DATABASE_KIND.format(made.database.kind, kind))
    if made.database.revision > migrate.newest_revision():
        raise Unavailable(
            f"The backup was made by a newer Lamplighter ({made.lamplighter}). "
            "Install that version to restore it."
        )


@contextmanager
def _lock_home(settings: Settings) -> Iterator[None]:
    """Lock the home and its database; raises Unavailable naming the process that uses them."""
    with ExitStack() as locks:
        locks.enter_context(home_lock.exclusive(settings.home))
        url = settings.database_url
        if is_postgres(url):
            from lamplighter.repository.upkeep import copies_postgres

            if copies_postgres.used_by_others(url):
                raise Unavailable(copies_postgres.IN_USE.format(display_address(url)))
        else:
            path = file_of(url)
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = path.with_name(f"{path.name}{SUFFIX}")
            locks.enter_context(home_lock.alone(lock, home_lock.IN_USE.format(path)))
        yield


def _existing_files(settings: Settings) -> Iterator[Path | str]:
    """Yield the existing files that a restore would replace."""
    if is_postgres(settings.database_url):
        if migrate.revision_of(settings.database_url) is not None:
            yield f"The database {display_address(settings.database_url)}"
    elif file_of(settings.database_url).exists():
        yield file_of(settings.database_url)
    if any((settings.home / home.SESSIONS).glob("*")):
        yield settings.home / home.SESSIONS


def _stage_files(settings: Settings, path: Path, made: Manifest) -> Replacement:
    """Stage the new version of every file beside its place; migrate and check the database."""
    places: dict[str, str] = {}
    gone = [str(settings.home / WRITING)]  # names pages that are replaced here

    def place(target: Path) -> Path:
        source = file_replacement.staging_path(target)
        places[str(source)] = str(target)
        return source

    if not is_postgres(settings.database_url):
        database = place(file_of(settings.database_url))
        shutil.copyfile(path / create.DATABASE / copies.FILE, database)
        migrate.upgrade(sqlite_url(database))
        copies.check(database)
    _copy_directory(path / home.SESSIONS, place(settings.home / home.SESSIONS))
    notebook = settings.home / create.NOTEBOOK
    if (path / create.NOTEBOOK).is_dir():
        _copy_directory(path / create.NOTEBOOK, place(notebook))
        _mark_index(file_replacement.staging_path(notebook) / f"{INDEX}.md")
    else:
        gone.append(str(notebook))  # its pages describe other memories
    for target, name in create.user_files(settings):
        if (path / name).is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path / name, place(target))
        elif name != HALT:  # a halt stays in effect
            gone.append(str(target))
    mark = numbers.HighWater(settings.home / numbers.FILE).read()
    replaced = copies.copier(settings.database_url).last_session()
    highest = max(mark, made.database.last_session, replaced)
    numbers.HighWater(place(settings.home / numbers.FILE)).note(highest)
    name = f"replaced-{clock.now():%Y%m%dT%H%M%S%fZ}"
    return Replacement(replaced=name, note=f"restore {uuid4().hex}", places=places, gone=gone)


def _copy_directory(source: Path, to: Path) -> None:
    """Copy a directory; unlike that of `shutil.copytree`, the first error names its file."""
    to.mkdir()
    for path in source.iterdir():
        if path.is_dir() and not path.is_symlink():
            _copy_directory(path, to / path.name)
        else:
            shutil.copy2(path, to / path.name, follow_symlinks=False)


def _mark_index(path: Path) -> None:
    """Mark the index as restored: it may be newer than the rows, and is written again."""
    text = path.read_bytes() if path.is_file() else b""
    if text.startswith(INDEX_START.encode()):
        path.write_bytes(text.replace(INDEX_START.encode(), RESTORED_START.encode(), 1))


def _load(settings: Settings, path: Path, made: Manifest, replacement: Replacement) -> None:
    """Load the rows into PostgreSQL; a SQLite file is restored like other files."""
    url, revision = settings.database_url, made.database.revision
    if is_postgres(url):
        from lamplighter.repository.upkeep import copies_postgres

        copies_postgres.replace(url, path / create.DATABASE, revision, replacement.note)
