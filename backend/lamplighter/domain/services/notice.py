"""The notice: a message to people outside of the app, and when it is sent."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from lamplighter.domain.services.event import Level

DEDUPLICATE_FOR: Final = timedelta(hours=1)
"""How long a repeated event sends no further notice."""

SETTLE: Final = timedelta(seconds=3)
"""How long an event waits for others, so that many at once are one message."""

GAP: Final = timedelta(minutes=1)
"""How far messages of events alone lie apart, whatever happens."""

ABANDON_AFTER: Final = timedelta(days=1)
FIRST_PAUSE: Final = timedelta(seconds=15)
LONGEST_PAUSE: Final = timedelta(hours=1)
LISTED_NOTICES: Final = 20
MAX_TITLE_CHARS: Final = 300
MAX_BODY_CHARS: Final = 4_000
_ORDER: Final = (Level.INFO, Level.WARNING, Level.CRITICAL)


class NoticeKind(StrEnum):
    """Kind of a notice."""

    EVENT = "event"
    INCIDENT = "incident"
    APPROVAL = "approval"
    HALT = "halt"
    TEST = "test"


GATHERED_KINDS: Final = (NoticeKind.EVENT, NoticeKind.INCIDENT)
"""Notices of these kinds wait for others, and are sent at most once a minute."""


class NoticeState(StrEnum):
    """How far a notice has got."""

    WAITING = "waiting"
    SENDING = "sending"
    SENT = "sent"
    FAILED = "failed"
    SUPPRESSED = "suppressed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One notice as it is kept; `problem` says why it was not taken the last time."""

    id: int
    kind: NoticeKind
    level: Level
    title: str
    body: str
    service: str | None
    event_id: int | None
    state: NoticeState
    attempts: int
    next_at: datetime | None
    problem: str
    created_at: datetime
    sent_at: datetime | None
    version: int = 1

    @property
    def urgent(self) -> bool:
        """Whether it waits for no other."""
        return self.kind not in GATHERED_KINDS


@dataclass(frozen=True, slots=True)
class NoticePolicy:
    """Which events people are notified of: from a level on, at once or as a digest."""

    level: Level = Level.CRITICAL
    gather: timedelta | None = None

    def tells(self, level: Level) -> bool:
        """Return whether an event of this level sends a notice."""
        return _ORDER.index(level) >= _ORDER.index(self.level)

    def due(self, kind: NoticeKind, *, now: datetime) -> datetime:
        """Return when a notice is to go out."""
        return now if kind not in GATHERED_KINDS else now + (self.gather or SETTLE)


def targets_for(routes: Sequence[str], names: Sequence[str]) -> set[int]:
    """Return which targets a notice goes to, by the names of its routes; all where none fits."""
    wanted = {route.casefold() for route in routes}
    return {at for at, name in enumerate(names) if name.casefold() in wanted} or set(
        range(len(names))
    )


def retry_delay(attempts: int) -> timedelta:
    """Return how long to wait after so many attempts that were not taken."""
    pause: timedelta = FIRST_PAUSE * (1 << min(max(0, attempts - 1), 12))
    return min(LONGEST_PAUSE, pause)


def compose_message(found: Sequence[Notice], *, url: str = "") -> tuple[str, str]:
    """Return one message, its title and its text, for all of these notices."""
    worst = max(found, key=lambda each: (each.urgent, _ORDER.index(each.level), -each.id))
    foot = [f"\n{url}"] if url else []
    if len(found) == 1:
        return f"Lamplighter: {worst.title}", "\n".join([worst.body or worst.title, *foot])
    listed = sorted(found, key=lambda each: (not each.urgent, -_ORDER.index(each.level), each.id))
    lines = [line for each in listed[:LISTED_NOTICES] for line in _lines(each)]
    if len(listed) > LISTED_NOTICES:
        lines.append(f"and {len(listed) - LISTED_NOTICES:,} more")
    title = f"Lamplighter: {worst.title} (and {len(found) - 1:,} more)"
    return title, "\n".join([*lines, *foot])


def _lines(each: Notice) -> list[str]:
    """Return a notice as lines of a list; approvals are shown in full."""
    where = f"{each.service}: " if each.service else ""
    full = each.body.split("\n") if each.kind is NoticeKind.APPROVAL and each.body else []
    return [f"- {each.level.upper()} {where}{each.title}", *(f"  {line}" for line in full)]
