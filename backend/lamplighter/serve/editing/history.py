"""The texts of edits, one file for each act, in the home and for its owner alone."""

import json
import os
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Final

from lamplighter.domain.errors import Unavailable
from lamplighter.usecases.configuration.context import KeptEdit

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
