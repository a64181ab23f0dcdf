"""Devices over HTTP: a person in a browser can subscribe one, a token cannot."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from route_requests import SUBSCRIPTION, Asking

from lamplighter.domain.access.device import decode_key
from living import Server

DEVICES = "/api/v1/devices"
CHROME = "Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36"


@pytest.fixture
def browser(own_server: Server, own_client: httpx2.Client) -> Iterator[httpx2.Client]:
    shown = Asking(own_server.home, own_client).cookie()
    headers = {**shown, "Origin": own_server.url, "User-Agent": CHROME}
    with httpx2.Client(base_url=own_server.url, headers=headers, timeout=20) as asking:
        yield asking


def test_logging_out_removes_the_push_subscription_of_the_browser(
    browser: httpx2.Client, own_client: httpx2.Client
) -> None:
    begun = browser.get(DEVICES).json()
    assert begun["devices"] == []
    assert len(decode_key(begun["key"])) == 65
    queued = own_client.post("/api/v1/notices/test", json={}).json()
    assert queued["state"] == "failed"

    made = browser.post(DEVICES, json=SUBSCRIPTION)

    assert made.status_code == 201, made.text
    shown = made.json()
    assert (shown["name"], shown["host"]) == ("Chrome on Android", "fcm.googleapis.com")
    assert not {"endpoint", "auth", "p256dh"} & shown.keys()
    again = browser.post(DEVICES, json=SUBSCRIPTION).json()
    assert [each["id"] for each in browser.get(DEVICES).json()["devices"]] == [again["id"]]
    queued = own_client.post("/api/v1/notices/test", json={}).json()
    assert queued["state"] == "waiting"
    assert browser.get(DEVICES).json()["key"] == begun["key"]

    assert browser.delete("/api/v1/login").status_code == 204

    queued = own_client.post("/api/v1/notices/test", json={}).json()
    assert queued["state"] == "failed"


def test_a_new_push_endpoint_replaces_the_old_one_of_the_same_device(
    browser: httpx2.Client,
) -> None:
    first = browser.post(DEVICES, json=SUBSCRIPTION).json()
    moved = {**SUBSCRIPTION, "endpoint": "https://updates.push.services.mozilla.com/wpush/v2/new"}

    answer = browser.post(DEVICES, json={**moved, "replaces": SUBSCRIPTION["endpoint"]})

    assert answer.status_code == 201, answer.text
    found = [(each["id"], each["host"]) for each in browser.get(DEVICES).json()["devices"]]
    assert found == [(first["id"], "updates.push.services.mozilla.com")]


def test_a_token_cannot_read_add_or_remove_devices(
    own_client: httpx2.Client, browser: httpx2.Client
) -> None:
    number = browser.post(DEVICES, json=SUBSCRIPTION).json()["id"]

    answers = [
        own_client.get(DEVICES),
        own_client.post(DEVICES, json=SUBSCRIPTION),
        own_client.delete(f"{DEVICES}/{number}"),
    ]

    assert [each.status_code for each in answers] == [403, 403, 403]
    assert browser.delete(f"{DEVICES}/{number}").status_code == 204
    assert browser.delete(f"{DEVICES}/{number}").status_code == 404


@pytest.mark.parametrize(
    "wrong",
    [
        {"endpoint": "http://fcm.googleapis.com/1"},
        {"endpoint": "https://127.0.0.1/1"},
        {"endpoint": "https://[::1]/1"},
        {"endpoint": "https://2130706433/1"},
        {"endpoint": "https://localhost/1"},
        {"endpoint": "https://fcm.googleapis.com:8080/1"},
        {"endpoint": "https://fcm.googleapis.com@10.0.0.1/1"},
        {"endpoint": "https://fcm.googleapis.com\\@10.0.0.1/1"},
        {"keys": {**SUBSCRIPTION["keys"], "auth": "AAAA"}},
        {"keys": {**SUBSCRIPTION["keys"], "p256dh": "!"}},
    ],
)
def test_only_subscriptions_to_known_push_services_are_stored(
    browser: httpx2.Client, wrong: dict[str, Any]
) -> None:
    answer = browser.post(DEVICES, json={**SUBSCRIPTION, **wrong})

    assert answer.status_code == 422, answer.text
    assert browser.get(DEVICES).json()["devices"] == []
