"""Changes before a failure: a deployment, or a change of configuration."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from lamplighter.domain.services.alert import level_of
from lamplighter.domain.services.event import Level, reports_change

BEFORE: Final = timedelta(minutes=30)
"""A change this long before a failure is recorded with the failure."""

MIN_FAILURES: Final = 2
"""The minimum number of failures after a change of this kind for a memory."""

MIN_SHARE: Final = 0.5
"""The minimum share of all changes of the kind that a failure followed."""

_CONFIGURATION: Final = re.compile(
    r"config|\b(?:settings?|manifest|compose|environment|declaration)\b", re.IGNORECASE
)

_DONE: Final = re.compile(
    r"\b(?:(?:re)?deployed|rolled|upgraded|downgraded|updated|released|reconfigured|changed|"
    r"edited|reloaded|applied|finished|completed|succeeded)\b",
    re.IGNORECASE,
)


class ServiceChange(StrEnum):
    """The kind of a change: the version of a service, its configuration, or services.yaml."""

    DEPLOYMENT = "deployment"
    CONFIGURATION = "configuration change"
    DECLARATION = "declaration change"


def change_of(text: str) -> ServiceChange | None:
    """Return the change that an event reports; None for any other event.

    >>> str(change_of("Deployed app 2.1")), str(change_of("config reloaded in nginx.conf"))
    ('deployment', 'configuration change')
    """
    if not reports_change(text):
        return None
    if _CONFIGURATION.search(text):
        return ServiceChange.CONFIGURATION
    return ServiceChange.DEPLOYMENT


def change_of_alert(title: str, severity: str) -> ServiceChange | None:
    """Return the change that an alert reports as done; None for an alert of a problem.

    >>> str(change_of_alert("Deployed app 2.1", "")), change_of_alert("Deployment unavailable", "")
    ('deployment', None)
    """
    if not _DONE.search(title) or (severity and level_of(severity) is not Level.INFO):
        return None
    return change_of(title)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeBefore:
    """The last change before a failure, of the service or of one of its dependencies."""

    kind: ServiceChange
    service: str
    text: str
    at: datetime
    seconds: float
    event_id: int

    @property
    def sentence(self) -> str:
        """Return the change as a sentence, for a timeline and a prompt."""
        before = duration_words(self.seconds)
        return f"{before} before: {self.kind} of {self.service}: {self.text}"

    def as_json(self) -> dict[str, Any]:
        """Return the change as JSON, for storage with an outcome."""
        kind, seconds = self.kind.value, round(self.seconds, 1)
        about = {"service": self.service, "text": self.text, "event": self.event_id}
        return {"kind": kind, **about, "seconds": seconds}


def duration_words(seconds: float) -> str:
    """Return a duration as text: whole seconds, or minutes rounded up."""
    if seconds < 60:
        return f"{max(1, round(seconds))} s"
    return f"{-(-seconds // 60):.0f} min"
