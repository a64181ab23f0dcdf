"""Alertmanager's webhook (version 4), which Grafana's alerting speaks too."""

from collections.abc import Mapping
from typing import Any, Final

from lamplighter.domain.errors import Invalid, InvalidField
from lamplighter.domain.services.alert import Alert, AlertState
from lamplighter.formats.alerts import payload as words

SERVICE_LABELS: Final = ("service", "app", "container", "deployment", "name", "job", "instance")
SUMMARY: Final = ("summary", "title", "message", "description")


def parse(payload: Mapping[str, Any]) -> list[Alert]:
    """Return the alerts of a group, each by its own fingerprint and the moment it began."""
    given = payload.get("alerts")
    if not isinstance(given, list) or not given:
        raise Invalid(InvalidField("alerts", "is not a list of alerts"))
    return [_alert(each, payload) for each in given if isinstance(each, Mapping)]


def _alert(each: Mapping[str, Any], group: Mapping[str, Any]) -> Alert:
    labels, notes = words.mapping(each.get("labels")), words.mapping(each.get("annotations"))
    status = words.first_text(each, "status") or words.first_text(group, "status")
    resolved = status.lower() == AlertState.RESOLVED
    began = words.moment(each.get("startsAt"))
    name = words.first_text(labels, "alertname")
    own = words.first_text(each, "fingerprint")
    ended = words.moment(each.get("endsAt")) if resolved else None
    return Alert(
        fingerprint=words.join_key(own) if own else words.join_key(*_written(labels), name),
        incident=began.isoformat() if began else None,
        state=AlertState.RESOLVED if resolved else AlertState.FIRING,
        at=ended or began,
        title=words.first_text(notes, *SUMMARY) or name or "Unnamed alert",
        names=words.names(_names(labels)),
        severity=words.severity(labels.get("severity")),
        tier=words.tier(labels.get("tier")),
        details=words.details({"alertname": name, **notes, **labels}, without=("severity",)),
    )


def _names(labels: Mapping[str, Any]) -> list[str]:
    found = [words.first_text(labels, label) for label in SERVICE_LABELS]
    host = found[-1].rpartition("//")[2].partition("/")[0].partition(":")[0]
    return [*found[:-1], host, host.partition(".")[0]]


def _written(labels: Mapping[str, Any]) -> list[str]:
    return [f"{name}={words.text(labels[name])}" for name in sorted(map(str, labels))]
