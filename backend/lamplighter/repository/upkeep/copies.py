"""A copy of a whole database as of one moment, and its content."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from lamplighter.repository.store.database import file_of, is_postgres


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyContents:
    """The content of a copy: its revision, its rows by table, and the highest session ID.

    The tables are in an order in which their rows can be inserted.
    """

    kind: str
    revision: str
    tables: dict[str, int] = field(default_factory=dict)
    last_session: int = 0


def replace_last(copied: CopyContents, number: int) -> CopyContents:
    """Return the content of a copy, with a higher last session ID."""
    return replace(copied, last_session=number)


class DatabaseCopier(Protocol):
    """Copies a database while others use it, and verifies copies."""

    def copy(self, directory: Path) -> CopyContents:
        """Copy the database into a directory."""

    def prove(self, directory: Path, copied: CopyContents) -> None:
        """Restore a copy temporarily and compare it with the copied content; raises DamagedCopy."""


class DamagedCopy(Exception):
    """A copy does not match the copied database."""


def copier(url: str) -> DatabaseCopier:
    """Return the copier for the database at an address."""
    if is_postgres(url):
        from lamplighter.repository.upkeep.copies_postgres import PostgresCopier

        return PostgresCopier(url)
    from lamplighter.repository.upkeep.copies_sqlite import SqliteCopier

    return SqliteCopier(file_of(url))


def kind_of(url: str) -> str:
    """Return the kind of the database at an address, as manifests name it."""
    return "postgresql" if is_postgres(url) else "sqlite"
