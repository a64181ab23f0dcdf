"""The paths of the app, migrations/ and prompts/ in the checkout or wheel; the revisions."""

from pathlib import Path
from typing import Final

_PACKAGE: Final = Path(__file__).parent
_CHECKOUT: Final = _PACKAGE.parents[1]
_INSTALLED: Final = _PACKAGE / "_assets"

# The checkout comes first: an editable install leaves stale copies behind.
IN_CHECKOUT: Final = (_CHECKOUT / "pyproject.toml").is_file()
MIGRATIONS: Final = (_CHECKOUT if IN_CHECKOUT else _INSTALLED) / "migrations"
PROMPTS: Final = (_CHECKOUT if IN_CHECKOUT else _INSTALLED) / "prompts"
WEB: Final = _CHECKOUT / "frontend" / "dist" if IN_CHECKOUT else _INSTALLED / "web"


def known_revisions() -> list[str]:
    """Return the revisions of the database that this program knows."""
    return [path.name.partition("_")[0] for path in (MIGRATIONS / "versions").glob("[0-9]*_*.py")]


def newest_revision() -> str:
    """Return the newest revision of the database that this program knows."""
    return max(known_revisions())
