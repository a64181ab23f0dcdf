"""Silence on both databases: failures are recorded, and start nothing."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from contexts import DEFAULTS, NOON, context
from lamplighter.domain.errors import Conflict, Invalid, NotFound
from lamplighter.domain.services.alert import Alert, AlertState
from lamplighter.domain.services.check import TcpCheck
from lamplighter.domain.services.checks.silence import MaintenanceWindow, SilenceKind
from lamplighter.domain.services.series import CheckRun, PointState
from lamplighter.domain.services.service import Service, Services
from lamplighter.domain.sessions.session import Trigger
from lamplighter.repository import Database
from lamplighter.repository.access import journal
from lamplighter.repository.services import incidents, series
from lamplighter.repository.sessions import requests
from lamplighter.usecases.services import alert, check_runs, silence
from lamplighter.usecases.services.alert import AlertContext
from lamplighter.usecases.system.overview import ServiceState, overview

HOUR, MINUTE, SECOND = timedelta(hours=1), timedelta(minutes=1), timedelta(seconds=1)
DB = Service(name="db", checks=(TcpCheck(name="tcp", host="127.0.0.1", port=1),))
PAUSED = Services((replace(DB, paused=True),))
SERVICES = Services((DB,))
WINDOW = Services((replace(DB, maintenance=(MaintenanceWindow(start=NOON, end=NOON + HOUR),)),))


WEB = Service(
    name="web", depends_on=("db",), checks=(TcpCheck(name="tcp", host="127.0.0.1", port=2),)
)


async def fail(
    db: Database, services: Services, at: datetime, *names: str, detail: str = "refused"
) -> None:
    failed = CheckRun(
        service="db", check="tcp", kind="tcp", at=at, state=PointState.FAILED, detail=detail
    )
    runs = [replace(failed, service=name) for name in names or ("db",)]
    await check_runs.record(context(db, at), runs, services)


async def investigations(db: Database) -> int:
    return await requests.count_queued(db, Trigger.CHECK)


@pytest.mark.parametrize("services", [PAUSED, WINDOW])
async def test_failure_of_a_silenced_service_is_recorded_and_starts_nothing(
    db: Database, services: Services
) -> None:
    await fail(db, services, NOON)

    [found] = await series.failing(db)
    assert found.service == "db"
    assert await investigations(db) == 0


async def test_service_that_fails_after_its_window_is_investigated(db: Database) -> None:
    await fail(db, WINDOW, NOON + HOUR / 2)

    await fail(db, WINDOW, NOON + HOUR)

    assert await investigations(db) == 1


async def test_planned_work_explains_the_failures_of_dependents_until_it_ends(
    db: Database,
) -> None:
    services = Services((*WINDOW, WEB))
    await fail(db, services, NOON, "db")
    await fail(db, services, NOON + HOUR / 2, "web")

    assert (await incidents.live(db), await investigations(db)) == ([], 0)
    assert await silence.services_of_round(db, services, at=NOON + HOUR / 2) == ()
    found = await overview(db, services, start=NOON, now=NOON + HOUR / 2)
    assert (found.state, found.conditions[1].state) == (ServiceState.UNKNOWN, ServiceState.FAILING)
    expected = found.conditions[1].silence
    assert expected
    assert (expected.until, expected.reason) == (NOON + HOUR, "planned work on db")
    assert (await silence.silences(db, services, at=NOON + HOUR / 2))["web"] == expected

    await fail(db, services, NOON + HOUR - SECOND, "db")
    await fail(db, services, NOON + HOUR, "web")
    assert await incidents.live(db) == []  # the next result of db decides
    await fail(db, services, NOON + HOUR, "db")
    [opened] = await incidents.live(db)
    assert (opened.service, set(opened.services)) == ("db", {"db", "web"})


async def test_pause_without_an_end_explains_no_failure_of_a_dependent(db: Database) -> None:
    services = Services((*PAUSED, WEB))
    await fail(db, services, NOON, "db")

    await fail(db, services, NOON, "web")

    assert [each.service for each in await incidents.live(db)] == ["web"]
    assert await silence.services_of_round(db, services, at=NOON) == ("web",)


async def test_planned_work_without_a_next_result_explains_nothing_for_long(db: Database) -> None:
    services = Services((*WINDOW, WEB))
    await fail(db, services, NOON + HOUR - SECOND, "db")

    for minutes, incidents_open in ((4, 0), (6, 1)):
        await fail(db, services, NOON + HOUR + minutes * MINUTE, "web")
        assert len(await incidents.live(db)) == incidents_open


async def test_planned_work_does_not_explain_a_fault_of_the_dependent_itself(db: Database) -> None:
    services = Services((*WINDOW, WEB))
    await fail(db, services, NOON, "db")
    await fail(db, services, NOON, "web", detail="certificate expired on 2026-01-01")

    [opened] = await incidents.live(db)
    assert opened.services == ("web",)
    assert await silence.services_of_round(db, services, at=NOON) == ("web",)


async def test_healthy_dependent_of_planned_work_is_watched_as_before(db: Database) -> None:
    services = Services((*WINDOW, WEB))
    await fail(db, services, NOON, "db")

    assert set(await silence.silences(db, services, at=NOON)) == {"db"}


async def test_pause_ends_at_its_time_or_by_a_person(db: Database) -> None:
    until = NOON + HOUR
    found = await silence.pause(context(db), SERVICES, "DB", "new disk", by="ann", until=until)
    assert (found.kind, found.until, found.reason) == (SilenceKind.PAUSE, until, "new disk")
    await fail(db, SERVICES, NOON + HOUR / 2)
    assert await investigations(db) == 0

    later = context(db, NOON + HOUR)
    assert await silence.silences(db, SERVICES, at=NOON + HOUR) == {}
    await silence.pause(later, SERVICES, "db", "", by="ann")
    await fail(db, SERVICES, NOON + 2 * HOUR)
    assert await investigations(db) == 0
    assert await silence.resume(context(db, NOON + 3 * HOUR), SERVICES, "db", by="ann") is None
    await fail(db, SERVICES, NOON + 3 * HOUR)
    assert await investigations(db) == 1


async def test_pause_and_resume_can_be_undone_unless_changed_later(db: Database) -> None:
    at = [context(db, NOON + timedelta(minutes=minute)) for minute in range(8)]

    async def now_paused() -> str | None:
        found = (await silence.silences(db, SERVICES, at=NOON + HOUR)).get("db")
        return found and found.reason

    async def last_act() -> int:
        return (await journal.page(db, limit=1)).items[0].id

    await silence.pause(at[0], SERVICES, "db", "disk", by="ann")
    first = await last_act()
    await silence.pause(at[1], SERVICES, "db", "move", by="ann")

    with pytest.raises(Conflict, match="paused or resumed since"):
        await silence.revert(at[2], first, by="ann")
    await silence.revert(at[2], await last_act(), by="ann")
    assert await now_paused() == "disk"

    await silence.resume(at[3], SERVICES, "db", by="ann")
    resumed = await last_act()
    assert await now_paused() is None
    await silence.revert(at[4], resumed, by="ann")
    assert await now_paused() == "disk"
    with pytest.raises(Conflict, match="already undone"):
        await silence.revert(at[5], resumed, by="ann")
    await silence.revert(at[6], first, by="ann")
    assert await now_paused() is None


async def test_invalid_pause_and_resume_are_rejected(db: Database) -> None:
    with pytest.raises(NotFound, match="Service 'web' not found"):
        await silence.pause(context(db), SERVICES, "web", "", by="ann")
    with pytest.raises(Invalid, match="until: is not in the future"):
        await silence.pause(context(db), SERVICES, "db", "", by="ann", until=NOON)
    with pytest.raises(Conflict, match=r"db is paused in services.yaml"):
        await silence.resume(context(db), PAUSED, "db", by="ann")


async def test_alert_about_a_silenced_service_is_only_recorded(db: Database) -> None:
    here = AlertContext(
        db=db, now=lambda: NOON, redact=context(db).redact, active=DEFAULTS, services=PAUSED
    )
    firing = Alert(fingerprint="x", state=AlertState.FIRING, title="db is down", names=("db",))

    [taken] = await alert.ingest_delivery(here, "monitor", [firing])

    assert taken.incident.service == "db"
    assert taken.request is None


async def test_overview_shows_the_silence_and_excludes_it_from_the_state(db: Database) -> None:
    await fail(db, PAUSED, NOON)

    found = await overview(db, PAUSED, start=NOON - HOUR, now=NOON)

    [condition] = found.conditions
    assert condition.silence is not None
    assert (condition.state, found.state) == (ServiceState.FAILING, ServiceState.UNKNOWN)
