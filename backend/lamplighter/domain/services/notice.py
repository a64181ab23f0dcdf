"""Notices: messages to people outside of the app, and when they are sent."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache
from typing import Annotated, Final

from lamplighter.domain.fields import Field
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.incident import RECOVERIES, IncidentOutcome
from lamplighter.domain.text import name_subject

DEDUPLICATE_FOR: Final = timedelta(hours=1)
"""The period in which a repeated event sends no further notice."""

SETTLE: Final = timedelta(seconds=3)
"""The delay in which further events join an event in one message."""

GAP: Final = timedelta(minutes=1)
"""The minimum time between messages that contain only events."""

ABANDON_AFTER: Final = timedelta(days=1)
FIRST_PAUSE: Final = timedelta(seconds=15)
LONGEST_PAUSE: Final = timedelta(hours=1)
LISTED_NOTICES: Final = 20
MAX_TITLE_CHARS: Final = 300
INCIDENT_LINK: Final = "/incidents/"
APPROVAL_LINK: Final = "/approvals/"
NO_OUTCOMES: Final[Mapping[int, IncidentOutcome]] = {}
MAX_BODY_CHARS: Final = 4_000


class NoticeKind(StrEnum):
    """Kind of a notice."""

    EVENT = "event"
    INCIDENT = "incident"
    APPROVAL = "approval"
    HALT = "halt"
    TEST = "test"


class MessageType(StrEnum):
    """How a recipient marks a message, in the words of Apprise."""

    FAILURE = "failure"
    WARNING = "warning"
    SUCCESS = "success"
    INFO = "info"


GATHERED_KINDS: Final = (NoticeKind.EVENT, NoticeKind.INCIDENT)
"""Notices of these kinds wait for others, and are sent at most once a minute."""


class NoticeState(StrEnum):
    """Delivery state of a notice."""

    WAITING = "waiting"
    SENDING = "sending"
    SENT = "sent"
    FAILED = "failed"
    SUPPRESSED = "suppressed"


OPEN_STATES: Final = (NoticeState.WAITING, NoticeState.SENDING)
"""States of a notice that some target has not accepted yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A stored notice; `problem` is the reason of the last failed delivery."""

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
    """The page of the app with more details; empty for its first page."""

    reached: Annotated[tuple[str, ...], Field(public=False)] = ()
    """The marks of the targets that accepted it."""

    @property
    def urgent(self) -> bool:
        """Whether the notice is sent without waiting for others."""
        return self.kind not in GATHERED_KINDS

    @property
    def subject(self) -> str:
        """Return the title, which names the service first unless it contains the name."""
        return name_subject(self.service, self.title) if self.service else self.title

    @property
    def ended(self) -> bool:
        """Whether it reports the end of an incident, or the recovery of a service."""
        reported = self.kind in GATHERED_KINDS and self.event_id is None
        return reported and self.level is Level.INFO

    @property
    def ended_incident(self) -> int | None:
        """Return the incident whose end it reports."""
        if self.kind is not NoticeKind.INCIDENT or not self.ended:
            return None
        number = self.link.removeprefix(INCIDENT_LINK)
        return int(number) if number.isdigit() else 0


@dataclass(frozen=True, slots=True)
class NoticePolicy:
    """The events that send notifications: the minimum level, immediately or as a digest."""

    level: Level = Level.CRITICAL
    gather: timedelta | None = None
    addressed: bool = True
    """Whether the settings name an address; otherwise only subscribed devices are notified."""

    def tells(self, level: Level) -> bool:
        """Return whether an event of this level sends a notice."""
        return level.rank >= self.level.rank

    def due(self, kind: NoticeKind, *, now: datetime) -> datetime:
        """Return when a notice is due."""
        return now if kind not in GATHERED_KINDS else now + (self.gather or SETTLE)


@dataclass(frozen=True, slots=True)
class NoticeTarget:
    """A recipient of messages: an address of the settings or a device; `name` is for routes."""

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
    """One message for one or more notices; `link` is the page of the app to open.

    `text` is the body with the addresses of the pages that it reports.
    """

    title: str
    body: str
    link: str = ""
    urgent: bool = False
    text: str = ""
    type: MessageType = MessageType.INFO

    @property
    def heading(self) -> str:
        """The title for places that do not show the sender."""
        return f"Lamplighter: {self.title}"


def targets_for(routes: Sequence[str], targets: Sequence[NoticeTarget]) -> set[str]:
    """Return the keys of a notice's targets by the names of its routes; all if none matches."""
    wanted = {route.casefold() for route in routes}
    named = {each.key for each in targets if each.name.casefold() in wanted}
    return named or {each.key for each in targets}


def retry_delay(attempts: int) -> timedelta:
    """Return the delay after a number of failed attempts."""
    pause: timedelta = FIRST_PAUSE * (1 << min(max(0, attempts - 1), 12))
    return min(LONGEST_PAUSE, pause)


def compose_message(
    notices: Sequence[Notice],
    *,
    url: str = "",
    outcomes: Mapping[int, IncidentOutcome] = NO_OUTCOMES,
) -> NoticeMessage:
    """Return one message for several notices; its link opens the page of the most severe.

    If they have several pages, its text names the page of each. `outcomes` has, by notice, the
    outcomes of the incidents whose ends they report: an unresolved one is a warning.
    """
    unresolved = {key for key, each in outcomes.items() if each is IncidentOutcome.UNRESOLVED}
    notices = [
        replace(each, level=Level.WARNING) if each.id in unresolved else each for each in notices
    ]
    worst = max(notices, key=lambda each: (each.urgent, each.level.rank, -each.id))
    urgent = worst.urgent or worst.level is Level.CRITICAL
    title, body, link = worst.subject, worst.body or worst.subject, worst.link
    text, page = body, f"\n\n{url}{link}" if url else ""
    if len(notices) > 1:
        title = f"{title.removesuffix('.')} (and {len(notices) - 1:,} more)"
        text = body = _listed(notices)
        if url and len({each.link for each in notices}) > 1:
            text, page = _listed(notices, url), ""
    return NoticeMessage(title, body, link, urgent, text + page, _type_of(notices, outcomes))


def _type_of(notices: Sequence[Notice], outcomes: Mapping[int, IncidentOutcome]) -> MessageType:
    match max((each.level for each in notices), key=lambda level: level.rank):
        case Level.CRITICAL:
            return MessageType.FAILURE
        case Level.WARNING:
            return MessageType.WARNING
    healthy = all(
        each.ended and outcomes.get(each.id, IncidentOutcome.RECOVERED) in RECOVERIES
        for each in notices
    )
    return MessageType.SUCCESS if healthy else MessageType.INFO


def _listed(found: Sequence[Notice], url: str = "") -> str:
    listed = sorted(found, key=lambda each: (not each.urgent, -each.level.rank, each.id))
    lines = [line for each in listed[:LISTED_NOTICES] for line in _lines(each, url)]
    if len(listed) > LISTED_NOTICES:
        lines.append(f"and {len(listed) - LISTED_NOTICES:,} more")
    return "\n".join(lines)


def _lines(each: Notice, url: str) -> list[str]:
    """Return a notice as lines of a list; approvals are shown in full."""
    full = each.body.split("\n") if each.kind is NoticeKind.APPROVAL and each.body else []
    page = [f"{url}{each.link}"] if url else []
    return [f"- {each.level.upper()} {each.subject}", *(f"  {line}" for line in (*full, *page))]
