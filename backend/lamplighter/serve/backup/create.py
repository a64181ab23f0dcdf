"""Backups: the database, the session files and the user's files, tested by a restore."""

import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from lamplighter import __version__, clock
from lamplighter.config.settings import LEXICON, Settings, describe_settings
from lamplighter.domain.actions.halt import FILE as HALT
from lamplighter.domain.errors import Busy, Unavailable
from lamplighter.domain.notebook.place import SECTIONS
from lamplighter.engines.line_times import SUFFIX
from lamplighter.notebook import tree
from lamplighter.repository.store import database, driver
from lamplighter.repository.store.database import is_postgres
from lamplighter.repository.upkeep import copies, migrate
from lamplighter.serve import database_file, file_replacement, home, home_lock
from lamplighter.serve.backup import manifest
from lamplighter.serve.push.keys import FILE as PUSH_KEY
from lamplighter.supervisor.run.files import blocks

DATABASE: Final = "database"
SETTINGS: Final = "settings.json"
SERVICES: Final = "services.yaml"
NOTEBOOK: Final = tree.DIRECTORY
DIRECTORY: Final = "backups"
LOCK: Final = ".lock"
GENERATED: Final = f"{manifest.NAME}{'[0-9]' * 8}T{'[0-9]' * 12}Z"
"""The pattern of the names that backups get; a person's copies have other names."""
INTERRUPTED: Final = "The backup was interrupted. No backup was created. Run the command again."
REMOVAL_INTERRUPTED: Final = "the removal was interrupted"
BUSY: Final = "Another backup is running in {}. Try again when it has finished."


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup that was made, and the older ones that were removed for it.

    `not_removed` has the old and partial backups that could not be removed, and the reasons.
    """

    path: Path
    manifest: manifest.Manifest
    bytes: int
    removed: tuple[Path, ...]
    not_removed: dict[Path, str]


def make(settings: Settings, directory: Path | None, *, keep: int) -> Backup:
    """Create a backup in a directory, test its restore, and keep the newest `keep` backups.

    Raises Unavailable if there is no data to back up, and Damaged if the test fails.
    """
    os.umask(0o077)
    directory = directory or settings.home / DIRECTORY
    with translate_errors(settings, directory):
        return _back_up(settings, directory, keep)


@contextmanager
def translate_errors(settings: Settings, to: Path) -> Iterator[None]:
    """Translate errors of the database or the disk to Unavailable; `to` is what is written."""
    try:
        yield
    except Busy as error:  # its exit status would claim that something was created or restored
        raise Unavailable(str(error)) from error
    except driver.Error as error:
        if driver.disk_is_full(error) and not is_postgres(settings.database_url):
            raise Unavailable(f"{to} cannot be used: {error}.") from error
        raise Unavailable(str(migrate.cannot_use(settings.database_url, error))) from error
    except OSError as error:
        where = error.filename2 or error.filename or to  # of a copy: its target
        raise Unavailable(f"{where} cannot be used: {error.strerror}.") from error


@contextmanager
def interruption(message: str) -> Iterator[None]:
    """Translate Ctrl-C, and SIGTERM to a command, to Unavailable: its status names the outcome."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise Unavailable(message) from error


def _back_up(settings: Settings, directory: Path, keep: int) -> Backup:
    if file_replacement.is_interrupted(settings.home):
        file_replacement.settle(settings)
    database_file.refuse_lost_database(settings)
    if not settings.home.is_dir() or migrate.revision_of(settings.database_url) is None:
        raise Unavailable(f"There is nothing to back up: {settings.home} has no database yet.")
    with (
        home_lock.shared(settings.home),
        _kept_if_used(directory),
        home_lock.temporary(directory / LOCK, BUSY.format(directory)),
    ):
        stale = _remove(sorted(directory.glob(f"{manifest.PARTIAL}{GENERATED}")))
        name = f"{manifest.NAME}{clock.now():%Y%m%dT%H%M%S%fZ}"
        partial = _partial(directory / name)
        with interruption(INTERRUPTED):
            try:
                made = _make(settings, partial)
            except BaseException:
                shutil.rmtree(partial, ignore_errors=True)
                raise
        path = directory / name
        os.rename(partial, path)
        old = _oldest(path, made.home, keep)
        try:
            manifest.flush(path)
            remaining = _remove(old)
        except KeyboardInterrupt:  # the backup itself is created
            both = (*old, *map(_partial, old))
            remaining = {each: REMOVAL_INTERRUPTED for each in both if each.exists()}
    size = sum(each.stat().st_size for each in path.rglob("*") if each.is_file())
    removed = tuple(each for each in old if not {each, _partial(each)} & remaining.keys())
    return Backup(path, made, size, removed, stale | remaining)


@contextmanager
def _kept_if_used(directory: Path) -> Iterator[None]:
    """Create a directory; if it is new and this context fails, remove it again."""
    new = not directory.exists()
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        yield
    except BaseException:
        if new:
            with suppress(OSError):
                directory.rmdir()
        raise


def _make(settings: Settings, partial: Path) -> manifest.Manifest:
    (partial / DATABASE).mkdir(parents=True)
    copier = copies.copier(settings.database_url)
    copied = copier.copy(partial / DATABASE)
    # after the database: output that it counts as ingested is then in the copy
    _copy_sessions(settings, partial / home.SESSIONS)
    _copy_written(settings, partial)
    _copy_notebook(settings, partial / NOTEBOOK)
    copier.prove(partial / DATABASE, copied)
    identity = home.identity(settings)
    mark = database.HighWater(settings.home / database.FILE).read()
    made = manifest.describe(
        partial,
        lamplighter=__version__,
        made_at=f"{clock.now():%Y-%m-%dT%H:%M:%SZ}",
        home=identity.id,
        host=identity.host,
        database=replace(copied, last_session=max(mark, copied.last_session)),
    )
    manifest.write(partial, made)
    manifest.flush(partial)
    return made


def _copy_sessions(settings: Settings, to: Path) -> None:
    to.mkdir()
    masked = home.secrets(settings).masked
    for path in sorted((settings.home / home.SESSIONS).glob("*.*")):
        if path.suffix not in (".jsonl", ".err", SUFFIX) or not path.is_file():
            continue
        with suppress(FileNotFoundError):  # removed meanwhile
            _copy_output(path, to / path.name, masked)


def _copy_output(path: Path, to: Path, masked: Callable[[bytes], bytes]) -> None:
    """Copy session output, and mask its secrets if its own session has not done so yet."""
    # before opening the file: a session's directory is removed when its files are masked
    is_masked = not path.with_suffix("").is_dir()
    with path.open("rb") as source, to.open("wb") as target:
        if is_masked:
            shutil.copyfileobj(source, target)
        else:
            growing = _is_growing(path.with_suffix(".jsonl"))
            target.writelines(map(masked, blocks(source, growing=growing)))


def _is_growing(output: Path) -> bool:
    """Whether a session is at work: the process that runs it has locked its output."""
    if not output.exists():
        return False
    with output.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _copy_written(settings: Settings, to: Path) -> None:
    for path, name in user_files(settings):
        if path.is_file():
            shutil.copyfile(path, to / name)
    (to / SETTINGS).write_text(json.dumps(describe_settings(settings), indent=1))


def _copy_notebook(settings: Settings, to: Path) -> None:
    """Copy the pages of the notebook; links are left out."""
    to.mkdir()
    root = settings.home / NOTEBOOK
    for directory in (root, *(root / each for each in SECTIONS)):
        if directory.is_symlink() or root.is_symlink() or not directory.is_dir():
            continue
        for path in sorted(directory.iterdir()):
            if path.is_file() and not path.is_symlink() and not path.name.startswith("."):
                target = to / path.relative_to(root)
                target.parent.mkdir(exist_ok=True)
                shutil.copyfile(path, target, follow_symlinks=False)


def user_files(settings: Settings) -> Iterator[tuple[Path, str]]:
    """Yield the files beside the database, and their names in a backup."""
    yield settings.services, SERVICES
    yield settings.lexicon, LEXICON
    yield settings.home / HALT, HALT
    yield settings.home / PUSH_KEY, PUSH_KEY  # subscribed devices accept no other key


def _oldest(newest: Path, identity: str, keep: int) -> list[Path]:
    """Return the oldest complete backups of a home, beyond `keep`, without a person's copies."""
    whole = []
    for path in sorted(newest.parent.glob(GENERATED), reverse=True):
        try:
            ours = path != newest and not path.is_symlink()  # the clock may have been set back
            if ours and manifest.read(path).home == identity:
                whole.append(path)
        except Unavailable:
            continue  # not a backup of this home
    return whole[keep - 1 :]


def _remove(backups: list[Path]) -> dict[Path, str]:
    """Remove old and partial backups; return those that cannot be removed, and the reasons."""
    remaining = {}
    for path in backups:
        partial = _partial(path)
        try:
            os.rename(path, partial)  # a partly deleted backup must not look complete
            shutil.rmtree(partial)
        except OSError as error:
            remaining[path if path.exists() else partial] = error.strerror or repr(error)
    return remaining


def _partial(path: Path) -> Path:
    """Return the path of a backup while it is incomplete."""
    return path.with_name(f"{manifest.PARTIAL}{path.name.removeprefix(manifest.PARTIAL)}")
