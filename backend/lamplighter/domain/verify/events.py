"""Events that make memories worth another test: a deployment, or a changed configuration."""

import re
from typing import Final

from lamplighter.domain.verify.claims import SCANNED_CHARS

MAX_NAMES: Final = 20
_CHANGES: Final = re.compile(
    r"\b(?:deploy(?:ed|ment|s|ing)?|redeploy(?:ed|ment|s)?|releas(?:e|ed|es)|roll(?:ed)?\s?(?:out|back)|"
    r"rollback|upgraded?|updated?\s+to|downgraded?|migrated|installed|reconfigured|"
    r"(?:config(?:uration)?|settings?|manifest|compose|environment)\b.{0,40}\b(?:changed|updated|"
    r"edited|reloaded|applied)|(?:changed|updated|edited|reloaded|applied)\b.{0,40}\bconfig\w*)\b",
    re.IGNORECASE | re.DOTALL,
)
_NO_CHANGE: Final = re.compile(
    r"\b(?:not|never|failed\s+to|will|would|should|if|plan(?:ned)?|dry\s+run)\b|n['\u2019]t\b", re.I
)
_PATHS: Final = re.compile(r"(?<![\w:/])/?(?:[\w@+.-]+/)+[\w@+.-]*\w|\b[\w-]+\.[a-z]{1,5}\b")
_PACKAGES: Final = re.compile(
    r"\b([A-Za-z][\w.-]{2,40})[ =@:]+(?:to\s+|version\s+)?v?\d+\.\d[\w.-]*", re.IGNORECASE
)


def changed_names(text: str) -> tuple[str, ...] | None:
    """Return the files and packages that a deployment or change of configuration names.

    None for any other event; empty where it names nothing but its service.
    """
    text = text[:SCANNED_CHARS]
    if not _CHANGES.search(text) or _NO_CHANGE.search(text):
        return None
    found = [match[0] for match in _PATHS.finditer(text)]
    found += [match[1] for match in _PACKAGES.finditer(text)]
    return tuple(dict.fromkeys(found))[:MAX_NAMES]
