"""Messages of monitors, read as untrusted input."""

from datetime import UTC, datetime
from typing import Any

import pytest

from lamplighter.domain.errors import Invalid, NotFound
from lamplighter.domain.services.alert import Alert, AlertState, level_of
from lamplighter.formats.alerts import parse, parse_source
from lamplighter.formats.alerts.payload import READ_CHARS

BEGAN = datetime(2023, 2, 6, 13, 8, 45, 828000, tzinfo=UTC)
PROBE = {
    "status": "firing",
    "labels": {
        "alertname": "ProbeFailure",
        "instance": "https://jellyfin.example.org:8096/health",
        "job": "http_checks",
        "monitor": "master",
        "severity": "critical",
        "tier": "3",
    },
    "annotations": {"summary": "Probe failure: jellyfin", "description": "Down for over 5m."},
    "startsAt": "2023-02-06T13:08:45.828Z",
    "endsAt": "0001-01-01T00:00:00Z",
    "generatorURL": "http://prometheus.example.org:9090/graph",
    "fingerprint": "1a30ba71cca2921f",
}
GROUP: dict[str, Any] = {
    "receiver": "lamplighter",
    "status": "firing",
    "alerts": [PROBE],
    "groupLabels": {"alertname": "ProbeFailure"},
    "version": "4",
    "groupKey": '{}/{severity="critical"}:{alertname="ProbeFailure"}',
    "truncatedAlerts": 0,
}
MONITOR = {
    "id": 7,
    "name": "Jellyfin",
    "url": "http://media.lan:8096/health",
    "hostname": None,
    "port": None,
    "type": "http",
    "tags": [{"name": "service", "value": "jellyfin-web"}],
}
BEAT = {
    "monitorID": 7,
    "status": 0,
    "time": "2024-05-01 12:00:00.123",
    "msg": "connect ECONNREFUSED 10.0.0.5:8096",
    "important": True,
    "duration": 60,
    "timezone": "Europe/Berlin",
    "timezoneOffset": "+02:00",
    "localDateTime": "2024-05-01 14:00:00",
}
KUMA = {"heartbeat": BEAT, "monitor": MONITOR, "msg": "[Jellyfin] [🔴 Down] connect ECONNREFUSED"}
CHECK = {
    "name": "Nightly backup",
    "slug": "nightly-backup",
    "tags": "postgres prod",
    "desc": "",
    "status": "down",
    "last_ping": "2024-05-01T02:00:00+00:00",
    "n_pings": 300,
}
HEALTH = {
    "check": CHECK,
    "code": "f618072a-7bde-4eee-af63-71a77c5723bc",
    "status": "down",
    "now": "2024-05-01T03:05:00+00:00",
}


def test_an_alertmanager_message_is_parsed() -> None:
    [alert] = parse("alertmanager", GROUP)

    assert alert == Alert(
        fingerprint="1a30ba71cca2921f",
        incident=BEGAN.isoformat(),
        state=AlertState.FIRING,
        at=BEGAN,
        title="Probe failure: jellyfin",
        names=("http_checks", "jellyfin.example.org", "jellyfin"),
        severity="critical",
        tier=3,
        details={
            "alertname": "ProbeFailure",
            "summary": "Probe failure: jellyfin",
            "description": "Down for over 5m.",
            "instance": "https://jellyfin.example.org:8096/health",
            "job": "http_checks",
            "monitor": "master",
        },
    )


def test_a_resolved_alert_has_the_same_incident() -> None:
    over = {**PROBE, "status": "resolved", "endsAt": "2023-02-06T13:20:00Z"}

    [alert] = parse("alertmanager", {"status": "resolved", "alerts": [over]})

    assert alert.state is AlertState.RESOLVED
    assert (alert.fingerprint, alert.incident) == ("1a30ba71cca2921f", BEGAN.isoformat())
    assert alert.at == datetime(2023, 2, 6, 13, 20, tzinfo=UTC)


def test_an_alert_without_a_fingerprint_is_identified_by_its_labels() -> None:
    bare = {"labels": {"alertname": "X", "job": "a"}, "startsAt": "2023-02-06T13:08:45.828Z"}
    other = {**bare, "labels": {"alertname": "X", "job": "b"}}

    found = [alert.fingerprint for alert in parse("alertmanager", {"alerts": [bare, bare, other]})]

    assert found[0] == found[1] != found[2]


def test_a_grafana_message_is_parsed_like_one_of_alertmanager() -> None:
    assert parse("grafana", {**GROUP, "orgId": 1, "title": "[FIRING:1]"}) == parse(
        "alertmanager", GROUP
    )


def test_an_uptime_kuma_heartbeat_is_parsed() -> None:
    [alert] = parse("uptime-kuma", KUMA)

    assert alert == Alert(
        fingerprint="7",
        state=AlertState.FIRING,
        at=datetime(2024, 5, 1, 12, 0, 0, 123000, tzinfo=UTC),
        title="[Jellyfin] [🔴 Down] connect ECONNREFUSED",
        names=("Jellyfin", "media.lan", "media", "jellyfin-web", "service"),
        details={
            "monitor": "Jellyfin",
            "type": "http",
            "url": "http://media.lan:8096/health",
            "error": "connect ECONNREFUSED 10.0.0.5:8096",
        },
    )


@pytest.mark.parametrize(
    ("status", "state"), [(0, "firing"), (1, "resolved"), (2, None), (3, None), ("0", "firing")]
)
def test_only_down_and_up_of_uptime_kuma_are_alerts(status: object, state: str | None) -> None:
    found = parse("uptime-kuma", {**KUMA, "heartbeat": {**BEAT, "status": status}})

    assert [alert.state for alert in found] == ([state] if state else [])


def test_a_certificate_warning_of_uptime_kuma_is_an_alert_a_test_is_not() -> None:
    tried = {"heartbeat": None, "monitor": None, "msg": "Lamplighter Testing"}
    ends = "[Jellyfin][https://media.lan] TLS Certificate will be expired in {} days"
    found = [parse("uptime-kuma", {"msg": ends.format(days)})[0] for days in (14, 7)]

    assert parse("uptime-kuma", tried) == []
    assert found[0].fingerprint == found[1].fingerprint
    assert found[0].title == ends.format(14)


def test_a_healthchecks_message_is_parsed() -> None:
    [alert] = parse("healthchecks", HEALTH)

    assert alert == Alert(
        fingerprint="f618072a-7bde-4eee-af63-71a77c5723bc",
        state=AlertState.FIRING,
        at=datetime(2024, 5, 1, 3, 5, tzinfo=UTC),
        title="Nightly backup is down",
        names=("Nightly backup", "nightly-backup", "postgres", "prod"),
        details={
            "tags": "postgres prod",
            "slug": "nightly-backup",
            "last_ping": "2024-05-01T02:00:00+00:00",
            "n_pings": "300",
        },
    )


@pytest.mark.parametrize("status", ["up", "new", "paused", "grace"])
def test_only_up_of_healthchecks_resolves_an_alert(status: str) -> None:
    flat = {"code": "c", "name": "x", "status": status}

    found = [alert.state for alert in parse("healthchecks", flat)]

    assert found == ([AlertState.RESOLVED] if status == "up" else [])


def test_a_generic_message_is_parsed_by_common_field_names() -> None:
    [alert] = parse(
        "my-script",
        {
            "id": 12,
            "incident": "2024-17",
            "status": "PROBLEM",
            "host": "nas",
            "severity": "High",
            "message": "Disk 3\nis failing\u202e",
            "tier": 2,
            "time": 1_714_564_800,
            "labels": {"disk": "sdc", "Tier": "3"},
        },
    )

    assert alert == Alert(
        fingerprint="12",
        incident="2024-17",
        state=AlertState.FIRING,
        at=datetime(2024, 5, 1, 12, tzinfo=UTC),
        title="Disk 3 is failing",
        names=("nas",),
        severity="high",
        tier=2,
        details={"host": "nas", "message": "Disk 3 is failing", "disk": "sdc"},
    )


@pytest.mark.parametrize(
    ("severity", "level"),
    [("critical", "critical"), ("High", "warning"), ("", "warning"), ("low", "info")],
)
def test_a_severity_maps_to_an_event_level(severity: str, level: str) -> None:
    assert level_of(severity) == level


@pytest.mark.parametrize("word", ["resolved", "OK", "up", "Recovered", "closed"])
def test_resolved_states_are_recognized(word: str) -> None:
    assert parse("x", {"title": "t", "state": word})[0].state is AlertState.RESOLVED


@pytest.mark.parametrize(
    ("source", "payload", "field"),
    [
        ("alertmanager", {}, "alerts"),
        ("alertmanager", {"alerts": []}, "alerts"),
        ("alertmanager", {"alerts": "x"}, "alerts"),
        ("uptime-kuma", {}, "msg"),
        ("healthchecks", {}, "status"),
        ("healthchecks", {"status": "down"}, "code"),
        ("healthchecks", {"status": "$STATUS", "code": "c"}, "status"),
        ("uptime-kuma", {"heartbeat": {"status": "down"}}, "heartbeat.status"),
        ("other", {}, "title"),
        ("other", {"title": ["x"]}, "title"),
    ],
)
def test_a_missing_or_unknown_field_is_reported(
    source: str, payload: dict[str, Any], field: str
) -> None:
    with pytest.raises(Invalid) as found:
        parse(source, payload)

    assert field in {wrong.field for wrong in found.value.wrong}


@pytest.mark.parametrize("word", ["", "A", "a/b", "-a", "a" * 41, "a\n", "ä"])
def test_an_invalid_source_name_is_not_found(word: str) -> None:
    with pytest.raises(NotFound):
        parse_source(word)


def test_fields_of_an_alert_are_truncated() -> None:
    much = {f"k{number}": "x" * 10_000 for number in range(500)}

    [alert] = parse("x", {"title": "t" * 10_000, "id": "i" * 10_000, "labels": much, **much})

    assert len(alert.title) == READ_CHARS
    assert len(alert.fingerprint) <= 300
    assert len(alert.details) == 20
    assert max(map(len, alert.details.values())) == READ_CHARS
