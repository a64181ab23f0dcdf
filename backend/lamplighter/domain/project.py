"""The project: what knowledge belongs to, by a folded name."""

from typing import Final

PROJECT_CHARS: Final = 200


def normalize_project(name: str) -> str:
    """Return the name of a project as it is kept and compared: in small letters."""
    return " ".join(name.split()).lower()
