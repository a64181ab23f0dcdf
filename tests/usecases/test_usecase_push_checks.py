"""Push checks: keys, signals and evaluation, on both databases."""

from dataclasses import replace
from datetime import timedelta

import pytest

from contexts import NOON, context
from lamplighter.domain.errors import NotFound
from lamplighter.domain.secrets.redact import Redactor
from lamplighter.domain.services.check import PushCheck
from lamplighter.domain.services.checks.push import MAX_A_MINUTE, SIGNALS_STORED, SignalKind
from lamplighter.domain.services.series import CheckSeries
from lamplighter.domain.services.service import Service, Services
from lamplighter.repository import Database
from lamplighter.repository.services import pushes, series
from lamplighter.repository.sessions import requests
from lamplighter.usecases.services import push_checks
from lamplighter.usecases.services.push_checks import TooManySignals

HOUR = timedelta(hours=1)
JOB = PushCheck(name="nightly", every=3_600.0, grace=300.0)
SERVICES = Services((Service(name="backup", checks=(JOB,)),))
SUCCESS, FAIL = SignalKind.SUCCESS, SignalKind.FAIL


async def only_series(db: Database) -> CheckSeries:
    [found] = await series.every(db)
    return found


async def count_requests(db: Database) -> int:
    from lamplighter.domain.sessions.session import Trigger

    return await requests.count_queued(db, Trigger.CHECK)


async def test_silent_job_fails_once_and_starts_one_investigation(db: Database) -> None:
    await push_checks.create_key(context(db), SERVICES, "Backup", "nightly")
    assert await push_checks.evaluate(context(db, NOON + HOUR), SERVICES) is None

    late = context(db, NOON + HOUR + timedelta(minutes=6))
    await push_checks.evaluate(late, SERVICES)
    assert await push_checks.evaluate(late, SERVICES) is None

    found = await only_series(db)
    assert (found.failing, found.streak) == (True, 1)
    assert found.checked_at == NOON + HOUR + timedelta(minutes=5)
    assert await count_requests(db) == 1


async def test_signals_received_without_a_supervisor_count_in_order(db: Database) -> None:
    key = await push_checks.create_key(context(db), SERVICES, "backup", "nightly")
    for hours in (0.5, 1.5, 2.5):
        await push_checks.receive(context(db, NOON + hours * HOUR), SERVICES, key, SUCCESS)

    await push_checks.evaluate(context(db, NOON + 3 * HOUR), SERVICES)

    found = await only_series(db)
    assert (found.failing, found.streak, found.checked_at) == (False, 3, NOON + 2.5 * HOUR)
    assert await count_requests(db) == 0


async def test_a_session_gets_no_push_check_without_a_result(db: Database) -> None:
    [before] = await push_checks.with_results(db, SERVICES)
    key = await push_checks.create_key(context(db), SERVICES, "backup", "nightly")
    [keyed] = await push_checks.with_results(db, SERVICES)
    await push_checks.receive(context(db), SERVICES, key, SUCCESS)
    await push_checks.evaluate(context(db), SERVICES)
    [reported] = await push_checks.with_results(db, SERVICES)

    assert (before.checks, keyed.checks) == ((), ())
    assert [each.name for each in reported.checks] == ["nightly"]


async def test_failed_run_is_recorded_with_its_masked_body(db: Database) -> None:
    here = context(db, redact=Redactor({"s3cret-of-a-job": "secret"}))
    key = await push_checks.create_key(here, SERVICES, "backup", "nightly")
    body = "login with s3cret-of-a-job\nrefused"

    sent = await push_checks.receive(here, SERVICES, key, FAIL, exit_status=4, body=body)
    await push_checks.evaluate(here, SERVICES)

    assert "s3cret" not in sent.body
    found = await only_series(db)
    assert found.failing
    assert found.detail.startswith("the job ended with exit status 4: login with")
    assert "s3cret" not in found.detail
    [resolved] = await push_checks.with_results(db, SERVICES)
    [check] = resolved.checks
    assert isinstance(check, PushCheck)
    assert (check.ok, check.detail, check.printed) == (False, found.detail, sent.body)


async def test_new_key_replaces_the_previous_one(db: Database) -> None:
    first = await push_checks.create_key(context(db), SERVICES, "backup", "nightly")
    second = await push_checks.create_key(context(db), SERVICES, "backup", "nightly")

    with pytest.raises(NotFound, match="No check has this key"):
        await push_checks.receive(context(db), SERVICES, first, SUCCESS)
    await push_checks.receive(context(db), SERVICES, second, SUCCESS)
    with pytest.raises(NotFound, match="No check has this key"):
        await push_checks.receive(context(db), Services(), second, SUCCESS)
    with pytest.raises(NotFound, match="backup has no push check 'x'"):
        await push_checks.create_key(context(db), SERVICES, "backup", "x")


async def test_body_with_an_unknown_key_is_not_processed(db: Database) -> None:
    class Unused(Redactor):
        def __call__(self, text: str) -> str:
            raise AssertionError("a body without a key was redacted")

    here = replace(context(db), redact=Unused())

    with pytest.raises(NotFound, match="No check has this key"):
        await push_checks.receive(here, SERVICES, "x", SUCCESS, body="x" * 100_000)


async def test_signals_are_limited_per_minute_and_old_ones_removed(db: Database) -> None:
    key = await push_checks.create_key(context(db), SERVICES, "backup", "nightly")
    for minute in range(2):
        here = context(db, NOON + timedelta(minutes=2 * minute))
        for _ in range(MAX_A_MINUTE):
            await push_checks.receive(here, SERVICES, key, SUCCESS)
        with pytest.raises(TooManySignals):
            await push_checks.receive(here, SERVICES, key, SUCCESS)
    while await push_checks.evaluate(context(db, NOON + HOUR), SERVICES) is not None:
        pass

    await push_checks.receive(context(db, NOON + HOUR), SERVICES, key, SUCCESS)

    assert (await only_series(db)).streak == 2 * MAX_A_MINUTE
    page = await pushes.page(db, "backup", "nightly", limit=500)
    assert len(page.items) == SIGNALS_STORED


async def test_check_misses_no_signals_while_undeclared(db: Database) -> None:
    await push_checks.create_key(context(db), SERVICES, "backup", "nightly")
    await push_checks.evaluate(context(db, NOON + HOUR), Services())

    await push_checks.evaluate(context(db, NOON + 9 * HOUR), SERVICES)
    assert await series.every(db) == []
    await push_checks.evaluate(context(db, NOON + 10.5 * HOUR), SERVICES)

    assert (await only_series(db)).streak == 1
