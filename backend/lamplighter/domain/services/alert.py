"""The alert: one value for every sender."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from lamplighter.domain.services.event import Level, parse_level

_MILD: Final = frozenset({"info", "information", "informational", "low", "none", "ok", "debug"})


REPORTED: Final = "Alert from "
"""Begins the text of the event that reports a new alert."""


UNREQUESTED: Final = "No investigation was requested"
"""Part of that text if an alert starts no investigation."""


def level_of(severity: str) -> Level:
    """Return the level of an alert by its severity; an unknown word is a warning."""
    level = parse_level(severity)
    mild = severity.casefold() in _MILD
    return Level.WARNING if level is Level.INFO and not mild else level


class AlertState(StrEnum):
    """State of the problem that an alert reports."""

    FIRING = "firing"
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """The report of one delivery about one incident.

    `fingerprint` identifies the monitored object, and `incident` one outage of it; if the sender
    omits them, `at` distinguishes outages. `names` are possible names of the service, the likeliest
    first; `tier` is the tier that the sender requests.
    """

    fingerprint: str
    state: AlertState
    title: str
    incident: str | None = None
    at: datetime | None = None
    names: tuple[str, ...] = ()
    severity: str = ""
    tier: int | None = None
    details: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertIncident:
    """A stored alert: one incident, for any number of deliveries."""

    id: int
    source: str
    fingerprint: str
    incident: str
    state: AlertState
    service: str | None
    severity: str
    title: str
    details: Mapping[str, Any]
    request_id: int | None
    deliveries: int
    created_at: datetime
    last_at: datetime
    resolved_at: datetime | None
    version: int = 1
