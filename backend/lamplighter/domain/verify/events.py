"""Events after which memories are tested again: a deployment, or a configuration change."""

import re
from typing import Final

from lamplighter.domain.services.event import reports_change
from lamplighter.domain.verify.claims import SCANNED_CHARS

MAX_NAMES: Final = 20
_PATHS: Final = re.compile(r"(?<![\w:/])/?(?:[\w@+.-]+/)+[\w@+.-]*\w|\b[\w-]+\.[a-z]{1,5}\b")
_PACKAGES: Final = re.compile(
    r"\b([A-Za-z][\w.-]{2,40})[ =@:]+(?:to\s+|version\s+)?v?\d+\.\d[\w.-]*", re.IGNORECASE
)


def changed_names(text: str) -> tuple[str, ...] | None:
    """Return the files and packages that a report of a deployment or configuration change names.

    None for any other event; empty if the text names only its service.
    """
    text = text[:SCANNED_CHARS]
    if not reports_change(text):
        return None
    found = [match[0] for match in _PATHS.finditer(text)]
    found += [match[1] for match in _PACKAGES.finditer(text)]
    return tuple(dict.fromkeys(found))[:MAX_NAMES]
