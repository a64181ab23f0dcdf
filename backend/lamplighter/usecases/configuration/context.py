"""What edits of the configuration work with: the files, their versions, and kept texts."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from lamplighter.domain.services.check import Check
from lamplighter.domain.services.commands import EditPolicy
from lamplighter.domain.services.service import Services

CONFIGURE: Final = "configure"
"""The action of an edit in the journal."""

FileProblems = Sequence[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class FileVersion:
    """A file as it was read: its text, the hash of its bytes, why it cannot be written."""

    text: str
    etag: str
    obstacle: str = ""


class EditedFile(Protocol):
    """A file that people write and the app edits."""

    name: str

    @property
    def path(self) -> str:
        """Where it is."""

    def read(self) -> FileVersion:
        """Read it; raises Unavailable."""

    def problems(self, text: str) -> FileProblems:
        """Return what is wrong with a text, as a start would report it."""

    def replace(self, etag: str, text: str) -> None:
        """Put a text in its place at once; raises Stale where the file changed, Unavailable."""


class EditedServices(EditedFile, Protocol):
    """services.yaml."""

    def parse(self, text: str) -> Services:
        """Return the services of a text that has no problems."""


@dataclass(frozen=True, slots=True)
class KeptEdit:
    """The texts of a file before and after an edit."""

    file: str
    before: str
    after: str


class EditHistory(Protocol):
    """Keeps the texts of each edit in the home, for its owner alone."""

    def save(self, act: int, edit: KeptEdit) -> None:
        """Keep the texts of an act, which is pending from now; raises Unavailable."""

    def load(self, act: int) -> KeptEdit | None:
        """Return the texts of an act; None once they are no longer kept."""

    def pending(self) -> int | None:
        """Return the act that is pending; None without one."""

    def finish(self, act: int) -> None:
        """Note that an act is no longer pending."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigurationContext:
    """The files that the app edits, what it may edit, and how it tries checks."""

    policy: EditPolicy
    services: EditedServices
    settings: EditedFile
    history: EditHistory
    run_checks: Callable[[Sequence[Check]], Awaitable[list[dict[str, Any]]]]
    format_setting: Callable[[str, str | None], tuple[str, str | None]]
    """Returns the line of a setting; raises Invalid."""
    protected: Callable[[str, str], str]
    """Says why the app may not make an edit of the settings file."""
    masked: Callable[[str, str], tuple[str, str]]
    """Returns two texts of the settings file without their secrets."""

    def file(self, name: str) -> EditedFile:
        """Return a file by its name in the history."""
        return self.services if name == self.services.name else self.settings
