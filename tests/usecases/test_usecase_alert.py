"""Ingested alerts: one incident is one row and one request, despite repeated deliveries."""

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lamplighter.domain.configuration import Configuration
from lamplighter.domain.secrets.redact import build_redactor
from lamplighter.domain.services.alert import Alert, AlertState
from lamplighter.domain.services.service import Service, Services
from lamplighter.domain.sessions.session import RequestState, SessionPlan, Trigger
from lamplighter.formats.alerts.payload import MAX_CHARS
from lamplighter.repository import Database, writing
from lamplighter.repository.services import alerts, events
from lamplighter.repository.services.alerts import AlertFilter
from lamplighter.repository.sessions import requests, sessions
from lamplighter.repository.store import changes
from lamplighter.usecases.services import alert
from lamplighter.usecases.services.alert import MAX_QUEUED, AlertContext, AlertResult

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
JELLYFIN = Services((Service(name="Jellyfin"),))
REDACT = build_redactor([("A_TOKEN", "quite-a-secret")])
ACTIVE = Configuration(webhook_tier=2)
DOWN = Alert(
    fingerprint="7", state=AlertState.FIRING, title="is down", at=NOON, names=("nas", "jellyfin")
)
UP = replace(DOWN, state=AlertState.RESOLVED, title="is up", at=NOON + 5 * MINUTE)


async def took(db: Database, *given: Alert, active: Configuration = ACTIVE) -> list[AlertResult]:
    here = AlertContext(
        db=db,
        now=lambda: NOON + 10 * MINUTE,
        redact=REDACT,
        active=active,
        services=JELLYFIN,
    )
    return await alert.ingest_delivery(here, "uptime-kuma", given)


async def test_alert_files_a_request_for_an_investigation(db: Database) -> None:
    [taken] = await took(db, replace(DOWN, severity="critical", details={"error": "refused"}))

    assert taken.new
    request = taken.request
    assert request is not None
    assert (request.tier, request.trigger, request.services, request.position) == (
        2,
        Trigger.ALERT,
        ("Jellyfin",),
        1,
    )
    assert '- title: "is down"' in request.prompt
    assert '- detail "error: refused"' in request.prompt
    [event] = (await events.page(db, events.EventSelection(), limit=9)).items
    assert (event.level, event.service, event.text) == (
        "critical",
        "Jellyfin",
        "Alert from uptime-kuma: is down",
    )
    assert "alert" in [each.entity for each in await changes.list_after(db, 0)]


@pytest.mark.parametrize(
    ("title", "severity", "change"),
    [
        ("Deployed jellyfin 10.9", "", "deployment"),
        ("jellyfin.yml: config reloaded", "info", "configuration change"),
        ("Deployed jellyfin 10.9, now unavailable", "critical", ""),
        ("Deployment jellyfin has 0 of 2 replicas", "", ""),
        ("is down", "info", ""),
    ],
)
async def test_alert_about_a_deployment_is_recorded_as_a_change(
    db: Database, title: str, severity: str, change: str
) -> None:
    await took(db, replace(DOWN, title=title, severity=severity))
    await took(db, replace(UP, title=title, severity=severity))

    found = (await events.page(db, events.EventSelection(), limit=9)).items
    assert [each.change for each in reversed(found)] == [change, ""]
    last = await events.last_change(db, ["Jellyfin"], until=NOON + HOUR)
    assert (last.service if last else None) == ("Jellyfin" if change else None)


@pytest.mark.parametrize(
    ("ours", "highest", "asked", "tier"),
    [
        (1, 3, None, 1),
        (2, 3, None, 2),
        (3, 2, None, 2),
        (3, 2, 3, 2),
        (1, 3, 3, 1),
        (3, 3, 2, 2),
        (3, 3, 0, 1),
        (3, 3, 9, 3),
    ],
)
async def test_tier_of_a_payload_is_limited_by_the_settings(
    db: Database, ours: int, highest: int, asked: int | None, tier: int
) -> None:
    active = Configuration(webhook_tier=ours, max_tier=highest)

    [taken] = await took(db, replace(DOWN, tier=asked), active=active)

    assert taken.request is not None
    assert taken.request.tier == tier
    assert "tier" not in taken.request.prompt


async def test_alert_for_an_undeclared_service_requests_all_services(db: Database) -> None:
    [taken] = await took(db, replace(DOWN, names=("nas",)))

    assert taken.incident.service is None
    assert taken.request is not None
    assert taken.request.services is None


async def test_repeated_alert_keeps_its_request(db: Database) -> None:
    [first] = await took(db, DOWN)
    [again] = await took(db, replace(DOWN, at=NOON + MINUTE))

    assert not again.new
    assert again.incident.deliveries == 2
    assert again.request == first.request


async def test_resolved_alert_cancels_its_queued_request(db: Database) -> None:
    await took(db, DOWN)
    [over] = await took(db, UP)

    assert over.incident.state is AlertState.RESOLVED
    assert over.request is not None
    assert over.request.state is RequestState.CANCELLED
    texts = [each.text for each in (await events.page(db, events.EventSelection(), limit=9)).items]
    assert texts[0] == "uptime-kuma reports it resolved: is down. Request 1 was canceled."


async def test_resolved_alert_does_not_stop_a_running_session(db: Database) -> None:
    [taken] = await took(db, DOWN)
    assert taken.request is not None
    async with writing(db):
        session = await sessions.insert(db, SessionPlan(), model=None, epoch=1, now=NOON)
        await requests.claim(db, taken.request.id, session.id, now=NOON)

    [over] = await took(db, UP)

    assert over.request is not None
    assert over.request.state is RequestState.RUNNING


async def test_resolution_delivered_before_its_alert_counts(db: Database) -> None:
    await took(db, UP)
    [late] = await took(db, DOWN)
    [next_one] = await took(db, replace(DOWN, at=UP.at and UP.at + MINUTE))

    assert (late.new, late.incident.state) == (False, AlertState.RESOLVED)
    assert late.request is not None
    assert late.request.state is RequestState.CANCELLED
    assert (next_one.new, next_one.incident.state) == (True, AlertState.FIRING)


async def test_resolution_without_a_time_resolves_the_open_alert_once(db: Database) -> None:
    over = replace(UP, at=None)
    await took(db, replace(DOWN, at=None))
    await took(db, over)
    [again] = await took(db, over)
    [anew] = await took(db, replace(DOWN, at=NOON + 11 * MINUTE))

    assert not again.new
    assert anew.new


async def test_secrets_in_alerts_are_masked_before_storing(db: Database) -> None:
    [taken] = await took(
        db, replace(DOWN, title="key quite-a-secret", details={"a": "x quite-a-secret"})
    )

    assert taken.incident.title == "key [REDACTED:A_TOKEN]"
    assert taken.request is not None
    assert "quite-a-secret" not in taken.request.prompt


@pytest.mark.parametrize("named", [True, False], ids=["incidents named", "incidents told by times"])
async def test_repeated_deliveries_of_fifty_alerts_file_fifty_requests(
    db: Database, named: bool
) -> None:
    dice = random.Random(50)
    said: list[Alert] = []
    for number in range(50):
        own: dict[str, Any] = {
            "fingerprint": f"f{number % 25}",
            "incident": f"i{number}" if named else None,
            "names": (),  # those of one service would share a request
        }
        began = NOON + (number // 25) * 60 * MINUTE
        if not named:
            own["fingerprint"] = f"f{number}"
        down, up = replace(DOWN, **own, at=began), replace(UP, **own, at=began + 9 * MINUTE)
        reminded = replace(down, at=began + 3 * MINUTE)
        said += [down] * 120 + [up] * 40 + [reminded] * 40
    dice.shuffle(said)
    assert len(said) == 10_000

    for each in said[:100]:
        await took(db, each)
    for at in range(100, len(said), 3_300):
        await took(db, *said[at : at + 3_300])

    found = (await alerts.page(db, AlertFilter(), limit=200)).items
    asked = (await requests.page(db, None, limit=200)).items
    assert (len(found), len(asked)) == (50, 50)
    assert sum(each.deliveries for each in found) == 10_000
    assert {each.state for each in found} == {AlertState.RESOLVED}
    assert {each.state for each in asked} == {RequestState.CANCELLED}


async def test_secret_in_an_alert_is_masked_before_truncation(db: Database) -> None:
    words = "x" * (MAX_CHARS - 7) + "quite-a-secret"
    said = replace(DOWN, title=words, details={"error": words})

    [taken] = await took(db, said)

    assert taken.request is not None
    for kept in (taken.incident.title, taken.incident.details["error"], taken.request.prompt):
        assert "xxx" in kept
        assert "quite" not in kept
    assert len(taken.incident.title) == len(taken.incident.details["error"]) == MAX_CHARS


@pytest.mark.parametrize("incident", [None, "quite-a-secret#1"])
async def test_alert_identity_with_a_secret_is_stored_as_hash(
    db: Database, incident: str | None
) -> None:
    named = {"fingerprint": "https://nas/quite-a-secret", "incident": incident}

    taken = [await took(db, replace(each, **named)) for each in (DOWN, DOWN, UP)]

    [held] = (await alerts.page(db, AlertFilter(), limit=9)).items
    assert [each.incident.id for [each] in taken] == [held.id] * 3
    assert "quite" not in f"{held} {await changes.list_after(db, 0)}"


async def test_alerts_of_one_service_share_one_request(db: Database) -> None:
    first, second = DOWN, replace(DOWN, fingerprint="8", title="is slow")

    results = await took(db, first, second)

    assert len({each.request.id for each in results if each.request}) == 1
    await took(db, replace(first, state=AlertState.RESOLVED))
    assert await requests.count_queued(db, Trigger.ALERT) == 1
    await took(db, replace(second, state=AlertState.RESOLVED))
    assert await requests.count_queued(db, Trigger.ALERT) == 0


async def test_many_alerts_are_stored_but_queued_investigations_are_limited(
    db: Database,
) -> None:
    storm = [replace(DOWN, fingerprint=f"f{number}", names=()) for number in range(MAX_QUEUED + 3)]

    first = await took(db, *storm)
    again = await took(db, storm[-1])
    await took(db, *(replace(each, state=AlertState.RESOLVED) for each in storm[:2]))
    [late] = await took(db, storm[-1])
    [known] = await took(db, storm[-1])

    assert [each.request is None for each in first].count(True) == 3
    assert all(each.new for each in first)
    assert (again[0].new, again[0].request) == (False, None)
    assert late.new
    assert late.request is not None
    assert (known.new, known.incident.request_id) == (False, late.request.id)
    assert await requests.count_queued(db, Trigger.ALERT) == MAX_QUEUED - 1
