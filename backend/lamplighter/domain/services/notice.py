"""The notice: a message to people outside of the app, and when it is sent."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache
from typing import Annotated, Final

from lamplighter.domain.fields import Field
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
INCIDENT_LINK: Final = "/incidents/"
MAX_BODY_CHARS: Final = 4_000


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


OPEN_STATES: Final = (NoticeState.WAITING, NoticeState.SENDING)
"""States of a notice that some target has not accepted yet."""


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
    link: str = ""
    """The page of the app that shows more; empty for its first page."""

    reached: Annotated[tuple[str, ...], Field(public=False)] = ()
    """The marks of the targets that accepted it."""

    @property
    def urgent(self) -> bool:
        """Whether it waits for no other."""
        return self.kind not in GATHERED_KINDS

    @property
    def ended_incident(self) -> int | None:
        """Return the incident whose end it reports."""
        if self.kind is not NoticeKind.INCIDENT or self.level is not Level.INFO:
            return None
        number = self.link.removeprefix(INCIDENT_LINK)
        return int(number) if number.isdigit() else 0


@dataclass(frozen=True, slots=True)
class NoticePolicy:
    """Which events people are notified of: from a level on, at once or as a digest."""

    level: Level = Level.CRITICAL
    gather: timedelta | None = None
    addressed: bool = True
    """Whether the settings name an address; otherwise only subscribed devices are notified."""

    def tells(self, level: Level) -> bool:
        """Return whether an event of this level sends a notice."""
        return level.rank >= self.level.rank

    def due(self, kind: NoticeKind, *, now: datetime) -> datetime:
        """Return when a notice is to go out."""
        return now if kind not in GATHERED_KINDS else now + (self.gather or SETTLE)


@dataclass(frozen=True, slots=True)
class NoticeTarget:
    """Where messages go: an address of the settings or a device; `name` is for routes."""

    key: str
    name: str = ""

    @property
    def mark(self) -> str:
        """Return what a row may name it by: its key is a secret."""
        return _mark(self.key)


@cache
def _mark(key: str) -> str:
    """Return a hash that takes 10 ms to guess once: an address may hold a weak password."""
    return hashlib.scrypt(
        key.encode(), salt=b"notification target", n=4096, r=8, p=1, dklen=8
    ).hex()


@dataclass(frozen=True, slots=True)
class NoticeMessage:
    """One message for one or more notices; `link` is the page of the app to open."""

    title: str
    body: str
    link: str = ""
    urgent: bool = False
    url: str = ""

    @property
    def heading(self) -> str:
        """The title for places that do not show the sender."""
        return f"Lamplighter: {self.title}"

    @property
    def text(self) -> str:
        """The body with the address of the page."""
        return f"{self.body}\n\n{self.url}{self.link}" if self.url else self.body


def targets_for(routes: Sequence[str], targets: Sequence[NoticeTarget]) -> set[str]:
    """Return the keys of a notice's targets by the names of its routes; all where none fits."""
    wanted = {route.casefold() for route in routes}
    named = {each.key for each in targets if each.name.casefold() in wanted}
    return named or {each.key for each in targets}


def retry_delay(attempts: int) -> timedelta:
    """Return how long to wait after so many attempts that were not taken."""
    pause: timedelta = FIRST_PAUSE * (1 << min(max(0, attempts - 1), 12))
    return min(LONGEST_PAUSE, pause)


def compose_message(notices: Sequence[Notice], *, url: str = "") -> NoticeMessage:
    """Return one message for all of these notices; it opens the page of the worst."""
    worst = max(notices, key=lambda each: (each.urgent, each.level.rank, -each.id))
    urgent = worst.urgent or worst.level is Level.CRITICAL
    title, body = worst.title, worst.body or worst.title
    if len(notices) > 1:
        title, body = f"{title} (and {len(notices) - 1:,} more)", _listed(notices)
    return NoticeMessage(title, body, worst.link, urgent, url)


def _listed(found: Sequence[Notice]) -> str:
    listed = sorted(found, key=lambda each: (not each.urgent, -each.level.rank, each.id))
    lines = [line for each in listed[:LISTED_NOTICES] for line in _lines(each)]
    if len(listed) > LISTED_NOTICES:
        lines.append(f"and {len(listed) - LISTED_NOTICES:,} more")
    return "\n".join(lines)


def _lines(each: Notice) -> list[str]:
    """Return a notice as lines of a list; approvals are shown in full."""
    where = f"{each.service}: " if each.service else ""
    full = each.body.split("\n") if each.kind is NoticeKind.APPROVAL and each.body else []
    return [f"- {each.level.upper()} {where}{each.title}", *(f"  {line}" for line in full)]
