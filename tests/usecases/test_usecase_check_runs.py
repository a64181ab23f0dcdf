"""Scheduled check results: stored once, folded exactly, and one request for failures."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from examples import session

from contexts import context
from lamplighter.domain.errors import Invalid, NotFound
from lamplighter.domain.learning.signature import failure_key, signatures_of
from lamplighter.domain.secrets.redact import build_redactor
from lamplighter.domain.services.check import PushCheck, TcpCheck
from lamplighter.domain.services.series import DAY, CheckRun, PointState, SeriesResolution
from lamplighter.domain.services.service import Service, Services
from lamplighter.domain.sessions.session import CheckResult, RequestState, Trigger
from lamplighter.repository import Database, writing
from lamplighter.repository.services import checks, incidents, series
from lamplighter.repository.sessions import requests
from lamplighter.usecases.services import check_folding, check_runs
from lamplighter.usecases.services.check_folding import CheckRetention
from lamplighter.usecases.services.check_history import SeriesSelection, read_series, read_uptime
from lamplighter.usecases.system.overview import service_conditions

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
PORT = (TcpCheck(name="tcp", host="127.0.0.1", port=1),)
SERVICES = Services(
    (
        Service(name="db", checks=PORT),
        Service(name="web", checks=PORT, depends_on=("db",)),
        Service(name="mail", checks=PORT),
    )
)
PASSED, FAILED = PointState.PASSED, PointState.FAILED


def run(service: str, minutes: float = 0, state: PointState = PASSED, **more: object) -> CheckRun:
    values = {"latency_ms": 2.0, "detail": "" if state is PASSED else "connection refused"}
    at = NOON + minutes * MINUTE
    return replace(
        CheckRun(service=service, check="tcp", kind="tcp", at=at, state=state),
        **{**values, **more},  # type: ignore[arg-type]
    )


async def record(db: Database, *runs: CheckRun, again: bool = False) -> set[str]:
    here = context(db, max(each.at for each in runs))
    return await check_runs.record(here, runs, SERVICES, again=again)


async def filed(db: Database) -> list[tuple[str, ...]]:
    found = await requests.page(db, None, limit=100)
    assert {each.trigger for each in found.items} <= {Trigger.CHECK}
    return [each.services or () for each in reversed(found.items)]


async def stored(db: Database, service: str) -> list[tuple[datetime, PointState]]:
    held = (await series.find(db, [(service, "tcp")]))[service, "tcp"]
    end = NOON + 365 * DAY
    points = await series.all_points(db, {held.id: (NOON - DAY, end)})
    return [(each.at, each.state) for each in points[held.id]]


async def test_results_are_stored_with_the_state_of_their_check(db: Database) -> None:
    await record(db, run("db"), run("db", 1, FAILED, late_ms=1_500), run("mail", status=204))

    found = await series.find(db, [("db", "tcp"), ("mail", "tcp"), ("web", "tcp")])

    assert set(found) == {("db", "tcp"), ("mail", "tcp")}
    held = found["db", "tcp"]
    assert (held.state, held.streak, held.changed_at) == (FAILED, 1, NOON + MINUTE)
    assert (held.late_ms, held.detail) == (1_500, "connection refused")
    assert found["mail", "tcp"].status == 204
    assert await stored(db, "db") == [(NOON, PASSED), (NOON + MINUTE, FAILED)]


async def test_repeated_delivery_of_results_stores_them_once(db: Database) -> None:
    runs = [run("db"), run("db", 1), run("mail")]
    await record(db, *runs)

    await record(db, *runs, run("mail", 1), again=True)

    assert len(await stored(db, "db")) == 2
    assert len(await stored(db, "mail")) == 2
    assert (await series.find(db, [("db", "tcp")]))["db", "tcp"].streak == 2


async def test_clock_that_is_set_back_hides_no_failure_and_no_recovery(db: Database) -> None:
    await record(db, run("db", 60))

    await record(db, run("db", 0, FAILED))
    assert len(await incidents.live(db)) == 1

    await record(db, run("db", 62, FAILED))
    await record(db, run("db", 3))
    await record(db, run("db", 4))
    assert await incidents.live(db) == []


async def test_secret_in_check_output_is_masked(db: Database) -> None:
    here = replace(context(db), redact=build_redactor([("A_TOKEN", "quite-a-secret")]))

    await check_runs.record(here, [run("db", state=FAILED, detail="is quite-a-secret")], SERVICES)

    [held] = await series.failing(db)
    assert "quite-a-secret" not in held.detail


async def test_failing_check_files_one_request_until_it_passes(db: Database) -> None:
    await record(db, run("db"), run("mail"))
    assert await filed(db) == []

    await record(db, run("db", 1, FAILED))
    await record(db, run("db", 2, FAILED), run("mail", 2))
    assert await filed(db) == [("db",)]

    await record(db, run("db", 3))
    [incident] = await incidents.live(db)
    await record(db, run("db", 4))
    assert await incidents.live(db) == []
    ended = await incidents.get(db, incident.id)
    assert ended is not None
    assert (ended.resolved_at, ended.outcome) == (NOON + 4 * MINUTE, "recovered")

    await record(db, run("db", 10, FAILED))
    assert await filed(db) == [("db",), ("db",)]


async def test_services_that_fail_with_their_root_cause_share_one_request(db: Database) -> None:
    await record(db, run("db", 0, FAILED), run("web", 0, FAILED), run("mail", 0, FAILED))
    assert await filed(db) == [("db", "web"), ("mail",)]


async def test_service_that_fails_after_its_root_cause_joins_the_incident(db: Database) -> None:
    await record(db, run("db", 0, FAILED))
    await record(db, run("web", 1, FAILED), run("db", 1.1, FAILED))

    [incident] = await incidents.live(db)
    assert await filed(db) == [("db",)]
    assert (incident.service, incident.services) == ("db", ("db", "web"))


@pytest.mark.parametrize("order", [("http", "tls"), ("tls", "http")])
async def test_checks_that_fail_together_form_one_failure_in_any_order(
    db: Database, order: tuple[str, str]
) -> None:
    job = PushCheck(name="nightly", every=60.0)  # nothing runs for it: it is not waited for
    ports = tuple(replace(PORT[0], name=name) for name in ("http", "tls"))
    services = Services((Service(name="web", checks=(*ports, job)),))
    details = {"http": "connection refused at 127.0.0.1:80", "tls": "timed out after 5 s"}

    async def fails(check: str, seconds: float) -> set[str]:
        result = run("web", seconds / 60, FAILED, check=check, detail=details[check])
        return await check_runs.record(context(db, result.at), [result], services)

    assert (await fails(order[0], 0), await incidents.live(db)) == ({"web"}, [])
    assert await fails(order[1], 1) == set()

    [incident] = await incidents.live(db)
    [member] = (await incidents.members(db, [incident.id]))[incident.id]
    assert failure_key(signatures_of("web", member.detail)) == (
        "web|tls|timeout||timed out & web||refused||connection refused"
    )


async def test_failing_service_waits_for_the_dependencies_of_its_dependency(db: Database) -> None:
    chain = Services((*SERVICES, Service(name="front", checks=PORT, depends_on=("web",))))

    async def results(*runs: CheckRun) -> set[str]:
        return await check_runs.record(context(db, max(each.at for each in runs)), runs, chain)

    assert await results(run("front", 1, FAILED), run("db", 1.01)) == {"web"}
    assert await results(run("web", 1.02, FAILED)) == {"db"}
    assert await incidents.live(db) == []

    assert await results(run("db", 1.03)) == set()
    [incident] = await incidents.live(db)
    assert (incident.service, incident.services) == ("web", ("web", "front"))


async def test_failing_service_waits_for_new_results_of_its_dependencies(
    db: Database,
) -> None:
    await record(db, run("db", 0), run("web", 0))

    awaited = await record(db, run("web", 1, FAILED))
    assert (awaited, await filed(db)) == ({"db"}, [])

    awaited = await record(db, run("db", 1.1, FAILED))
    assert (awaited, await filed(db)) == (set(), [("db", "web")])


async def test_check_started_before_the_failure_is_not_a_new_result(
    db: Database,
) -> None:
    await record(db, run("db", 0), run("web", 0))

    await record(db, run("web", 1, FAILED))
    awaited = await record(db, run("db", 1.005, latency_ms=400.0))

    assert (awaited, await filed(db)) == ({"db"}, [])


async def test_failing_service_waits_at_most_ten_seconds(db: Database) -> None:
    await record(db, run("web", 0, FAILED))
    assert await filed(db) == []

    await record(db, run("mail", 0.2))
    assert await filed(db) == [("web",)]


async def test_fifty_services_of_one_root_cause_share_one_request(
    db: Database,
) -> None:
    root = Service(name="root", checks=PORT)
    leaves = [Service(name=f"s{n}", checks=PORT, depends_on=("root",)) for n in range(50)]
    services = Services((*leaves, root))

    for number, leaf in enumerate(leaves):
        now = NOON + timedelta(seconds=number)
        failed = replace(run(leaf.name, 0, FAILED), at=now)
        for name in await check_runs.record(context(db, now), [failed], services):
            found = replace(run(name, 0, FAILED), at=now)
            await check_runs.record(context(db, now), [found], services)

    [incident] = await incidents.live(db)
    assert len(await filed(db)) == 1
    assert (incident.service, len(incident.services)) == ("root", 51)


async def test_check_no_longer_declared_opens_no_incident(db: Database) -> None:
    await record(db, run("gone", 0, FAILED))

    assert await filed(db) == []


async def test_inconclusive_results_open_no_incident(db: Database) -> None:
    await record(db, run("db", 0, PointState.INCONCLUSIVE))

    assert await filed(db) == []
    assert await stored(db, "db") == [(NOON, PointState.INCONCLUSIVE)]


async def test_request_lists_the_failing_checks(db: Database) -> None:
    await record(db, run("db", 0, FAILED))

    [request] = (await requests.page(db, RequestState.QUEUED, limit=10)).items
    assert (request.tier, request.prompt) == (1, "Failing checks: db/tcp.")


async def fold(db: Database, minutes: float, **kept: timedelta) -> int:
    before = NOON + minutes * MINUTE
    return await check_folding.fold(db, CheckRetention(**kept), before=before)


async def aggregates(db: Database, span: SeriesResolution) -> list[tuple[datetime, int, int]]:
    held = (await series.find(db, [("db", "tcp")]))["db", "tcp"]
    found = await series.aggregates(
        db, span, held.id, start=NOON - 1_000 * DAY, end=NOON + 1_000 * DAY, limit=10_000
    )
    return [(each.at, each.count, each.failures) for each in found]


async def test_only_completed_spans_are_folded_and_only_once(db: Database) -> None:
    await record(db, *(run("db", n, FAILED if n == 3 else PASSED) for n in range(8)))

    assert await fold(db, 8) == 1
    assert await fold(db, 8) == 0

    assert await aggregates(db, SeriesResolution.FINE) == [(NOON, 5, 1)]
    assert await aggregates(db, SeriesResolution.DAILY) == []

    await record(db, run("db", 9))
    await fold(db, 11)
    assert await aggregates(db, SeriesResolution.FINE) == [(NOON, 5, 1), (NOON + 5 * MINUTE, 4, 0)]


async def test_uptime_counts_folded_and_single_results_of_the_worst_check(db: Database) -> None:
    await record(db, *(run("db", n, FAILED if n in (3, 12) else PASSED) for n in range(10)))
    await fold(db, 8)
    await record(db, *(run("db", n, FAILED if n == 12 else PASSED) for n in range(10, 20)))
    await record(db, run("db", 20, PointState.INCONCLUSIVE))
    declared = SERVICES.find("db")
    assert declared is not None

    found = await read_uptime(db, declared, now=NOON + 20 * MINUTE)

    assert (found["day"], found["quarter"]) == (90.0, 90.0)
    mail = SERVICES.find("mail")
    assert mail is not None
    assert (await read_uptime(db, mail, now=NOON))["day"] is None


async def test_days_are_folded_and_results_removed_after_their_retention(
    db: Database,
) -> None:
    for day in range(4):
        await record(db, *(run("db", day * 1_440 + n * 60) for n in range(24)))
        await fold(db, day * 1_440 + 24 * 60)

    await fold(db, 4 * 1_440)

    assert [count for _, count, _ in await aggregates(db, SeriesResolution.DAILY)] == [
        12,
        24,
        24,
        24,
    ]
    oldest = (await stored(db, "db"))[0][0]
    assert timedelta(hours=47) <= NOON + 4 * DAY - oldest <= timedelta(hours=50)


async def test_aggregates_are_removed_after_their_retention(db: Database) -> None:
    for day in range(5):
        await record(db, run("db", day * 1_440))
        await fold(db, day * 1_440 + 720 + 1, fine=timedelta(days=2), daily=timedelta(days=3))

    await record(db, run("db", 5 * 1_440))
    await fold(db, 6 * 1_440, fine=timedelta(days=2), daily=timedelta(days=3))

    assert len(await aggregates(db, SeriesResolution.FINE)) == 2
    assert len(await aggregates(db, SeriesResolution.DAILY)) == 2


async def test_day_is_folded_before_its_results_are_removed(db: Database) -> None:
    await record(db, *(run("db", n) for n in range(10)))

    await fold(db, 10 * 1_440)

    assert await aggregates(db, SeriesResolution.DAILY) == [(NOON - 12 * 60 * MINUTE, 10, 0)]
    assert await stored(db, "db") == []


async def test_service_status_is_its_newest_result(db: Database) -> None:
    await record(db, run("db", 0, FAILED), run("mail", 0, PointState.WARNED))
    await record(db, run("db", 1, FAILED))

    found = await service_conditions(db, list(SERVICES), SERVICES, now=NOON + 2 * MINUTE)

    assert [each.state for each in found] == ["failing", "unknown", "warning"]
    assert (found[0].changed_at, found[0].checked_at) == (NOON, NOON + MINUTE)
    assert found[0].detail == "tcp: connection refused"


async def test_newer_result_of_a_session_determines_the_status(db: Database) -> None:
    await record(db, run("db", 0, FAILED))
    opened = await session(db)
    result = CheckResult(service="db", name="tcp", kind="tcp", ok=True)
    async with writing(db):
        await checks.insert(db, opened.id, result, now=NOON + MINUTE)

    [found] = await service_conditions(db, [SERVICES.items[0]], SERVICES, now=NOON + 2 * MINUTE)

    assert found.state == "ok"


async def read(db: Database, **selection: object) -> dict[str, object]:
    wanted = SeriesSelection(end=NOON + 60 * MINUTE, **selection)  # type: ignore[arg-type]
    return await read_series(db, SERVICES.items[0], wanted, now=NOON)


async def test_series_is_read_at_the_resolution_of_its_span(db: Database) -> None:
    await record(db, *(run("db", n) for n in range(10)))
    await fold(db, 11)

    [raw] = (await read(db, limit=3))["checks"]  # type: ignore[misc]
    [fine] = (await read(db, start=NOON - DAY))["checks"]  # type: ignore[misc]

    assert [each["at"][11:16] for each in raw["points"]] == ["12:07", "12:08", "12:09"]
    assert [each["count"] for each in fine["aggregates"]] == [5, 5]
    assert fine["points"] == []


async def test_unknown_check_and_empty_span_are_rejected(db: Database) -> None:
    with pytest.raises(NotFound, match="db has no check 'http'"):
        await read(db, check="http")
    with pytest.raises(Invalid):
        await read(db, start=NOON + 60 * MINUTE)
