"""Uptime Kuma's webhook: the monitor, its heartbeat, and a sentence.

It does not identify an outage: a reminder and the end of an outage are recognized by their times.
"""

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from lamplighter.domain.errors import Invalid, InvalidField
from lamplighter.domain.services.alert import Alert, AlertState
from lamplighter.formats.alerts import payload as words

STATES: Final = {"0": AlertState.FIRING, "1": AlertState.RESOLVED}
SILENT_STATES: Final = ("2", "3")
"""Pending and maintenance."""

TESTING: Final = "testing"
_NUMBERS: Final = re.compile(r"\d+")


def parse(payload: Mapping[str, Any]) -> list[Alert]:
    """Return the alert of a heartbeat; a test, or a monitor that is maintained, is none."""
    beat, monitor = words.mapping(payload.get("heartbeat")), words.mapping(payload.get("monitor"))
    message = words.first_text(payload, "msg")
    if not beat and not message:
        raise Invalid(InvalidField("msg", "is missing, and the heartbeat is missing too"))
    if not beat:
        return [] if message.lower().endswith(TESTING) else [_message_alert(message)]
    number = words.first_text(beat, "status")
    if number in SILENT_STATES:
        return []
    state = STATES.get(number)
    if state is None:
        raise Invalid(InvalidField("heartbeat.status", "must be 0 (down), 1 (up), 2 or 3"))
    name = words.first_text(monitor, "name", "friendly_name")
    return [
        Alert(
            fingerprint=words.join_key(
                words.first_text(beat, "monitorID") or words.first_text(monitor, "id", "name")
            ),
            state=state,
            at=words.moment(beat.get("time")),
            title=message or f"{name} is {state}",
            names=words.names([name, *_hosts(monitor), *_tags(monitor)]),
            details=words.details(
                {
                    "monitor": name,
                    "type": monitor.get("type"),
                    "url": monitor.get("url"),
                    "hostname": monitor.get("hostname"),
                    "port": monitor.get("port"),
                    "error": beat.get("msg"),
                }
            ),
        )
    ]


def _message_alert(text: str) -> Alert:
    """Return an alert without a heartbeat, such as an expiring certificate."""
    return Alert(
        fingerprint=words.join_key(_NUMBERS.sub("#", text)), state=AlertState.FIRING, title=text
    )


def _hosts(monitor: Mapping[str, Any]) -> list[str]:
    found = words.first_text(monitor, "hostname")
    try:
        found = found or urlsplit(words.first_text(monitor, "url")).hostname or ""
    except ValueError:
        return []
    return [found, found.partition(".")[0]]


def _tags(monitor: Mapping[str, Any]) -> list[str]:
    tags = monitor.get("tags")
    given = [each for each in tags if isinstance(each, Mapping)] if isinstance(tags, list) else []
    return [words.first_text(each, part) for each in given for part in ("value", "name")]
