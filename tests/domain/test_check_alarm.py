"""Alarms: one investigation for all services that fail together."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.services.alarm import Alarm, AlarmPlan, plan_alarms
from lamplighter.domain.services.service import Service, Services

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
EARLIER = NOON - timedelta(minutes=10)
SERVICES = Services(
    (
        Service(name="db"),
        Service(name="api", depends_on=("db",)),
        Service(name="web", depends_on=("api",)),
        Service(name="mail"),
    )
)


def plan(*failing: str, passing: tuple[str, ...] = (), **alarms: Alarm) -> AlarmPlan:
    return plan_alarms(SERVICES, set(failing), set(passing), alarms, now=NOON)


def alarm(name: str, **more: object) -> Alarm:
    return Alarm(**{"service": name, "opened_at": EARLIER, "request_id": 7, **more})  # type: ignore[arg-type]


def test_a_failing_service_is_investigated() -> None:
    assert plan("mail").investigate == (("mail",),)


def test_services_that_depend_on_each_other_are_one_investigation() -> None:
    assert plan("web", "db", "api", "mail").investigate == (("api", "db", "web"), ("mail",))


def test_services_without_a_failing_link_are_separate() -> None:
    assert plan("web", "db").investigate == (("db",), ("web",))


def test_an_open_alarm_is_not_investigated_again() -> None:
    assert plan("db", db=alarm("db")) == AlarmPlan(join={})


def test_a_service_that_fails_beside_its_root_joins() -> None:
    found = plan("db", "api", db=alarm("db"))

    assert (found.investigate, found.join) == ((), {"api": "db"})


def test_a_joined_service_that_still_fails_alone_is_investigated() -> None:
    found = plan("api", db=alarm("db", closed_at=NOON), api=alarm("api", joined=True))

    assert found.investigate == (("api",),)


def test_an_alarm_closes_when_its_service_passes() -> None:
    assert plan(passing=("db",), db=alarm("db")).close == ("db",)


def test_a_service_that_flaps_waits_five_minutes() -> None:
    recent = alarm("db", opened_at=NOON - timedelta(minutes=1), closed_at=NOON)

    assert plan("db", db=recent).investigate == ()
    assert plan("db", db=alarm("db", closed_at=NOON)).investigate == (("db",),)


@given(st.integers(1, 60), st.booleans())
def test_services_of_one_root_are_one_investigation(count: int, with_root: bool) -> None:
    leaves = [Service(name=f"s{n}", depends_on=("root",)) for n in range(count)]
    services = Services((Service(name="root"), *leaves))
    failing = {each.name for each in leaves} | {"root"}

    found = plan_alarms(services, failing, set(), {}, now=NOON)

    assert found.investigate == (tuple(sorted(failing)),)
