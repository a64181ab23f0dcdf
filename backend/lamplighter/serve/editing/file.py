"""A user's file, replaced atomically: its version is a hash, its mode and links stay."""

import errno
import fcntl
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Final

from lamplighter.domain.errors import Stale, Unavailable
from lamplighter.usecases.configuration.changes import etag_of
from lamplighter.usecases.configuration.context import FileVersion, KeptEdit

BOM: Final = b"\xef\xbb\xbf"
READ_ONLY: Final = "{} is read-only. Change its permissions, or edit it where it is written."
MOUNTED: Final = (
    "{} cannot be replaced, because it is mounted as a single file. Mount its directory instead."
)
NO_TEXT: Final = "{} is not UTF-8 text. Correct it in a text editor."
CANNOT_WRITE: Final = "{} cannot be written: {}."


class ReplacedFile:
    """A text file that is read as a version, and replaced only while it is that version."""

    def __init__(self, path: Path, lock: Path) -> None:
        self._path, self._lock = path, lock

    @property
    def path(self) -> str:
        """The path of the file, as configured."""
        return str(self._path)

    def read(self) -> FileVersion:
        """Read it; one that does not exist is empty."""
        raw = self._bytes()
        text, why = self._decoded(raw)
        return FileVersion(text, etag_of(raw), why or self._obstacle())

    def replace(self, etag: str, text: str) -> None:
        """Replace the text atomically; raises Stale if the file changed, Unavailable."""
        with self._alone():
            raw = self._bytes()
            if etag_of(raw) != etag:
                raise Stale(self.read())
            if why := self._decoded(raw)[1] or self._obstacle():
                raise Unavailable(why)
            bom = BOM if raw.startswith(BOM) else b""
            try:
                self._write(bom + text.encode())
            except OSError as error:
                raise Unavailable(self._describe(error)) from error

    def _decoded(self, raw: bytes) -> tuple[str, str]:
        """Return the text, or an empty one and why it is none: then nothing may replace it."""
        try:
            return raw.removeprefix(BOM).decode("utf-8"), ""
        except UnicodeDecodeError:
            return "", NO_TEXT.format(self.path)

    def _bytes(self) -> bytes:
        try:
            return self._path.read_bytes()
        except FileNotFoundError:
            return b""
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise Unavailable(f"{self.path} cannot be read: {reason}.") from error

    def _obstacle(self) -> str:
        """Return why the file is not writable; empty without a known obstacle."""
        target = self._path.resolve()
        with suppress(FileNotFoundError):
            if not target.stat().st_mode & 0o222 or not os.access(target, os.W_OK):
                return READ_ONLY.format(self.path)
        return "" if os.access(target.parent, os.W_OK) else READ_ONLY.format(target.parent)

    def _write(self, raw: bytes) -> None:
        """Write a new file beside the target of a link, and replace the target; its mode stays."""
        target = self._path.resolve()
        handle, draft = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with open(handle, "wb") as file:
                file.write(raw)
                file.flush()
                with suppress(FileNotFoundError):
                    found = target.stat()
                    os.fchmod(file.fileno(), found.st_mode & 0o7777)
                    with suppress(PermissionError):
                        os.fchown(file.fileno(), found.st_uid, found.st_gid)
                os.fsync(file.fileno())
            os.replace(draft, target)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(draft)
            raise

    def _describe(self, error: OSError) -> str:
        if error.errno == errno.EBUSY:
            return MOUNTED.format(self.path)
        if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
            return READ_ONLY.format(self.path)
        return CANNOT_WRITE.format(self.path, (error.strerror or str(error)).lower())

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold off other edits of this home, of this process and of others."""
        self._lock.parent.mkdir(mode=0o700, exist_ok=True)
        handle = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


DIRECTORY: Final = "edits"
PENDING: Final = "pending"
MAX_EDITS: Final = 500


class EditFiles:
    """Stores the texts before and after the newest edits."""

    def __init__(self, home: Path) -> None:
        self._directory = home / DIRECTORY

    def save(self, act: int, edit: KeptEdit) -> None:
        """Store the texts of an act, which is pending from now; raises Unavailable."""
        try:
            self._directory.mkdir(mode=0o700, exist_ok=True)
            handle = os.open(self._place(act), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with open(handle, "w", encoding="utf-8") as file:
                json.dump(asdict(edit), file)
            (self._directory / PENDING).write_text(str(act))
            self._forget()
        except OSError as error:
            why = error.strerror or error
            raise Unavailable(f"{self._directory} cannot be written: {why}.") from error

    def load(self, act: int) -> KeptEdit | None:
        """Return the texts of an act; None after their retention."""
        try:
            return KeptEdit(**json.loads(self._place(act).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def pending(self) -> int | None:
        """Return the act that is pending; None without one."""
        with suppress(OSError, ValueError):
            return int((self._directory / PENDING).read_text())
        return None

    def finish(self, act: int) -> None:
        """Note that an act is no longer pending."""
        if self.pending() == act:
            (self._directory / PENDING).unlink(missing_ok=True)

    def _place(self, act: int) -> Path:
        return self._directory / f"{act}.json"

    def _forget(self) -> None:
        numbers = sorted(
            int(each.stem) for each in self._directory.glob("*.json") if each.stem.isdecimal()
        )
        for number in numbers[:-MAX_EDITS]:
            with suppress(OSError):
                self._place(number).unlink()
