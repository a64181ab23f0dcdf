"""A copy of a whole database as of one moment, and its content."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from lamplighter.repository.store.database import file_of, is_postgres


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyContents:
    """What a copy holds: its revision, its rows by table, and the highest session number.

    The tables are in the order in which their rows may be inserted.
    """

    kind: str
    revision: str
    tables: dict[str, int] = field(default_factory=dict)
    last_session: int = 0


def replace_last(copied: CopyContents, number: int) -> CopyContents:
    """Return what a copy holds, with a higher last session number."""
    return replace(copied, last_session=number)


class DatabaseCopier(Protocol):
    """Copies the database of an address while others use it, and tries a copy."""

    def copy(self, directory: Path) -> CopyContents:
        """Copy the database into a directory."""

    def prove(self, directory: Path, copied: CopyContents) -> None:
        """Restore a copy to nowhere and compare it with what was copied; raises Damaged."""


class DamagedCopy(Exception):
    """A copy is not what was copied."""


def copier(url: str) -> DatabaseCopier:
    """Return what copies the database of an address."""
    if is_postgres(url):
        from lamplighter.repository.upkeep.copies_postgres import PostgresCopier

        return PostgresCopier(url)
    from lamplighter.repository.upkeep.copies_sqlite import SqliteCopier

    return SqliteCopier(file_of(url))


def kind_of(url: str) -> str:
    """Return the kind of the database of an address, as manifests name it."""
    return "postgresql" if is_postgres(url) else "sqlite"
