"""The database file of a home between two starts: a used home never gets an empty one unasked."""

from pathlib import Path
from typing import Final

from lamplighter.config.settings import Settings
from lamplighter.domain.errors import Unavailable
from lamplighter.repository.store import driver
from lamplighter.repository.store.database import file_of, is_postgres
from lamplighter.repository.store.file_watch import rescued
from lamplighter.repository.upkeep import migrate

SESSIONS: Final = "sessions"
MARKER: Final = ".database"
ON_PURPOSE: Final = "To start with an empty database on purpose, move {} out of the home."
RESTORE: Final = "Restore a backup to {} (docs/how-to/backup.md)."


def refuse_lost_database(settings: Settings) -> None:
    """Raise Unavailable before a new database is created in a home that has lost its database."""
    found = lost_database(settings)
    if found is not None:
        raise Unavailable(" ".join(found))


def remember(settings: Settings) -> None:
    """Note in the home which database it uses."""
    if is_postgres(settings.database_url):
        return
    path, marker = file_of(settings.database_url), settings.home / MARKER
    if _read_marker(marker) != str(path):
        try:
            marker.write_text(f"{path}\n", encoding="utf-8", errors="surrogateescape")
        except OSError as error:
            raise Unavailable(f"Cannot write {marker}: {error.strerror}.") from error


def lost_database(settings: Settings) -> tuple[str, str] | None:
    """Describe a lost database, and the remedy; None if the database exists, or never did."""
    if is_postgres(settings.database_url):
        return None
    path = file_of(settings.database_url)
    evidence = _evidence(settings, path)
    if not evidence or _has_content(path):
        return None
    state = "is empty" if path.exists() else "is missing"
    named = " and ".join(map(str, evidence))
    exists = "exists" if len(evidence) == 1 else "exist"
    problem = f"The database {path} {state}, but this home has been used before: {named} {exists}."
    copies = rescued(path)
    back = (
        f"The data is still in {copies[0]}: stop Lamplighter, move that "
        f"file to {path}, and start Lamplighter."
        if copies
        else RESTORE.format(path)
    )
    return problem, f"{back} {ON_PURPOSE.format(named)}"


def _has_content(path: Path) -> bool:
    """Whether a database with content exists, intact or damaged."""
    try:
        return migrate.revision(path) is not None
    except driver.Error:
        return True  # other checks report what is wrong


def _evidence(settings: Settings, path: Path) -> list[Path]:
    """Return the evidence that a home had this database."""
    marker, sessions = settings.home / MARKER, settings.home / SESSIONS
    found = [marker] if _read_marker(marker) == str(path) else []
    return found + ([sessions] if next(sessions.glob("*.jsonl"), None) else [])


def _read_marker(marker: Path) -> str:
    try:
        return marker.read_text(encoding="utf-8", errors="surrogateescape").strip()
    except OSError:
        return ""
