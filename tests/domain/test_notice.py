"""The text of a notification, and when it is sent."""

from datetime import UTC, datetime, timedelta

import pytest

from lamplighter.domain.services.event import Level
from lamplighter.domain.services.incident import IncidentOutcome
from lamplighter.domain.services.notice import (
    SETTLE,
    Notice,
    NoticeKind,
    NoticePolicy,
    NoticeState,
    compose_message,
    retry_delay,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def notice(number: int, title: str, level: Level = Level.CRITICAL, **more: object) -> Notice:
    given = {"kind": NoticeKind.EVENT, "body": "", "service": None, "event_id": None} | more
    return Notice(
        id=number,
        level=level,
        title=title,
        state=NoticeState.WAITING,
        attempts=0,
        next_at=NOON,
        problem="",
        created_at=NOON,
        sent_at=None,
        **given,  # type: ignore[arg-type]
    )


def test_one_notice_is_sent_as_its_own_message() -> None:
    found = compose_message([notice(1, "Web is down", body="It refuses.")], url="http://here")

    assert found.heading == "Lamplighter: Web is down"
    assert found.text == "It refuses.\n\nhttp://here"


def test_many_notices_are_one_message_with_the_most_severe_first() -> None:
    many = [notice(n, f"n{n}", Level.WARNING, service="web") for n in range(1, 1001)]
    message = compose_message([*many, notice(1001, "halted.", kind=NoticeKind.HALT)])

    assert message.heading == "Lamplighter: halted (and 1,000 more)"
    lines = message.body.split("\n")
    assert lines[0] == "- CRITICAL halted."
    assert lines[1] == "- WARNING web: n1"
    assert (len(lines), lines[-1]) == (21, "and 981 more")


@pytest.mark.parametrize(
    ("service", "title", "subject"),
    [
        ("web", "web fails: http: refused", "web fails: http: refused"),
        ("Web", "The incident of web was closed", "The incident of web was closed"),
        ("web", "webmail and web-2 are slow", "web: webmail and web-2 are slow"),
        (None, "The disk is full", "The disk is full"),
    ],
)
def test_message_names_its_service_once(service: str | None, title: str, subject: str) -> None:
    about = notice(1, title, service=service)

    assert compose_message([about]).title == subject
    assert compose_message([about, about]).body.split("\n")[0] == f"- CRITICAL {subject}"


INCIDENT = {"kind": NoticeKind.INCIDENT, "link": "/incidents/1"}


@pytest.mark.parametrize(
    ("notices", "type_"),
    [
        ([notice(1, "down", Level.CRITICAL, **INCIDENT)], "failure"),
        ([notice(1, "slow", Level.WARNING), notice(2, "healthy", Level.INFO)], "warning"),
        ([notice(1, "May it?", Level.WARNING, kind=NoticeKind.APPROVAL)], "warning"),
        ([notice(1, "healthy", Level.INFO, **INCIDENT)], "success"),
        ([notice(1, "healthy again", Level.INFO)], "success"),
        ([notice(1, "A report", Level.INFO, event_id=3)], "info"),
        ([notice(1, "A test", Level.INFO, kind=NoticeKind.TEST)], "info"),
        ([notice(1, "ok", Level.INFO), notice(2, "x", Level.INFO, event_id=3)], "info"),
    ],
)
def test_type_of_a_message_follows_its_most_severe_notice(
    notices: list[Notice], type_: str
) -> None:
    assert compose_message(notices).type.value == type_


@pytest.mark.parametrize(
    ("outcome", "type_", "level"),
    [
        (IncidentOutcome.REPAIRED, "success", "INFO"),
        (IncidentOutcome.BY_PERSON, "success", "INFO"),
        (IncidentOutcome.UNRESOLVED, "warning", "WARNING"),
        (IncidentOutcome.MERGED, "info", "INFO"),
        (IncidentOutcome.NONE, "info", "INFO"),
    ],
)
def test_end_of_an_incident_is_a_success_only_after_a_recovery(
    outcome: IncidentOutcome, type_: str, level: str
) -> None:
    ends = [notice(number, "ended", Level.INFO, **INCIDENT) for number in (1, 2)]

    message = compose_message(ends, outcomes={1: IncidentOutcome.RECOVERED, 2: outcome})

    assert message.type.value == type_
    assert f"- {level} ended" in message.body.splitlines()


def test_approvals_are_first_and_in_full_in_a_digest() -> None:
    many = [notice(n, f"n{n}", Level.CRITICAL, service="web") for n in range(1, 31)]
    body = "Session 3 wants to run, in /:\n/bin/true"
    asked = notice(31, "restart", Level.WARNING, kind=NoticeKind.APPROVAL, service="nas", body=body)

    lines = compose_message([*many, asked]).body.split("\n")

    assert lines[0] == "- WARNING nas: restart"
    assert lines[1:3] == ["  Session 3 wants to run, in /:", "  /bin/true"]
    assert lines[3] == "- CRITICAL web: n1"


@pytest.mark.parametrize(
    ("level", "told"),
    [("critical", ["critical"]), ("warning", ["warning", "critical"]), ("info", list(Level))],
)
def test_events_are_sent_from_the_configured_level(level: str, told: list[str]) -> None:
    telling = NoticePolicy(Level(level))

    assert [each.value for each in Level if telling.tells(each)] == told


def test_events_are_collected_and_approvals_sent_at_once() -> None:
    gathers = NoticePolicy(gather=timedelta(minutes=10))

    assert NoticePolicy().due(NoticeKind.EVENT, now=NOON) == NOON + SETTLE
    assert gathers.due(NoticeKind.EVENT, now=NOON) == NOON + timedelta(minutes=10)
    assert gathers.due(NoticeKind.APPROVAL, now=NOON) == NOON


def test_retries_of_a_failed_notice_have_increasing_delays() -> None:
    assert [retry_delay(n).total_seconds() for n in (1, 2, 3, 9, 10_000)] == [
        15,
        30,
        60,
        3_600,
        3_600,
    ]
