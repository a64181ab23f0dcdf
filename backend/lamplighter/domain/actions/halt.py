"""The halt: no rounds, sessions or actions run until a person resumes."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

FILE: Final = "HALT"
"""The file in the home directory that halts Lamplighter while it exists; its text is the reason."""

FILE_PULLED: Final = f"the file {FILE}"
MAX_REASON_CHARS: Final = 500


class HaltSource(StrEnum):
    """The source of a halt: a row of the database, or the file."""

    ROW = "row"
    FILE = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Halt:
    """One halt with its author and reason; active until released."""

    id: int = 0
    way: HaltSource
    reason: str
    pulled_by: str
    pulled_at: datetime
    released_by: str | None = None
    released_at: datetime | None = None
    version: int = 1

    @property
    def description(self) -> str:
        """Return the author of the halt, and the reason."""
        why = f": {self.reason.rstrip('.')}" if self.reason else ""
        return f"Halted by {self.pulled_by}{why}."


def release_hint(way: HaltSource, file: str) -> str:
    """Return how to end a halt of this kind."""
    if way is HaltSource.FILE:
        return f"Delete {file or FILE_PULLED}, or run `lamplighter resume` on that machine."
    return "Press Resume in the app, run `lamplighter resume`, or send DELETE /api/v1/halt."
