"""The context of configuration edits: the files, their versions, and the stored texts."""

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
    """A version of a file: its text, the hash of its bytes, and any obstacle to writing it."""

    text: str
    etag: str
    obstacle: str = ""


class EditedFile(Protocol):
    """A file that people write and the app edits."""

    name: str

    @property
    def path(self) -> str:
        """The path of the file."""

    def read(self) -> FileVersion:
        """Read the file; raises Unavailable."""

    def problems(self, text: str) -> FileProblems:
        """Return the problems of a text, as they would be reported at startup."""

    def replace(self, etag: str, text: str) -> None:
        """Replace the text of the file atomically; raises Stale if it has changed, Unavailable."""


class EditedServices(EditedFile, Protocol):
    """services.yaml."""

    def parse(self, text: str) -> Services:
        """Return the services declared in a text without problems."""


@dataclass(frozen=True, slots=True)
class KeptEdit:
    """The texts of a file before and after an edit."""

    file: str
    before: str
    after: str


class EditHistory(Protocol):
    """The stored texts of each edit, in the home and readable only by its owner."""

    def save(self, act: int, edit: KeptEdit) -> None:
        """Store the texts of an act and mark the act as pending; raises Unavailable."""

    def load(self, act: int) -> KeptEdit | None:
        """Return the texts of an act; None if they are no longer stored."""

    def pending(self) -> int | None:
        """Return the pending act; None if there is none."""

    def finish(self, act: int) -> None:
        """Mark an act as no longer pending."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigurationContext:
    """The files that the app edits, the policy for edits, and the function that runs checks."""

    policy: EditPolicy
    services: EditedServices
    settings: EditedFile
    history: EditHistory
    run_checks: Callable[[Sequence[Check]], Awaitable[list[dict[str, Any]]]]
    format_setting: Callable[[str, str | None], tuple[str, str | None]]
    """Return the line of a setting; raises Invalid."""
    protected: Callable[[str, str], str]
    """Return why the app may not make an edit of the settings file; empty if it may."""
    masked: Callable[[str, str], tuple[str, str]]
    """Return two texts of the settings file without their secrets."""

    def file(self, name: str) -> EditedFile:
        """Return a file by its name in the history."""
        return self.services if name == self.services.name else self.settings
