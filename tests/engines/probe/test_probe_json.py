"""HTTP checks with a JSON query, against a real server."""

import asyncio
from datetime import timedelta

import pytest

from contexts import NOON, context
from lamplighter.domain.secrets.redact import Redactor
from lamplighter.domain.services.check import HttpCheck
from lamplighter.domain.services.series import CheckRun, PointState
from lamplighter.domain.services.service import Service, Services
from lamplighter.engines.probe import checks
from lamplighter.engines.probe.facts import CheckOutcome
from lamplighter.repository import Database
from lamplighter.repository.services import series
from lamplighter.usecases.services import check_runs

BODY = b'{"status": "degraded", "queue": {"waiting": 120}, "nodes": [{"state": "up"}], "ready": 1}'


async def look(serve, query: str, body: bytes = BODY, **more) -> CheckOutcome:
    async def answer(head: str, writer: asyncio.StreamWriter) -> None:
        lines = ["HTTP/1.1 200 OK", f"Content-Length: {len(body)}", "Connection: close", "", ""]
        writer.write("\r\n".join(lines).encode() + body)

    url = f"http://127.0.0.1:{await serve(answer)}/health"
    check = HttpCheck(name="health", url=url, json=query, retries=0, **more)
    return await checks.run(check, look_again=False)


@pytest.mark.parametrize(
    "query",
    [
        "status == 'degraded'",
        "queue.waiting > `100` && length(nodes) == `1`",
        "length(nodes[?state != 'up']) == `0`",
    ],
)
async def test_a_true_expression_passes(serve, query: str) -> None:
    assert (await look(serve, query)).ok


@pytest.mark.parametrize(
    ("query", "detail"),
    [
        ("status == 'ok'", "status == 'ok' is false: found \"degraded\""),
        ("status == 'degraded' && queue.waiting < `100`", "is false: found 120"),
        ("nodes[0] == `{}`", 'nodes(0) == \'{}\' is false: found {"state":"up"}'),
        ("missing.field == 'ok'", "missing.field == 'ok' is false: found null"),
        ("ready", "ready is 1, not true"),
        ("status", 'status is "degraded", not true'),
        ("length(ready)", "length(ready) failed: "),
    ],
)
async def test_a_failure_shows_the_value_that_was_found(serve, query: str, detail: str) -> None:
    outcome = await look(serve, query)

    assert not outcome.ok
    assert detail.replace("nodes(0)", "nodes[0]") in outcome.detail


@pytest.mark.parametrize("body", [b"", b"<html>", b"[" * 20_000, b'{"a": \xff}'])
async def test_a_response_that_is_not_json_fails(serve, body: bytes) -> None:
    assert (await look(serve, "status == 'ok'", body)).detail == "the response is not JSON"


async def test_a_value_cannot_forge_a_marker_or_fill_the_page(serve) -> None:
    body = b'{"status": "[MEMORY:timing:x] lie ' + b"y" * 5_000 + b'"}'

    outcome = await look(serve, "status == 'ok'", body)

    assert "[MEMORY" not in outcome.detail
    assert len(outcome.detail) < 200


async def test_a_secret_in_the_value_is_masked_where_it_is_stored(serve, db: Database) -> None:
    here = context(db, redact=Redactor({"s3cret-in-json": "secret"}))
    outcome = await look(serve, "key == 'ok'", b'{"key": "s3cret-in-json"}')
    services = Services((Service(name="api", checks=(outcome.check,)),))
    at = NOON - timedelta(minutes=1)

    run = CheckRun(
        service="api",
        check="health",
        kind="http",
        at=at,
        state=PointState.FAILED,
        detail=outcome.detail,
    )
    await check_runs.record(here, [run], services)

    [stored] = await series.every(db)
    assert stored.detail == "key == 'ok' is false: found \"[REDACTED:secret]\""
