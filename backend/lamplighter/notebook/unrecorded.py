"""The files of pages that the database has not recorded yet."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

WRITING: Final = "notebook.writing"


class UnrecordedWrites:
    """The new hash of each page that a run writes, "" if it removes the page.

    The list is on disk until the database has recorded the files. If the run ends before that, the
    next one recognizes the files: they contain no edits of a person.
    """

    def __init__(self, home: Path) -> None:
        self._list = home / WRITING

    def begin(self, digests: Mapping[str, str]) -> None:
        """Store the list, before the files are written; raises OSError."""
        new = self._list.with_name(f".{WRITING}.new")
        with new.open("w", encoding="utf-8") as file:
            json.dump(digests, file)
            file.flush()
            os.fsync(file.fileno())
        new.replace(self._list)

    def read(self) -> dict[str, str]:
        """Return the list of a run that was interrupted; empty if there was none."""
        try:
            found = json.loads(self._list.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return {str(path): str(digest) for path, digest in dict(found).items()}

    def end(self) -> None:
        """Remove the list, because the database has recorded the files."""
        self._list.unlink(missing_ok=True)
