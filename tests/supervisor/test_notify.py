"""Notifications by real processes to a real server; their addresses are secrets."""

import asyncio
import http.server
import json
import logging
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
from homes import Home

from lamplighter.config.settings import read_settings
from lamplighter.domain.services.notice import (
    MessageType,
    NoticeKind,
    NoticeMessage,
    NoticeTarget,
)
from lamplighter.serve import home as homes
from lamplighter.serve.outbox import AppriseTransport, address_problems, secrets_in

# what Apprise imports imports it
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")

CANARY = "Canary7Secret"
PASSWORD = "correcthorse"


@dataclass
class Inbox:
    """An HTTP server that stores posted messages, and responds with `status`."""

    status: int = 200
    delay: float = 0
    got: list[dict[str, Any]] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"json://someone:{PASSWORD}@127.0.0.1:{self.port}/{CANARY}"


@pytest.fixture
def inbox() -> Iterator[Inbox]:
    yield from receiving()


def receiving() -> Iterator[Inbox]:
    """Run the server of an inbox for the duration of the test."""
    held = Inbox()

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            held.got.append(json.loads(body))
            time.sleep(held.delay)
            self.send_response(held.status)
            if 300 <= held.status < 400:
                self.send_header("Location", "/elsewhere")
            self.end_headers()

        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    held.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield held
    server.shutdown()
    server.server_close()


async def test_notification_is_delivered_verbatim(inbox: Inbox) -> None:
    text = "<b>&amp; *not* markdown*\nline two"
    message = NoticeMessage("A title", "", text=text, type=MessageType.FAILURE)

    assert await AppriseTransport([inbox.url]).send(NoticeTarget(inbox.url), message) == ""

    [got] = inbox.got
    assert (got["title"], got["message"]) == ("Lamplighter: A title", text)
    assert got["type"] == "failure"


@pytest.mark.parametrize("how", ["refused", "closed", "nonsense", "unknown"])
async def test_notification_address_is_never_shown_or_logged(
    inbox: Inbox, how: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    inbox.status = 500
    closed = inbox.url.replace(str(inbox.port), "9")
    url = {
        "refused": inbox.url,
        "closed": closed,
        "nonsense": f"{CANARY}{PASSWORD}",
        "unknown": f"nosuch://{PASSWORD}@{CANARY}",
    }[how]
    caplog.set_level(logging.DEBUG)

    why_not = await AppriseTransport([url]).send(
        NoticeTarget(url), NoticeMessage("t", "b", text="x")
    )

    scheme = {"refused": "json", "closed": "json", "nonsense": "?", "unknown": "nosuch"}[how]
    what = {
        "refused": "rejected the message (HTTP 500)",
        "closed": "could not be reached, or did not answer in time",
    }.get(how, "is not a valid Apprise address")
    assert why_not == f"Address 1 of LAMPLIGHTER_NOTIFY ({scheme}) {what}."
    told = caplog.text + "".join(capfd.readouterr()) + why_not
    assert CANARY not in told
    assert PASSWORD not in told
    assert address_problems([url]) == ([] if scheme == "json" else [why_not])


async def test_redirect_is_no_delivery(inbox: Inbox) -> None:
    inbox.status = 302  # followed, a POST becomes a GET without the message

    why_not = await AppriseTransport([inbox.url]).send(
        NoticeTarget(inbox.url), NoticeMessage("t", "b", text="x")
    )

    assert "(HTTP 302, a redirect: set the address that it redirects to)" in why_not


async def test_slow_target_gets_a_message_once(inbox: Inbox) -> None:
    inbox.delay = 4.2  # longer than Apprise itself waits

    assert not await AppriseTransport([inbox.url]).send(
        NoticeTarget(inbox.url), NoticeMessage("t", "b", text="x")
    )
    assert len(inbox.got) == 1


async def test_failure_has_its_reason_whatever_is_sent_meanwhile(
    inbox: Inbox, family: Inbox
) -> None:
    inbox.status, inbox.delay = 500, 1
    transport = AppriseTransport([inbox.url, family.url])
    message = NoticeMessage("t", "b", text="x")

    failing = asyncio.create_task(transport.send(NoticeTarget(inbox.url), message))
    while not inbox.got:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    assert await transport.send(NoticeTarget(family.url), message) == ""

    assert "rejected the message (HTTP 500)" in await failing


def test_secrets_in_notification_addresses_are_masked(home: Home) -> None:
    url = f"ntfys://user:{PASSWORD}@ntfy.example.org/Topic-{CANARY}?token=tk_12345678"
    settings = read_settings({**home.env, "LAMPLIGHTER_NOTIFY": url})

    masked = homes.secrets(settings)(f"{url} {PASSWORD} Topic-{CANARY} tk_12345678 example.org")

    assert CANARY not in masked
    assert PASSWORD not in masked
    assert "tk_12345678" not in masked
    assert masked.endswith("example.org")
    assert "127.0.0.1" not in secrets_in("json://127.0.0.1:8080/x")


def test_notify_test_command_reports_its_outcome(home: Home, inbox: Inbox) -> None:
    assert home.run("notify", "test").returncode == 1
    home.env["LAMPLIGHTER_NOTIFY"] = inbox.url

    done = home.run("notify", "test")

    assert (done.returncode, done.stdout) == (0, "Test notification sent.\n"), done.stderr
    assert inbox.got[0]["title"] == "Lamplighter: This is a test notification."
    inbox.status = 500
    failed = home.run("notify", "test")
    assert failed.returncode == 1
    assert failed.stderr.endswith(
        "Address 1 of LAMPLIGHTER_NOTIFY (json) rejected the message (HTTP 500).\n"
    )
    told = "".join((failed.stdout, failed.stderr, home.run("doctor").stdout))
    told += home.run("settings").stdout
    kept = (home.path / "lamplighter.db").read_bytes()
    assert CANARY not in told
    assert PASSWORD not in told
    assert CANARY.encode() not in kept
    assert PASSWORD.encode() not in kept


def test_supervisor_sends_important_events(home: Home, inbox: Inbox) -> None:
    home.env["LAMPLIGHTER_NOTIFY"] = inbox.url
    home.engine("lines", "[EVENT:critical] The disk is full", f"[EVENT:critical] x {PASSWORD}")
    home.start("supervisor")

    home.until(lambda: inbox.got)

    [got] = inbox.got
    assert got["title"] == "Lamplighter: The disk is full (and 1 more)"
    assert "x [REDACTED:NOTIFY_SECRET]" in got["message"]
    home.until(lambda: home.rows("SELECT DISTINCT state FROM notices") == [("sent",)])
    kinds = {row[0] for row in home.rows("SELECT kind FROM notices")}
    assert kinds == {NoticeKind.EVENT.value}
    log = (home.path / "log").read_text()
    assert CANARY not in log
    assert PASSWORD not in log


@pytest.fixture
def family() -> Iterator[Inbox]:
    yield from receiving()


def test_service_alerts_go_to_its_targets_and_are_suppressed_while_paused(
    home: Home, inbox: Inbox, family: Inbox
) -> None:
    home.env["LAMPLIGHTER_NOTIFY"] = f"ops={inbox.url} family={family.url}"
    (home.path / "services.yaml").write_text(
        "services:\n"
        "  films: {notify: [family], checks: [{command: ['true']}]}\n"
        "  nas: {notify: [gone], checks: [{command: ['true']}]}\n"
        "  old: {paused: true, checks: [{command: ['true']}]}\n"
        "commands: ['true']\n"
    )
    home.start("up")
    url = f"http://127.0.0.1:{home.env['LAMPLIGHTER_PORT']}/api/v1"
    home.until(lambda: home.way_in() and answers(url, home))
    with httpx2.Client(base_url=url, headers=home.way_in()) as client:
        for service in ("films", "nas", "old"):
            event = {"level": "critical", "text": f"{service} is down", "service": service}
            assert client.post("/events", json=event).status_code == 201
        states = "SELECT service, state FROM notices WHERE title LIKE '%is down' ORDER BY service"
        home.until(lambda: len([each for each in home.rows(states) if each[1] == "sent"]) == 2)

    assert home.rows(states) == [("films", "sent"), ("nas", "sent"), ("old", "suppressed")]
    assert "films is down" in str(family.got)
    assert "nas is down" in str(family.got)
    assert "films" not in str(inbox.got)
    assert "nas is down" in str(inbox.got)
    assert "old is down" not in str([family.got, inbox.got])


def answers(url: str, home: Home) -> bool:
    try:
        return httpx2.get(f"{url}/services", headers=home.way_in()).status_code == 200
    except httpx2.TransportError:
        return False
