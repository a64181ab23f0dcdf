"""The event: something that happened while operating."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final


class Level(StrEnum):
    """How much an event matters."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


_WARNING: Final = frozenset({"warning", "warn", "degraded", "caution"})
_CRITICAL: Final = frozenset(
    {"critical", "crit", "error", "err", "failed", "failure", "fatal", "down"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event as it is kept. `source` is marker, supervisor, operator or alert."""

    id: int
    level: Level
    service: str | None
    text: str
    session_id: int | None
    tier: int
    source: str
    created_at: datetime
    version: int = 1


def parse_level(word: str) -> Level:
    """Fold an agent's word for a level into one of the three; an unknown word is info.

    >>> level_of("ERR"), level_of("degraded"), level_of("health-check-success")
    (<Level.CRITICAL: 'critical'>, <Level.WARNING: 'warning'>, <Level.INFO: 'info'>)
    """
    folded = word.casefold()
    if folded in _CRITICAL:
        return Level.CRITICAL
    return Level.WARNING if folded in _WARNING else Level.INFO
