"""services.yaml in a running process: the current file, and its last valid version."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lamplighter.domain.errors import LamplighterError

if TYPE_CHECKING:
    from lamplighter.domain.services.service import Services


@dataclass(slots=True)
class ServicesFile:
    """The current services.yaml, and its last valid version."""

    path: Path
    _stamp: tuple[int, int] | None = None
    _good: "Services | None" = None
    _error: LamplighterError | None = None

    def load(self) -> "Services":
        """Return the services; raises the errors of the file."""
        self._look()
        if self._error is not None:
            raise self._error
        return self._services()

    def last_good(self) -> "Services":
        """Return the services of the last version that could be read."""
        self._look()
        return self._services()

    def _services(self) -> "Services":
        from lamplighter.domain.services.service import Services

        return Services() if self._good is None else self._good  # an empty file counts too

    def problems(self) -> list[dict[str, object]]:
        """Return every error of the current file."""
        from lamplighter.config.services import ServicesError

        self._look()
        if isinstance(self._error, ServicesError):
            return [
                {
                    "path": each.path,
                    "line": each.line,
                    "column": each.column,
                    "message": each.message,
                }
                for each in self._error.problems
            ]
        return []

    def _look(self) -> None:
        from lamplighter.config import services as services_file

        stamp = _stamp(self.path)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._good, self._error = services_file.load(self.path), None
        except LamplighterError as error:
            self._error = error


def _stamp(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return (0, 0)
    return (found.st_mtime_ns, found.st_size)
