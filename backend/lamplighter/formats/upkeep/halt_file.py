"""The halt file in the home, in effect while it exists; used without the database modules."""

import os
import re
import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from lamplighter.domain.actions.halt import FILE_PULLED, MAX_REASON_CHARS, Halt, HaltSource
from lamplighter.domain.secrets.redact import Redactor
from lamplighter.domain.text import one_line, shorten

SIGNED: Final = "{}\n-- {}, {}; written by Lamplighter, `lamplighter resume` removes it\n"
_SIGNATURE: Final = re.compile(r"\n-- (.*), (\S+); written by Lamplighter, [^\n]*\n\Z")
REASON_BYTES: Final = 4_096


@dataclass(frozen=True, slots=True)
class HaltFile:
    """The file of a halt: that of a person, or of a button or a command."""

    file: Path | None = None
    redact: Redactor = field(default_factory=Redactor)

    def by_file(self) -> Halt | None:
        """Return the halt of the file; an unreadable file halts too."""
        if self.file is None:
            return None
        try:
            at = datetime.fromtimestamp(self.file.lstat().st_mtime, UTC)
        except FileNotFoundError:
            return None
        except OSError as error:
            now = datetime.fromtimestamp(time.time(), UTC)
            return _of_file(f"{self.file} cannot be read: {error.strerror}", now)
        text = self._text()
        if signed := _SIGNATURE.search(text):
            with suppress(ValueError):
                at = datetime.fromisoformat(signed[2])
            return Halt(
                way=HaltSource.ROW,
                reason=check_reason(text[: signed.start()], self.redact),
                pulled_by=one_line(signed[1]),
                pulled_at=at,
            )
        return _of_file(check_reason(text, self.redact), at)

    def by_request(self) -> Halt | None:
        """Return the halt of a button or a command that is not stored as a row yet."""
        found = self.by_file()
        return found if found is not None and found.way is HaltSource.ROW else None

    def write(self, reason: str, *, by: str, now: datetime) -> None:
        """Halt everything with the file; an existing halt stays. Raises OSError."""
        if self.file is None or self.by_file() is not None:
            return
        text = SIGNED.format(check_reason(reason, self.redact), one_line(by), now.isoformat())
        whole = self.file.with_name(f"{self.file.name}.{os.getpid()}")
        try:
            whole.write_text(text, encoding="utf-8", errors="replace")
            whole.replace(self.file)
        finally:
            whole.unlink(missing_ok=True)  # the disk was full

    def remove(self, halt: Halt) -> None:
        """Remove the file that a button or a command wrote, unless another one was written."""
        if self.file is not None and self.by_file() == halt:
            self.file.unlink(missing_ok=True)

    def _text(self) -> str:
        assert self.file is not None
        try:
            with open(self.file, "rb", opener=_at_once) as file:
                return (file.read(REASON_BYTES) or b"").decode("utf-8", "replace")
        except OSError:
            return ""


def _at_once(path: str, flags: int) -> int:
    """Open a file of the home: not through a link, and without blocking."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)


def check_reason(reason: str, redact: Redactor) -> str:
    """Return a reason as stored: one line, of limited length, without secrets."""
    return shorten(one_line(redact(reason)), MAX_REASON_CHARS)


def _of_file(reason: str, at: datetime) -> Halt:
    return Halt(way=HaltSource.FILE, reason=reason, pulled_by=FILE_PULLED, pulled_at=at)
