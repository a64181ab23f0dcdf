"""Incidents: one for all services that fail together, identified by their root."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.services.event import Level
from lamplighter.domain.services.incident import (
    Incident,
    IncidentMember,
    IncidentOutcome,
    IncidentPlan,
    IncidentSource,
    IncidentState,
    IncidentWork,
    opening_words,
    outcome_of,
    person_words,
    plan_incidents,
    resolved_words,
    root_of,
    state_of,
)
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
Live = dict[int, tuple[Incident, list[IncidentMember]]]


def incident(*services: str, number: int = 7, **more: object) -> Incident:
    values = {
        "id": number,
        "service": services[0],
        "services": services,
        "state": IncidentState.OPEN,
        "severity": Level.CRITICAL,
        "source": IncidentSource.CHECK,
        "title": f"{services[0]} fails: tcp: connection refused",
        "started_at": EARLIER,
        "detected_at": EARLIER,
        "requested_at": EARLIER,
    }
    return Incident(**{**values, **more})  # type: ignore[arg-type]


def member(name: str, number: int = 7, **more: object) -> IncidentMember:
    values = {"incident_id": number, "service": name, "joined_at": EARLIER, "investigated": True}
    return IncidentMember(**{**values, **more})  # type: ignore[arg-type]


def live(*some: IncidentMember, **more: object) -> Live:
    return {7: (incident(*(each.service for each in some), **more), list(some))}


def plan(
    *failing: str, passing: tuple[str, ...] = (), of: Live | None = None, **last: datetime
) -> IncidentPlan:
    since = dict.fromkeys(failing, EARLIER)
    return plan_incidents(SERVICES, since, set(passing), of or {}, last, now=NOON)


def test_a_failing_service_opens_an_incident() -> None:
    assert plan("mail").open == (("mail",),)


def test_dependent_services_are_one_incident_of_their_root_cause() -> None:
    assert plan("web", "db", "api", "mail").open == (("db", "api", "web"), ("mail",))


def test_services_without_a_failing_link_have_separate_incidents() -> None:
    assert plan("web", "db").open == (("db",), ("web",))


def test_a_member_that_still_fails_changes_nothing() -> None:
    assert plan("db", of=live(member("db"))) == IncidentPlan()


def test_a_failing_service_joins_the_incident_of_its_dependency() -> None:
    found = plan("db", "api", of=live(member("db")))

    assert (found.open, found.join, found.investigate) == ((), {"api": 7}, {})


def test_a_service_joins_an_incident_whose_members_recover() -> None:
    """Its failure was measured just before; a later failure for another reason is separate."""
    ending = live(member("db"), member("api"), request_id=3)

    assert (plan("web", of=ending).open, plan("web", of=ending).join) == ((), {"web": 7})
    assert plan("mail", of=ending).open == (("mail",),)
    assert plan("web", "db", of=ending).open == (("web",),)
    assert plan("web", of=live(member("db"), member("api"))).open == (("web",),)


def test_an_incident_is_merged_into_that_of_a_root_cause_found_later() -> None:
    of = {
        7: (incident("db"), [member("db")]),
        8: (incident("web", number=8), [member("web", 8)]),
    }
    found = plan("db", "api", "web", of=of)
    assert (found.open, found.join, found.merge) == ((), {"api": 7}, {8: 7})
    assert plan("db", "web", of=of).merge == {}

    swapped = {
        7: (incident("web"), [member("web")]),
        8: (incident("db", number=8), [member("db", 8)]),
    }
    assert plan("db", "api", "web", of=swapped).merge == {7: 8}


@pytest.mark.parametrize(
    "more",
    [
        {"source": IncidentSource.ALERT},
        {"source": IncidentSource.SESSION},
        {"severity": Level.WARNING},
        {"detected_at": EARLIER - timedelta(minutes=5)},
        {"service": "mail", "services": ("mail", "web")},
    ],
)
def test_an_incident_of_another_failure_is_not_merged(more: dict[str, object]) -> None:
    of = {
        7: (incident("db"), [member("db")]),
        8: (incident("web", number=8, **more), [member("web", 8)]),
    }
    assert plan("db", "api", "web", of=of).merge == {}


def test_a_joined_service_is_investigated_after_the_others_recovered() -> None:
    joined = member("api", investigated=False)
    well = member("db", recovered_at=NOON)

    assert plan("api", "db", of=live(member("db"), joined)).investigate == {}
    assert plan("api", of=live(well, joined)).investigate == {7: ("api",)}


def test_a_member_recovers_and_may_fail_again() -> None:
    assert plan(passing=("db",), of=live(member("db"))).recovered == {"db"}
    well = member("db", recovered_at=EARLIER)
    assert plan("db", of=live(well, member("api"))).failed_again == {"db"}


def test_a_repeated_failure_is_investigated_at_most_every_five_minutes() -> None:
    again = member("db", investigated=False, failures=2)

    assert plan("db", of=live(again)).investigate == {7: ("db",)}
    recent = NOON - timedelta(minutes=1)
    assert plan("db", of=live(again, requested_at=recent)).investigate == {}


def test_an_interrupted_investigation_is_repeated() -> None:
    of = live(member("db"))
    args = {"failing": {"db": EARLIER}, "passing": set(), "last_detected": {}, "idle": {7}}

    assert plan_incidents(SERVICES, live=of, now=NOON, **args).investigate == {7: ("db",)}  # type: ignore[arg-type]
    args["idle"] = set()
    assert plan_incidents(SERVICES, live=of, now=NOON, **args).investigate == {}  # type: ignore[arg-type]


def test_a_flapping_service_opens_an_incident_after_five_minutes() -> None:
    assert plan("db", db=NOON - timedelta(minutes=1)).open == ()
    assert plan("db", db=EARLIER).open == (("db",),)


@given(st.integers(1, 60), st.randoms())
def test_services_of_one_root_are_one_incident(count: int, chance: object) -> None:
    leaves = [Service(name=f"s{n}", depends_on=("root",)) for n in range(count)]
    services = Services((Service(name="root"), *leaves))
    names = ["root", *(each.name for each in leaves)]
    chance.shuffle(names)  # type: ignore[attr-defined]
    since = {name: NOON + timedelta(seconds=n) for n, name in enumerate(names)}

    found = plan_incidents(services, since, set(), {}, {}, now=NOON)

    assert found.open == (("root", *sorted(each.name for each in leaves)),)


def test_the_root_cause_failed_first_and_is_explained_by_no_other_failure() -> None:
    web = Service(name="web", depends_on=("api", "mail"))
    services = Services((*SERVICES.items[:2], SERVICES.items[3], web))
    later = EARLIER + timedelta(seconds=1)

    assert root_of(services, {"web": EARLIER, "mail": later}) == "mail"
    assert root_of(services, {"web": EARLIER, "api": NOON, "mail": later}) == "mail"
    assert root_of(services, {"gone": EARLIER}) == "gone"


def test_a_dependency_cycle_has_a_root_cause() -> None:
    circle = Services((Service(name="a", depends_on=("b",)), Service(name="b", depends_on=("a",))))

    assert root_of(circle, {"a": NOON, "b": EARLIER}) == "b"


@pytest.mark.parametrize(
    ("work", "state"),
    [
        (IncidentWork(), IncidentState.OPEN),
        (IncidentWork(tiers=frozenset({1})), IncidentState.INVESTIGATING),
        (IncidentWork(tiers=frozenset({2}), person=True), IncidentState.INVESTIGATING),
        (IncidentWork(tiers=frozenset({3})), IncidentState.REPAIRING),
        (IncidentWork(acting=True, person=True), IncidentState.REPAIRING),
        (IncidentWork(tiers=frozenset({3}), waiting=True), IncidentState.WAITING),
        (IncidentWork(person=True), IncidentState.NEEDS_PERSON),
    ],
)
def test_the_state_of_an_incident_follows_its_sessions(
    work: IncidentWork, state: IncidentState
) -> None:
    assert state_of(work) is state


def test_an_escalated_incident_keeps_its_state_between_tiers() -> None:
    work = IncidentWork(handed_on=True)

    assert state_of(work, IncidentState.INVESTIGATING) is IncidentState.INVESTIGATING
    assert state_of(work, IncidentState.OPEN) is IncidentState.OPEN


def test_the_outcome_distinguishes_repair_person_and_recovery() -> None:
    assert outcome_of(action="restart", handled=True) is IncidentOutcome.REPAIRED
    assert outcome_of(action="", handled=True) is IncidentOutcome.BY_PERSON
    assert outcome_of(action="", handled=False) is IncidentOutcome.RECOVERED


def test_an_opened_and_a_resolved_incident_have_one_sentence_each() -> None:
    opened = incident("db", "api", "web")
    ended = incident("db", outcome=IncidentOutcome.REPAIRED, action="restart", resolved_at=EARLIER)

    assert opening_words(opened) == ("db fails: tcp: connection refused. Also affected: api, web.")
    person = person_words(opened, "The disk is full.")
    assert person == "db needs a person: The disk is full. Also affected: api, web."
    assert person_words(incident("db"), "The disk is full") == "db needs a person: The disk is full"
    wide = incident(*(f"s{number}" for number in range(12)))
    assert opening_words(wide).endswith(
        " Also affected: s1, s2, s3, s4, s5, s6, s7, s8 and 3 more."
    )
    assert resolved_words(ended) == "db is healthy again after 1 s; repaired by restart"
    late = replace(ended, repaired_at=EARLIER + timedelta(seconds=4), resolved_at=NOON)
    assert resolved_words(late) == "db is healthy again after 4 s; repaired by restart"
