"""Uptime Kuma's webhook: the monitor, its heartbeat, and a sentence.

It names no outage: a reminder and the end of one are told from its times alone.
"""

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from lamplighter.domain.errors import Invalid, Wrong
from lamplighter.formats.alerts import payload as words
from lamplighter.formats.alerts.alert import Alert, State

STATES: Final = {0: State.FIRING, 1: State.RESOLVED}  # 2 is pending and 3 maintenance
TESTING: Final = "testing"
_NUMBERS: Final = re.compile(r"\d+")


def parse(payload: Mapping[str, Any]) -> list[Alert]:
    """Return the alert of a heartbeat; a test, or a monitor that is maintained, is none."""
    beat, monitor = words.mapping(payload.get("heartbeat")), words.mapping(payload.get("monitor"))
    said = words.first(payload, "msg")
    if not beat and not said:
        raise Invalid(Wrong("msg", "is missing, and so is the heartbeat"))
    if not beat:
        return [] if said.lower().endswith(TESTING) else [_of_words(said)]
    number = beat.get("status")
    state = STATES.get(number) if isinstance(number, int) else None
    if state is None:
        return []
    name = words.first(monitor, "name", "friendly_name")
    return [
        Alert(
            fingerprint=words.key(
                words.first(beat, "monitorID") or words.first(monitor, "id", "name")
            ),
            state=state,
            at=words.moment(beat.get("time")),
            title=said or f"{name} is {state}",
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


def _of_words(said: str) -> Alert:
    """Return the alert of what comes without a heartbeat: that a certificate ends soon, say."""
    return Alert(fingerprint=words.key(_NUMBERS.sub("#", said)), state=State.FIRING, title=said)


def _hosts(monitor: Mapping[str, Any]) -> list[str]:
    found = words.first(monitor, "hostname")
    try:
        found = found or urlsplit(words.first(monitor, "url")).hostname or ""
    except ValueError:
        return []
    return [found, found.partition(".")[0]]


def _tags(monitor: Mapping[str, Any]) -> list[str]:
    tags = monitor.get("tags")
    given = [each for each in tags if isinstance(each, Mapping)] if isinstance(tags, list) else []
    return [words.first(each, part) for each in given for part in ("value", "name")]
