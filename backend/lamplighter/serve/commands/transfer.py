"""Exports and imports for the command line: with or without a running server."""

import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import IO, Final

from lamplighter import clock
from lamplighter.config.settings import Settings
from lamplighter.domain.errors import Busy, Invalid, InvalidField, LamplighterError, Unavailable
from lamplighter.domain.memory.memory import OPERATIONS
from lamplighter.domain.text import is_utf8
from lamplighter.formats import markdown_notes, native_export, third_party_export
from lamplighter.formats.import_records import ImportRecord
from lamplighter.formats.json_items import MAX_ITEM_CHARS, JsonItem, JsonItemError, JsonItemReader
from lamplighter.repository import Database
from lamplighter.repository.store.driver import OperationalError, UnconfirmedCommit
from lamplighter.serve import home
from lamplighter.usecases.clients.exports import ExportFormat, ExportTotals, export
from lamplighter.usecases.clients.imports import Fault, Importing, LocatedRecord
from lamplighter.usecases.outages import describe_outage, outage_reason

STANDARD: Final = "-"
NOTES: Final = (".md", ".markdown")
CHUNK_BYTES: Final = 64 * 1024
AT_ONCE: Final = 1_000

Step = Callable[[int, int], object]


class ImportFormat(StrEnum):
    """Formats that can be imported."""

    AUTO = "auto"
    LAMPLIGHTER = "lamplighter"
    AGENTOPS = "agentops"
    ENGRAM = "engram"
    MARKDOWN = "markdown"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """The records to import, and the options; `project` is for records that name none."""

    path: str
    kind: ImportFormat = ImportFormat.AUTO
    project: str = OPERATIONS
    by_section: bool = False
    dry: bool = False
    strict: bool = False


class InterruptedImport(Busy):
    """An import ended early; what it had stored remains, and if `uncertain` it may be more."""

    def __init__(self, reason: str, done: Importing, *, uncertain: bool) -> None:
        super().__init__(reason)
        self.done, self.uncertain = done, uncertain


def write_export(
    settings: Settings, form: ExportFormat, output: Path | None, *, project: str | None, step: Step
) -> ExportTotals:
    """Write an export to a file, whole or not at all, or (None) to standard output.

    A device or a pipe is written to, and never replaced by a file.
    """

    async def ask(db: Database) -> ExportTotals:
        with _output(output) as file:
            return await export(db, form, file.write, project=project, step=step, now=clock.now())

    try:
        return home.run(settings, ask)
    except OSError as error:
        if output is None and error.errno == errno.EPIPE:
            raise  # its reader has read enough
        raise Unavailable(f"Cannot write {output or 'the output'}: {error.strerror}") from error


@contextmanager
def _output(path: Path | None) -> Iterator[IO[str]]:
    if path is None:
        if sys.stdout is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        yield sys.stdout
        sys.stdout.flush()
    elif path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    elif path.exists() and not path.is_file():
        with path.open("w", encoding="utf-8") as file:
            yield file
    else:
        with _new_file(path.resolve()) as file:
            yield file


@contextmanager
def _new_file(path: Path) -> Iterator[IO[str]]:
    """Open a new version of a file, which replaces the file if this context ends well."""
    new = path.with_name(f".export-{os.getpid()}")
    try:
        with _open_file(new) as file:
            yield file
        new.replace(path)
    finally:
        with suppress(OSError):
            new.unlink()


def import_file(settings: Settings, options: ImportOptions, *, step: Step) -> Importing:
    """Import the selected file; raises Invalid when it cannot be read at all."""
    redact = home.secrets(settings)
    with tempfile.TemporaryDirectory() as directory:
        path = _rereadable(options.path, Path(directory))
        origin = "standard input" if options.path == STANDARD else Path(options.path).name

        async def ask(db: Database) -> Importing:
            done = Importing(db, redact, clock.now(), origin=origin, dry=options.dry)
            if options.strict and not options.dry:
                tried = Importing(db, redact, clock.now(), origin=origin, dry=True)
                await _import_records(tried, path, options, lambda done, total: None)
                if tried.faults:
                    return tried
            try:
                await _import_records(done, path, options, step)
            except (OperationalError, TimeoutError) as error:
                raise _interrupted(done, error, outage_reason(error)) from error
            except OSError as error:
                raise _interrupted(done, error, str(_unreadable(path, error))) from error
            return done

        try:
            return home.run(settings, ask)
        except OSError as error:
            raise _unreadable(path, error) from error


def _interrupted(done: Importing, error: Exception, reason: str) -> LamplighterError:
    """Return the error of an import that ended early."""
    uncertain = isinstance(error, UnconfirmedCommit)
    if done.act is not None or uncertain:
        return InterruptedImport(reason, done, uncertain=uncertain)
    lost = isinstance(error, OperationalError | TimeoutError)
    return Busy(describe_outage(error)) if lost else Unavailable(reason)


async def _import_records(
    importing: Importing, path: Path, options: ImportOptions, step: Step
) -> None:
    some: list[LocatedRecord] = []
    for found in _read(path, options, step):
        if isinstance(found, Fault):
            importing.faults.append(found)
            continue
        some.append(found)
        if len(some) >= AT_ONCE:
            await importing.take(some)
            some = []
    await importing.take(some)


def _read(path: Path, options: ImportOptions, step: Step) -> Iterator[LocatedRecord | Fault]:
    kind = _kind(path) if options.kind is ImportFormat.AUTO else options.kind
    match kind:
        case ImportFormat.MARKDOWN:
            yield from _notes(path, options, step)
        case ImportFormat.LAMPLIGHTER:
            yield from _lines(path, step)
        case _:
            yield from _document(path, options, step)


def _kind(path: Path) -> ImportFormat:
    if path.is_dir() or path.suffix.lower() in NOTES:
        return ImportFormat.MARKDOWN
    with _text(path) as file:
        first = file.readline(CHUNK_BYTES)
    if native_export.is_header(first):
        return ImportFormat.LAMPLIGHTER
    if first.lstrip().startswith("{") or not first.strip():
        return ImportFormat.AGENTOPS
    said = "is neither an export nor Markdown; set its format with --format"
    raise Invalid(InvalidField(str(path), said))


def _lines(path: Path, step: Step) -> Iterator[LocatedRecord | Fault]:
    total, done = path.stat().st_size, 0
    with _text(path) as file:
        number = 0
        while line := file.readline(MAX_ITEM_CHARS):
            number += 1
            done += len(line.encode("utf-8", "replace"))
            step(done, total)
            if line.strip():
                yield from _place_record(f"line {number}", partial(native_export.parse_line, line))


def _document(path: Path, options: ImportOptions, step: Step) -> Iterator[LocatedRecord | Fault]:
    total, done, items = path.stat().st_size, 0, JsonItemReader()
    with _text(path) as file:
        try:
            while piece := file.read(CHUNK_BYTES):
                done += len(piece.encode("utf-8", "replace"))
                step(done, total)
                yield from _rows(items.feed(piece), options.project)
            yield from _rows(items.close(), options.project)
            if third_party_export.LISTS.isdisjoint(items.names):
                yield Fault(
                    path.name,
                    f"is not an export: it has no {', '.join(sorted(third_party_export.LISTS))}",
                )
        except JsonItemError as error:
            yield Fault(path.name, f"{error}; the rest was not read")


def _rows(items: Iterator[JsonItem], project: str) -> Iterator[LocatedRecord | Fault]:
    for item in items:
        if item.index is not None:
            read = partial(third_party_export.parse_row, item.name, item.value, project)
            yield from _place_record(f"{item.name} {item.index}", read)


def _place_record(
    place: str, read: Callable[[], ImportRecord | None]
) -> Iterator[LocatedRecord | Fault]:
    try:
        found = read()
    except Invalid as error:
        yield Fault(place, str(error))
        return
    if found is not None:
        yield LocatedRecord(place, found)


def _notes(path: Path, options: ImportOptions, step: Step) -> Iterator[LocatedRecord | Fault]:
    files = list(_files(path)) if path.is_dir() else [path]
    root = path.resolve() if path.is_dir() else None
    for done, file in enumerate(files, 1):
        name = file.relative_to(path).as_posix() if path.is_dir() else file.name
        try:
            place, text = _read_note(file, root)
        except UnicodeDecodeError:
            yield Fault(name, "is not UTF-8")
        except (OSError, ValueError) as error:
            yield Fault(name, str(error))
        else:
            for found in markdown_notes.parse_note(
                text, name, place=place, project=options.project, by_section=options.by_section
            ):
                yield LocatedRecord(found.candidate.source_ref or name, found)
        step(done, len(files))


def _read_note(file: Path, root: Path | None) -> tuple[str, str]:
    """Return the place and the text of a note; raises OSError, ValueError."""
    place = file.resolve()
    if root is not None and not place.is_relative_to(root):
        raise ValueError("is a link out of the directory; import the file itself")
    if not is_utf8(str(place)):
        raise ValueError("has a path that is not UTF-8")
    if file.stat().st_size > MAX_ITEM_CHARS:
        raise ValueError(f"is larger than {MAX_ITEM_CHARS:,} bytes")
    return place.as_posix(), file.read_text(encoding="utf-8-sig")


def _files(path: Path) -> Iterator[Path]:
    """Return the notes below a directory in the order of their names, but hidden ones."""
    for directory, below, names in os.walk(path):
        below[:] = sorted(each for each in below if not each.startswith("."))
        for name in sorted(names):
            file = Path(directory, name)
            if file.suffix.lower() in NOTES and not name.startswith(".") and file.is_file():
                yield file


def _rereadable(path: str, directory: Path) -> Path:
    """Return a file that can be read twice: input from a pipe is stored meanwhile."""
    source = Path(path)
    if path != STANDARD and not (path and source.exists()):
        raise Invalid(InvalidField(path or "the path", "does not exist"))
    if path != STANDARD and (source.is_dir() or source.is_file()):
        return source
    stored = directory / "import"
    with stored.open("wb") as file:
        if path == STANDARD:
            shutil.copyfileobj(sys.stdin.buffer, file)
        else:
            with source.open("rb") as pipe:
                shutil.copyfileobj(pipe, file)
    return stored


def _text(path: Path) -> IO[str]:
    try:
        return path.open(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise _unreadable(path, error) from error


def _open_file(path: Path) -> IO[str]:
    return os.fdopen(
        os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
    )


def _unreadable(path: Path, error: OSError) -> Unavailable:
    return Unavailable(f"Cannot read {path}: {error.strerror}")
