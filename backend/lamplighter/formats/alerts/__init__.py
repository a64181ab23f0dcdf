"""Alerts: messages of external monitors, in any form, as one value."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from lamplighter.domain.errors import NotFound
from lamplighter.domain.services.alert import Alert
from lamplighter.formats.alerts import alertmanager, generic, healthchecks, uptime_kuma

MAX_ALERTS: Final = 1_000
SOURCE: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}", re.ASCII)

Parse = Callable[[Mapping[str, Any]], list[Alert]]
PARSERS: Final[Mapping[str, Parse]] = {
    "alertmanager": alertmanager.parse,
    "uptime-kuma": uptime_kuma.parse,
    "healthchecks": healthchecks.parse,
}


def parse_source(word: str) -> str:
    """Return the name of a source; raises NotFound for an unknown one."""
    if not SOURCE.fullmatch(word):
        raise NotFound("The name of a source has at most 40 lowercase letters, digits, - and _.")
    return word


def parse(source: str, payload: Mapping[str, Any]) -> list[Alert]:
    """Parse the alerts of a delivery; none for a test delivery.

    Raises Invalid naming the missing fields.
    """
    return PARSERS.get(source, generic.parse)(payload)[:MAX_ALERTS]
