"""A directory of memory files: PROJECT/SERVICE/NAME.md, read and written without following links.

Everything else in the directory (a README, `.git`) is left alone. The state of the directory and
the database at the last export or apply is stored in the home, one file per directory.
"""

import errno
import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeVar

from lamplighter.domain.errors import Unavailable
from lamplighter.domain.memory.memory import MemoryId
from lamplighter.notebook.tree import (
    ENDING,
    digest_of,
    is_file_name,
    read_all,
    refusal,
    remove_file,
    write_new,
)

T = TypeVar("T")
BASES: Final = "directories"
DEPTH: Final = 2
MAX_FILES: Final = 50_000
NAME_DIGITS: Final = 24
_OPEN: Final = os.O_CLOEXEC | os.O_NOFOLLOW
_DIRECTORY: Final = _OPEN | os.O_RDONLY | os.O_DIRECTORY
LINK: Final = "is a link; links are not followed"


@dataclass(slots=True)
class DirectoryScan:
    """The text of each file by its path, and the reason for each unreadable file."""

    files: dict[str, str] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BaseText:
    """A file as of the last export or apply: its memory and its text."""

    memory_id: MemoryId
    text: str


@dataclass(frozen=True, slots=True)
class ApplyAct:
    """The act of an apply. Its number alone is not unique: a rollback frees it."""

    id: int
    at: datetime


class MemoryDirectory:
    """The memory files below one directory, and their state at the last export or apply."""

    def __init__(self, root: Path, home: Path | None = None) -> None:
        self.root = root
        name = digest_of(os.fsencode(root.resolve()))[:NAME_DIGITS]
        self._base = None if home is None else home / BASES / f"{name}.json"

    @property
    def lock(self) -> Path:
        """The file to lock while the memory files and their stored state change."""
        assert self._base is not None
        with suppress(OSError):  # `write_base` reports it
            self._base.parent.mkdir(mode=0o700, exist_ok=True)
        return self._base.with_suffix(".lock")

    def scan(self) -> DirectoryScan:
        """Return every memory file; raises Unavailable if the directory cannot be read."""
        scan = DirectoryScan()
        try:
            root = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                self._scan_into(scan, root, "", 0)
            finally:
                os.close(root)
        except OSError as error:
            raise Unavailable(f"Cannot read {self.root}: {error.strerror}.") from error
        return scan

    def _scan_into(self, scan: DirectoryScan, directory: int, prefix: str, depth: int) -> None:
        for entry in sorted(os.listdir(directory)):
            path = f"{prefix}{entry}"
            if entry.startswith("."):
                continue
            if len(scan.files) >= MAX_FILES:
                scan.problems[prefix or "."] = f"has more than {MAX_FILES:,} files"
                return
            try:
                about = os.stat(entry, dir_fd=directory, follow_symlinks=False)
            except FileNotFoundError:
                continue  # removed after it was listed
            if stat.S_ISDIR(about.st_mode):
                self._scan_directory(scan, directory, path, depth)
            elif entry.endswith(ENDING) and depth:
                self._read(scan, directory, path, depth)
            elif stat.S_ISLNK(about.st_mode):
                scan.problems[path] = LINK

    def _scan_directory(self, scan: DirectoryScan, parent: int, path: str, depth: int) -> None:
        name = path.rpartition("/")[2]
        if not is_file_name(name):
            scan.problems[path] = "has a name that is not allowed"
            return
        if depth == DEPTH:
            return  # deeper files are not memories
        try:
            directory = os.open(name, _DIRECTORY, dir_fd=parent)
        except OSError as error:
            scan.problems[path] = _open_problem(error)
            return
        try:
            self._scan_into(scan, directory, f"{path}/", depth + 1)
        finally:
            os.close(directory)

    def _read(self, scan: DirectoryScan, directory: int, path: str, depth: int) -> None:
        name = path.rpartition("/")[2]
        if not is_file_name(name.removesuffix(ENDING)):
            scan.problems[path] = "has a name that is not allowed"
            return
        if depth != DEPTH:
            if name.lower() != "readme.md":
                scan.problems[path] = "is not in a directory of a service: PROJECT/SERVICE/NAME.md"
            return
        try:
            file = os.open(name, _OPEN | os.O_RDONLY | os.O_NONBLOCK, dir_fd=directory)
        except FileNotFoundError:
            return  # removed after it was listed
        except OSError as error:
            scan.problems[path] = _open_problem(error)
            return
        try:
            reason = refusal(os.fstat(file))
            content = b"" if reason else read_all(file)
        finally:
            os.close(file)
        try:
            scan.files[path] = content.decode()
        except UnicodeDecodeError:
            reason = "it is not UTF-8 text"
        if reason:
            scan.files.pop(path, None)
            scan.problems[path] = reason

    def write(self, path: str, text: str) -> None:
        """Write a whole file; raises Unavailable if the file cannot be written."""
        name = path.rpartition("/")[2]
        try:
            with self._opened(path) as directory:
                temporary = f".{name}.new"
                try:
                    write_new(temporary, text.encode("utf-8", "replace"), directory)
                    os.chmod(temporary, 0o644, dir_fd=directory)
                    os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
                except OSError:
                    remove_file(temporary, directory)
                    raise
        except OSError as error:
            raise Unavailable(f"Cannot write {path}: {error.strerror}.") from error

    def remove(self, path: str) -> None:
        """Remove a file; raises Unavailable if the file cannot be removed."""
        try:
            with suppress(FileNotFoundError), self._opened(path) as directory:
                remove_file(path.rpartition("/")[2], directory)
        except OSError as error:
            raise Unavailable(f"Cannot remove {path}: {error.strerror}.") from error

    @contextmanager
    def _opened(self, path: str) -> Iterator[int]:
        """Open the directory of a file, creating it if missing; never through a link."""
        self.root.mkdir(parents=True, exist_ok=True)
        opened = [os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)]
        try:
            for part in path.split("/")[:-1]:
                if not is_file_name(part):
                    raise Unavailable(f"Cannot write {path}: its name is not allowed.")
                with suppress(FileExistsError):
                    os.mkdir(part, 0o755, dir_fd=opened[-1])
                opened.append(os.open(part, _DIRECTORY, dir_fd=opened[-1]))
            yield opened[-1]
        finally:
            for each in opened:
                os.close(each)

    def interrupted_apply(self) -> ApplyAct | None:
        """Return the act of an apply that was interrupted; its transaction may be committed."""
        return self._load(_act, None)

    def read_base(self, now: Mapping[str, str], *, applied: bool = False) -> dict[str, BaseText]:
        """Return the files as of the last export or apply; none before the first.

        `now` are the current texts. Those that an interrupted export wrote or removed count as
        exported, and those of an interrupted apply only if it was `applied`.
        """
        return self._load(lambda stored: _files(stored, now, applied=applied), {})

    def _load(self, read: Callable[[Any], T], otherwise: T) -> T:
        try:
            if self._base is None:
                return otherwise
            return read(json.loads(self._base.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return otherwise
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise Unavailable(
                f"{self._base} cannot be read. Remove it, then run `lamplighter plan` again."
            ) from error

    def write_base(
        self,
        files: Mapping[str, BaseText],
        writing: Mapping[str, BaseText] | None = None,
        act: ApplyAct | None = None,
    ) -> None:
        """Store the current files; `writing` are those after an export that begins now.

        With `act` they are those after an apply, if the database commits it.
        """
        assert self._base is not None
        stored: dict[str, Any] = {"directory": str(self.root.resolve()), "files": _as_json(files)}
        if writing is not None:
            stored["writing"] = _as_json(writing)
        if act is not None:
            stored["act"] = {"id": act.id, "at": act.at.isoformat()}
        new = self._base.with_name(f".{self._base.name}.{os.getpid()}")
        try:
            self._base.parent.mkdir(mode=0o700, exist_ok=True)
            new.write_text(json.dumps(stored, indent=1), encoding="utf-8")
            new.chmod(0o600)
            new.replace(self._base)
        except OSError as error:
            with suppress(OSError):
                new.unlink(missing_ok=True)
            raise Unavailable(f"Cannot write {self._base}: {error.strerror}.") from error


def _act(stored: Any) -> ApplyAct | None:
    act = stored.get("act")
    return None if act is None else ApplyAct(int(act["id"]), datetime.fromisoformat(act["at"]))


def _files(stored: Any, now: Mapping[str, str], *, applied: bool) -> dict[str, BaseText]:
    base = _base_texts(stored["files"])
    if "writing" not in stored:
        return base
    new = _base_texts(stored["writing"])
    if "act" in stored:
        return new if applied else base
    written = {
        path: each
        for path, each in new.items()
        if now.get(path) == each.text or (path in now and path not in base)
    }
    rest = {path: each for path, each in base.items() if path in now or path in new}
    return {**rest, **written}


def _base_texts(stored: Any) -> dict[str, BaseText]:
    return {
        path: BaseText(MemoryId(int(each["memory"])), str(each["text"]))
        for path, each in stored.items()
    }


def _as_json(files: Mapping[str, BaseText]) -> dict[str, Any]:
    return {
        path: {"memory": each.memory_id, "text": each.text} for path, each in sorted(files.items())
    }


def _open_problem(error: OSError) -> str:
    return LINK if error.errno == errno.ELOOP else (error.strerror or "cannot be opened").lower()
