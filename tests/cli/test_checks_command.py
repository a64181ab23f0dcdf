"""`lamplighter checks`."""

import asyncio
import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import Result

from contexts import context
from lamplighter import clock
from lamplighter.domain.services.check import TcpCheck
from lamplighter.domain.services.series import CheckRun, PointState
from lamplighter.domain.services.service import Service, Services
from lamplighter.repository import Database
from lamplighter.repository.store.database import sqlite_url
from lamplighter.usecases.services import check_runs

DB = Service(name="db", checks=(TcpCheck(name="tcp", host="127.0.0.1", port=1),))


def fill(home: Path) -> None:
    (home / "services.yaml").write_text("services: {db: {checks: [tcp: '127.0.0.1:1']}}\n")
    now = clock.now()
    passed = CheckRun(
        service="db",
        check="tcp",
        kind="tcp",
        at=now - timedelta(minutes=2),
        state=PointState.PASSED,
        latency_ms=1.5,
        late_ms=2_100,
    )
    failed = CheckRun(
        service="db",
        check="tcp",
        kind="tcp",
        at=now - timedelta(minutes=1),
        state=PointState.FAILED,
        attempts=3,
        detail="connection refused \x1b[31m",
    )

    async def record() -> None:
        async with Database(sqlite_url(home / "lamplighter.db")) as db:
            await check_runs.record(context(db, now), [passed, failed], Services((DB,)))

    asyncio.run(record())


def test_checks_prints_the_results_of_a_service(run, home: Path) -> None:  # type: ignore[no-untyped-def]
    fill(home)

    shown = run("checks", "db").output.splitlines()
    data = json.loads(run("checks", "DB", "--json").output)

    assert shown[0].startswith("tcp (tcp) failed, last checked 20")
    assert shown[1].endswith("passed   1.5 ms, began 2.1 s late")
    assert "failed   3 attempts, connection refused" in shown[2]
    assert "\x1b" not in shown[2]
    assert [each["state"] for each in data["checks"][0]["points"]] == ["passed", "failed"]


def test_checks_names_an_unknown_service_check_or_duration(run, home: Path) -> None:  # type: ignore[no-untyped-def]
    fill(home)

    assert "Service 'web' not found" in run("checks", "web").output
    assert "db has no check 'http'" in run("checks", "db", "--check", "http").output
    assert "is not a duration" in run("checks", "db", "--since", "long").output


@pytest.mark.parametrize("words", ["checks db", "services show db", "services signals db/backup"])
def test_a_service_of_an_invalid_file_is_not_reported_as_unknown(
    run: Callable[..., Result], home: Path, words: str
) -> None:
    (home / "services.yaml").write_text("services:\n  - db\n")

    result = run(*words.split())

    assert "services.yaml:2:3: found a list" in result.output
    assert "not found" not in result.output
    assert result.exit_code == 2
