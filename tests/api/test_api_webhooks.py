"""Alerts over HTTP: who may send them, and the response to invalid alerts."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from living import Home, Server

TOKEN = "what-monitors-show-here"
HOOK = "/api/v1/webhooks/my-script"
DOWN = {"service": "jellyfin", "title": "is down", "id": "7", "tier": 3}


@pytest.fixture(scope="module")
def hooked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    more = {"LAMPLIGHTER_WEBHOOK_TOKEN": TOKEN, "LAMPLIGHTER_WEBHOOK_TIER": "2"}
    home = Home(tmp_path_factory.mktemp("hooked") / "home", more)
    home.services.write_text("services:\n  Jellyfin: {checks: [{name: a, tcp: 127.0.0.1:9}]}\n")
    server = Server(home)
    yield server
    server.kill()


def post(server: Server, *, headers: dict[str, str] | None = None, **more: Any) -> httpx2.Response:
    shown = {"Authorization": f"Bearer {TOKEN}"} if headers is None else headers
    given = {"json": DOWN} | more
    if "content" in more:
        del given["json"]
    address = given.pop("address", HOOK)
    return httpx2.post(f"{server.url}{address}", headers=shown, timeout=20, **given)


def test_alerts_are_rejected_without_the_setting(own_server: Server) -> None:
    for headers in ({}, {"Authorization": "Bearer x"}, own_server.headers):
        answer = post(own_server, headers=headers)
        assert answer.status_code == 503
        assert answer.headers["content-type"] == "application/problem+json"
        assert "LAMPLIGHTER_WEBHOOK_TOKEN" in answer.json()["detail"]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer nonsense"},
        {"Authorization": f"Bearer {TOKEN}x"},
        {"Authorization": f"Basic {TOKEN}"},
        {"X-Lamplighter-Token": "nonsense"},
        {"Authorization": "Bearer nonsense", "X-Lamplighter-Token": TOKEN},
    ],
    ids=str,
)
def test_alerts_require_the_token(hooked: Server, headers: dict[str, str]) -> None:
    answer = post(hooked, headers=headers)

    assert answer.status_code == 401
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_token_in_the_query_string_is_ignored(hooked: Server) -> None:
    address = f"{HOOK}?token={TOKEN}"

    assert post(hooked, headers={}, address=address).status_code == 401


def test_a_webhook_token_is_denied_on_other_routes(hooked: Server) -> None:
    made = {"scopes": ["webhooks:write"]}
    tokens = f"{hooked.url}/api/v1/tokens"
    words = httpx2.post(tokens, json=made, headers=hooked.headers, timeout=20).json()["token"]
    for shown in (TOKEN, words):
        headers = {"Authorization": f"Bearer {shown}"}
        assert post(hooked, headers={"X-Lamplighter-Token": shown}).status_code in (200, 202)
        found = httpx2.get(f"{hooked.url}/api/v1/alerts", headers=headers, timeout=20)
        assert found.status_code == (401 if shown == TOKEN else 403)


def test_a_token_without_the_webhook_scope_is_denied(hooked: Server) -> None:
    tokens = f"{hooked.url}/api/v1/tokens"
    made = {"scopes": ["write"]}
    words = httpx2.post(tokens, json=made, headers=hooked.headers, timeout=20).json()["token"]

    assert post(hooked, headers={"Authorization": f"Bearer {words}"}).status_code == 403


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"", 400),
        (b"  ", 400),
        (b"{", 400),
        (b"\xff", 400),
        (b'{"a": NaN}', 400),
        (b'{"a":' * 40 + b"1" + b"}" * 40, 400),
        (b'{"a":' * 50_000, 400),
        (b"[]", 422),
        (b"null", 422),
        (b"{}", 422),
        (b'{"title": "' + b"x" * 300_000 + b'"}', 413),
    ],
    ids=lambda given: repr(given[:9]) if isinstance(given, bytes) else str(given),
)
def test_an_invalid_alert_body_is_rejected(hooked: Server, content: bytes, status: int) -> None:
    answer = post(hooked, content=content)

    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"


def test_the_webhook_accepts_only_post(hooked: Server) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}

    answer = httpx2.get(f"{hooked.url}{HOOK}", headers=headers, timeout=20)

    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert answer.json()["detail"] == "GET is not supported here. Use POST."


def test_an_invalid_webhook_name_is_not_found(hooked: Server) -> None:
    assert post(hooked, address="/api/v1/webhooks/A%20b").status_code == 404


def test_a_repeated_alert_creates_no_second_request(hooked: Server) -> None:
    first = post(hooked, json={**DOWN, "id": "unheard of"}, headers=None)
    again = post(hooked, json={**DOWN, "id": "unheard of"}, headers=None)

    assert (first.status_code, again.status_code) == (202, 200)
    request = first.json()["request"]
    assert request["position"] >= 1
    assert (request["tier"], request["services"], request["trigger"]) == (2, ["Jellyfin"], "alert")
    assert "prompt" not in request, "the sender gets no prompt"
    assert again.json()["request"]["id"] == request["id"]
    [alert] = again.json()["alerts"]
    assert (alert["new"], alert["deliveries"]) == (False, 2)
    query = {"source": "my-script", "service": "jellyfin", "state": "firing"}
    listed = httpx2.get(
        f"{hooked.url}/api/v1/alerts", params=query, headers=hooked.headers, timeout=20
    )
    assert alert["id"] in [each["id"] for each in listed.json()["items"]]


def test_a_test_delivery_of_uptime_kuma_succeeds_without_an_alert(hooked: Server) -> None:
    tried = {"heartbeat": None, "monitor": None, "msg": "My Testing"}

    answer = post(hooked, json=tried, address="/api/v1/webhooks/uptime-kuma")

    assert (answer.status_code, answer.json()) == (200, {"request": None, "alerts": []})
