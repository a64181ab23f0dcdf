"""Events of operation."""

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final

from lamplighter.domain.fields import Field


class Level(StrEnum):
    """The level of an event."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """Return its place among all, the most severe last."""
        return list(Level).index(self)


_WARNING: Final = frozenset({"warning", "warn", "degraded", "caution"})
_CRITICAL: Final = frozenset(
    {"critical", "crit", "error", "err", "failed", "failure", "fatal", "down"}
)

_CHANGES: Final = re.compile(
    r"\b(?:deploy(?:ed|ment|s|ing)?|redeploy(?:ed|ment|s)?|released?\s+(?:version\s+|v)?\d|"
    r"(?:new|hotfix)\s+release|roll(?:ed)?\s?(?:out|back\s+(?:to|from|v?\d))|"
    r"rollback|upgraded?|updated?\s+to|downgraded?|reconfigured|"
    r"(?:config(?:uration)?|settings?|manifest|compose|environment)\b.{0,40}\b(?:changed|updated|"
    r"edited|reloaded|applied)|(?:changed|updated|edited|reloaded|applied)\b.{0,40}\bconfig\w*)\b",
    re.IGNORECASE | re.DOTALL,
)
_NO_CHANGE: Final = re.compile(
    r"\b(?:not|never|failed\s+to|will|would|should|if|plan(?:ned)?|dry\s+run)\b|n['\u2019]t\b", re.I
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A stored event. `source` is marker, supervisor, operator or alert.

    `change` is the kind of change to its service that the event reports, empty for most.
    """

    id: int
    level: Level
    service: str | None
    text: str
    session_id: int | None
    tier: int
    source: str
    created_at: datetime
    version: int = 1
    change: Annotated[str, Field(public=False)] = ""


def parse_level(word: str) -> Level:
    """Fold an agent's word for a level into one of the three; an unknown word is info.

    >>> level_of("ERR"), level_of("degraded"), level_of("health-check-success")
    (<Level.CRITICAL: 'critical'>, <Level.WARNING: 'warning'>, <Level.INFO: 'info'>)
    """
    folded = word.casefold()
    if folded in _CRITICAL:
        return Level.CRITICAL
    return Level.WARNING if folded in _WARNING else Level.INFO


def reports_change(text: str) -> bool:
    """Whether an event reports a deployment, or a change of a configuration."""
    return bool(_CHANGES.search(text)) and not _NO_CHANGE.search(text)
