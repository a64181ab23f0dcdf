"""Lasting warnings: when a check that passes needs a person, as a table."""

from datetime import UTC, datetime, timedelta

import pytest

from lamplighter.domain.services.checks.lasting import full_in, is_new, lasts, plan_warnings
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.incident import (
    Incident,
    IncidentMember,
    IncidentSource,
    IncidentState,
)
from lamplighter.domain.services.series import PointState, SeriesPoint
from lamplighter.domain.services.service import Service, Services

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SERVICES = Services(
    (Service(name="db"), Service(name="api", depends_on=("db",)), Service(name="mail"))
)
STATES = {
    "p": PointState.PASSED,
    "w": PointState.WARNED,
    "f": PointState.FAILED,
    "i": PointState.INCONCLUSIVE,
}


def points(states: str) -> list[SeriesPoint]:
    return [
        SeriesPoint(at=NOON + timedelta(minutes=number), state=STATES[each])
        for number, each in enumerate(states)
    ]


@pytest.mark.parametrize(
    ("kind", "states", "expected"),
    [
        ("http", "wwwww", True),
        ("http", "pwwwww", True),
        ("http", "wwww", False),
        ("http", "wwpww", False),
        ("http", "wwwwf", False),
        ("http", "wwiwww", True),
        ("http", "wwwwwi", True),
        ("tls", "pw", True),
        ("tls", "wp", False),
        ("disk", "", False),
    ],
)
def test_a_warning_lasts_after_some_results_in_a_row(
    kind: str, states: str, expected: bool
) -> None:
    assert lasts(kind, points(states)) is expected


def falling(
    start: float, per_hour: float, minutes: int, step: int = 1
) -> list[tuple[datetime, float]]:
    return [
        (NOON + timedelta(minutes=each), start - per_hour * each / 60)
        for each in range(0, minutes, step)
    ]


@pytest.mark.parametrize(
    ("free", "hours"),
    [
        (falling(40, 4, 120), 8),
        (falling(90, 2, 120), 43),
        (falling(40, 4, 20), None),
        (falling(40, 0.1, 120), None),
        (falling(40, 0, 120), None),
        ([*falling(40, 0, 60), *falling(20, 0, 0)], None),
        ([], None),
    ],
)
def test_the_trend_of_free_space_predicts_when_a_disk_is_full(
    free: list[tuple[datetime, float]], hours: int | None
) -> None:
    full = full_in(free)

    assert (full and round(full.total_seconds() / 3600)) == hours


def test_a_temporary_file_is_not_a_trend() -> None:
    steady = [(at, 40.0) for at, _ in falling(0, 0, 120)]
    dip = [(at, 25.0 if 50 <= number < 60 else value) for number, (at, value) in enumerate(steady)]

    assert full_in(dip) is None


@pytest.mark.parametrize(
    ("minutes", "since", "trend", "expected"),
    [
        (None, "", False, True),
        (10, "ppww", False, True),
        (10, "wwww", False, False),
        (3, "ppww", False, False),
        (10, "pppp", True, False),
        (24 * 60, "wwww", False, True),
    ],
)
def test_a_lasting_warning_opens_one_incident_per_day(
    minutes: int | None, since: str, trend: bool, expected: bool
) -> None:
    last = None if minutes is None else NOON - timedelta(minutes=minutes)

    assert is_new(last, points(since), trend=trend, now=NOON) is expected


def live(*services: str) -> dict[int, tuple[Incident, list[IncidentMember]]]:
    incident = Incident(
        id=7,
        service=services[0],
        services=services,
        state=IncidentState.OPEN,
        severity=Level.WARNING,
        source=IncidentSource.CHECK,
        title="",
        started_at=NOON,
        detected_at=NOON,
    )
    members = [IncidentMember(incident_id=7, service=each, joined_at=NOON) for each in services]
    return {7: (incident, members)}


def test_connected_warnings_are_one_incident_of_the_deepest_service() -> None:
    warning = {"api": NOON, "db": NOON + timedelta(seconds=4), "mail": NOON}

    assert plan_warnings(SERVICES, warning, frozenset(), {}) == ((("db", "api"), ("mail",)), {})


def test_a_warning_waits_where_a_connected_service_fails() -> None:
    assert plan_warnings(SERVICES, {"api": NOON}, {"db"}, {}) == ((), {})


def test_a_warning_joins_an_open_incident_of_a_connected_service() -> None:
    assert plan_warnings(SERVICES, {"api": NOON, "db": NOON}, frozenset(), live("db")) == (
        (),
        {"api": 7},
    )
