"""A session checks a service by a tool: the probe's own checks, bounded and stored as results."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from gates import NOON, RESTART, opened, running, uses
from toolboxes import box, refused, used

from lamplighter.domain.services.check import Check, CommandCheck, HttpCheck, TcpCheck
from lamplighter.domain.services.service import Service, Services
from lamplighter.domain.sessions.session import CheckResult
from lamplighter.repository import Database, writing
from lamplighter.repository.services import checks
from lamplighter.supervisor.actions import checking
from lamplighter.supervisor.tools import implementations

QUICK = {"timeout": 5.0, "retries": 0}


@asynccontextmanager
async def serving(answer: bytes) -> AsyncIterator[int]:
    """Serve one response on loopback; an empty response hangs."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            if not answer:
                await reader.read()
        except asyncio.IncompleteReadError:  # who asks may leave before it has asked
            pass
        finally:
            writer.close()
            await writer.wait_closed()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        yield int(server.sockets[0].getsockname()[1])


def http(status: str, body: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()


def services(*given: Check) -> Services:
    return Services((Service(name="Web", checks=given), Service(name="bare")))


async def test_later_check_confirms_an_unconfirmed_action(db: Database) -> None:
    async with serving(http("200 OK")) as port:
        pass
    checks = [TcpCheck(name=name, host="127.0.0.1", port=port, **QUICK) for name in ("one", "two")]
    action = replace(RESTART, wait=0.0)
    web = Service(name="Web", checks=tuple(checks), actions=(action,))
    tools = box(db, await opened(db), services=Services((web,)))

    acted = await used(tools, "run_action", service="web", action="restart", reason="It is down")
    found = [(await uses(db))[0]]
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", port)
    async with server:
        await used(tools, "look", service="web", check="one")
        found += await uses(db)
        await used(tools, "look", service="web")
        found += await uses(db)

    refused = f"connection refused at 127.0.0.1:{port}"
    words = f"done; not confirmed: one: {refused}; two: {refused}"
    assert acted.text == f"Ran: {words}. Use 1 of its cooldown, attempt 1."
    assert [(each.outcome, each.text) for each in found] == [
        ("unconfirmed", words),
        ("unconfirmed", words),
        ("success", "confirmed by a later check"),
    ]


async def test_look_runs_reports_and_stores_every_check(db: Database) -> None:
    async with serving(http("200 OK")) as port, serving(http("503 Busy")) as ill:
        well = HttpCheck(name="page", url=f"http://127.0.0.1:{port}/", **QUICK)
        bad = HttpCheck(name="api", url=f"http://u:hunter2-hunter2@127.0.0.1:{ill}/", **QUICK)
        session = await opened(db, tier=2)
        before = CheckResult(service="Web", name="page", kind="http", ok=False, detail="refused")
        async with writing(db):
            await checks.insert(db, session.id, before, now=NOON)

        answer = await used(box(db, session, services=services(well, bad)), "look", service="web")

    assert answer.text.startswith("Web: 1 of 2 checks passed.\n- page (http) passes: answer 200, ")
    assert "Before: failed 12:00 UTC" in answer.text
    assert "- api (http) FAILS: answer 503, " in answer.text
    assert "answered 503, expected 200-399. Not checked before" in answer.text
    assert answer.structured is not None
    assert (answer.structured["service"], answer.structured["healthy"]) == ("Web", False)
    assert [(each["check"], each["ok"]) for each in answer.structured["checks"]] == [
        ("page", True),
        ("api", False),
    ]
    kept = await checks.of_session(db, session.id)
    assert [(each.name, each.ok, each.status) for each in kept] == [
        ("page", False, None),
        ("page", True, 200),
        ("api", False, 503),
    ]
    assert "hunter2" not in f"{answer} {kept}"


async def test_look_reports_a_hanging_check_as_timed_out(db: Database) -> None:
    async with serving(b"") as port:
        slow = HttpCheck(name="page", url=f"http://127.0.0.1:{port}/", timeout=0.3, retries=0)
        tools = box(db, await opened(db), services=services(slow))
        began = time.monotonic()
        answer = await used(tools, "look", service="web")

    assert time.monotonic() - began < 30
    assert "FAILS: " in answer.text
    assert "timed out after 0.3 s" in answer.text


async def test_look_ends_a_hanging_check_with_its_processes(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking, "MAX_CHECK_SECONDS", 1.5)
    hangs = CommandCheck(name="hangs", argv=("/bin/sleep", "611.375"), timeout=60.0, retries=0)
    session = await opened(db)

    words = await refused(box(db, session, services=services(hangs)), "look", service="web")

    assert words == "Not done. The checks of Web failed to run: timed out after 1.5 s."
    assert await checks.of_session(db, session.id) == []
    assert running("611.375") == []


async def test_look_can_run_one_check(db: Database) -> None:
    async with serving(http("200 OK")) as port:
        chosen = TcpCheck(name="port", host="127.0.0.1", port=port, **QUICK)
        shut = TcpCheck(name="shut", host="127.0.0.1", port=1, **QUICK)
        tools = box(db, await opened(db), services=services(chosen, shut))

        answer = await used(tools, "look", service="web", check="PORT")

    assert answer.text.startswith("Web: 1 of 1 checks passed.\n- port (tcp) passes: ")


SHUT = TcpCheck(name="port", host="127.0.0.1", port=1, **QUICK)
NEEDED = Service(name="db", checks=(SHUT,))
NEEDS = Service(name="Web", checks=(SHUT,), depends_on=("db",))
OTHER = Service(name="other", checks=(SHUT,), depends_on=("Web",))
ALL = Services((NEEDED, NEEDS, OTHER, Service(name="bare")))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"service": "other"},
            "Not done. other is not in the scope of this session. In scope: Web, db.",
        ),
        (
            {"service": "bare"},
            "Not done. bare is not in the scope of this session. In scope: Web, db.",
        ),
        (
            {"service": "plex"},
            "Not done. 'plex' is not in services.yaml. Declared: db, Web, other, bare.",
        ),
        ({"service": "web", "check": "x"}, "Not done. Web has no check 'x'. Its checks: port."),
        ({}, 'Not done. service: is missing. For example: {"service": "jellyfin"}'),
        ({"service": ["web"]}, "Not done. service: must be text, not a list. For example: "),
        (
            {"service": "web", "url": "http://x"},
            "Not done. url: is unknown; valid names: service, ",
        ),
    ],
    ids=str,
)
async def test_look_rejects_services_and_checks_it_cannot_run(
    db: Database, given: dict[str, object], words: str
) -> None:
    session = await opened(db, tier=2, services=("Web",))

    assert (await refused(box(db, session, services=ALL), "look", **given)).startswith(words)
    assert await checks.of_session(db, session.id) == []


async def test_look_accepts_dependencies_of_services_in_scope(db: Database) -> None:
    tools = box(db, await opened(db, tier=2, services=("Web",)), services=ALL)

    answer = await used(tools, "look", service="db")

    assert "connection refused at 127.0.0.1:1" in answer.text


async def test_look_rejects_services_without_checks_and_uses_over_the_limit(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(implementations, "MAX_CHECKS", 0)
    tools = box(db, await opened(db), services=ALL)

    assert await refused(tools, "look", service="bare") == "Not done. bare declares no checks."
    assert await refused(tools, "look", service="web") == (
        "Not done. This session has reached its limit of 0 uses of look."
    )


async def test_look_reports_one_attempt_for_a_passing_check(db: Database) -> None:
    async with serving(http("200 OK")) as port:
        check = HttpCheck(name="page", url=f"http://127.0.0.1:{port}/", **QUICK)
        session = await opened(db, tier=2)

        answer = await used(box(db, session, services=services(check)), "look", service="web")

    assert "passes: answer 200" in answer.text
    assert "attempts" not in answer.text
