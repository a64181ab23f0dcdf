"""Any other sender: the fields that most of them have, by the names most of them use."""

from collections.abc import Mapping
from typing import Any, Final

from lamplighter.domain.errors import Invalid, InvalidField
from lamplighter.domain.services.alert import Alert, AlertState
from lamplighter.formats.alerts import alertmanager
from lamplighter.formats.alerts import payload as words

RESOLVED_WORDS: Final = frozenset(
    {"resolved", "ok", "up", "recovered", "recovery", "closed", "normal", "good", "healthy"}
)
TITLES: Final = ("title", "summary", "message", "msg", "text", "subject", "description", "name")
SERVICES: Final = ("service", "app", "monitor", "host", "hostname", "name")
MARKS: Final = ("fingerprint", "id", "key", "uid")
STATES: Final = ("state", "status")
SEVERITIES: Final = ("severity", "level", "priority")
TIMES: Final = ("at", "time", "timestamp", "startsAt", "date")
INCIDENTS: Final = ("incident", "incident_id")
_MAPPED_FIELDS: Final = (*MARKS, *STATES, *SEVERITIES, *TIMES, *INCIDENTS, "service")


def parse(payload: Mapping[str, Any]) -> list[Alert]:
    """Parse the alert of a payload, or the alerts of one in Alertmanager's form."""
    given = payload.get("alerts")
    if isinstance(given, list) and any("labels" in words.mapping(each) for each in given):
        return alertmanager.parse(payload)
    inner = {
        **words.mapping(payload.get("labels")),
        **words.mapping(payload.get("details")),
    }
    title = words.first_text(payload, *TITLES) or words.first_text(inner, *TITLES)
    if not title:
        raise Invalid(InvalidField("title", f"is missing; send one of {', '.join(TITLES)}"))
    state = words.first_text(payload, *STATES).lower()
    service = words.first_text(payload, *SERVICES) or words.first_text(inner, *SERVICES)
    incident = words.first_text(payload, *INCIDENTS)
    times = [words.moment(payload.get(name)) for name in TIMES]
    return [
        Alert(
            fingerprint=words.join_key(
                words.first_text(payload, *MARKS) or words.join_key(service, title)
            ),
            incident=words.join_key(incident) if incident else None,
            state=AlertState.RESOLVED if state in RESOLVED_WORDS else AlertState.FIRING,
            at=next((each for each in times if each), None),
            title=title,
            names=words.names([service]),
            severity=words.severity(words.first_text(payload, *SEVERITIES)),
            tier=words.tier(payload.get("tier")),
            details=words.details({**payload, **inner}, without=_MAPPED_FIELDS),
        )
    ]
