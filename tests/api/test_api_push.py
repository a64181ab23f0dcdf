"""Jobs report over HTTP with only their key; operators read the reports."""

from collections.abc import Iterator

import httpx2
import pytest

from living import Server

SERVICES = """
services:
  backup: {group: nas, tags: [night], checks: [{push: {every: 1d}, name: nightly}]}
  films: {checks: [{tcp: "127.0.0.1:9"}]}
"""
KEY = "/api/v1/services/backup/checks/nightly/push-key"
SIGNALS = "/api/v1/services/Backup/checks/nightly/signals"


@pytest.fixture
def job(own_server: Server) -> Iterator[httpx2.Client]:
    """A job: it shows no token."""
    own_server.home.services.write_text(SERVICES)
    with httpx2.Client(base_url=own_server.url, timeout=20) as client:
        yield client


def key_of(client: httpx2.Client) -> str:
    made = client.post(KEY, json={})
    assert made.status_code == 201
    assert made.json()["url"].endswith(f"/push/{made.json()['key']}")
    return str(made.json()["key"])


def test_a_job_reports_with_every_method_and_signal(
    job: httpx2.Client, own_client: httpx2.Client
) -> None:
    address = f"/push/{key_of(own_client)}"

    answers = [
        job.get(address),
        job.head(address),
        job.post(address, content=b"done"),
        job.get(f"{address}/start"),
        job.post(f"{address}/fail", data={"why": "disk full"}),
        job.get(f"{address}/0"),
        job.post(f"{address}/17", content=b"\xff\x00 broken"),
    ]

    assert [(each.status_code, each.text) for each in answers if each.request.method != "HEAD"] == [
        (200, "OK")
    ] * 6
    found = own_client.get(SIGNALS).json()["items"]
    assert [(each["kind"], each["exit_status"]) for each in reversed(found)] == [
        ("success", None),
        ("success", None),
        ("success", None),
        ("start", None),
        ("fail", None),
        ("success", 0),
        ("fail", 17),
    ]
    assert found[0]["body"] == "\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER} broken"
    assert found[2]["body"] == "why=disk+full"
    paged = own_client.get(SIGNALS, params={"limit": 3}).json()
    assert (
        own_client.get(SIGNALS, params={"limit": 3, "cursor": paged["next"]}).json()["items"][0]
        == (found[3])
    )


@pytest.mark.parametrize("path", ["", "/start", "/fail", "/0", "/256", "/done", "/0/1"])
def test_an_unknown_key_or_signal_is_not_found(
    job: httpx2.Client, own_client: httpx2.Client, path: str
) -> None:
    key = key_of(own_client)
    key_of(own_client)  # the first one has ended

    assert job.get(f"/push/{key}{path}").status_code == (401 if path == "/0/1" else 404)
    assert own_client.get(SIGNALS).json()["items"] == []


def test_a_removed_check_rejects_signals(
    own_server: Server, job: httpx2.Client, own_client: httpx2.Client
) -> None:
    key = key_of(own_client)
    own_server.home.services.write_text("services: {}\n")

    assert job.get(f"/push/{key}").status_code == 404


def test_a_long_body_is_truncated_and_secrets_are_masked(
    own_server: Server, job: httpx2.Client, own_client: httpx2.Client
) -> None:
    key, token = key_of(own_client), own_server.headers["Authorization"].partition(" ")[2]

    answer = job.post(f"/push/{key}", content=f"{token}\n".encode() + b"x" * 2_000_000)

    assert answer.status_code == 200
    [signal] = own_client.get(SIGNALS).json()["items"]
    assert token not in signal["body"]
    assert signal["body"].startswith("[REDACTED")
    assert 99_000 < len(signal["body"]) <= 100_000


def test_more_than_sixty_signals_per_minute_are_rejected(
    job: httpx2.Client, own_client: httpx2.Client
) -> None:
    address = f"/push/{key_of(own_client)}"

    statuses = [job.get(address).status_code for _ in range(62)]

    assert statuses == [200] * 60 + [429] * 2
    assert job.get(address).headers["retry-after"] == "60"


def test_the_key_is_neither_logged_nor_stored(
    own_server: Server, job: httpx2.Client, own_client: httpx2.Client
) -> None:
    key = key_of(own_client)
    job.get(f"/push/{key}/start")

    assert key not in own_server.log
    assert all(key not in str(row) for row in own_server.home.rows("SELECT * FROM push_checks"))


def test_a_service_is_paused_and_resumed(job: httpx2.Client, own_client: httpx2.Client) -> None:
    pause = "/api/v1/services/films/pause"

    paused = own_client.put(pause, json={"reason": "new disk", "until": "2099-01-01T00:00:00Z"})
    shown = own_client.get("/api/v1/services/films").json()["silence"]
    resumed = own_client.delete(pause)

    assert paused.json() == {"service": "films", "silence": shown}
    assert shown == {
        "kind": "pause",
        "until": "2099-01-01T00:00:00.000000Z",
        "reason": "new disk",
    }
    assert resumed.json() == {"service": "films", "silence": None}
    past = own_client.put(pause, json={"until": "2020-01-01T00:00:00Z"})
    assert past.status_code == 422
    assert own_client.put("/api/v1/services/web/pause", json={}).status_code == 404
    assert job.put(pause, json={}).status_code == 401


def test_services_are_filtered_by_group_and_tag(
    job: httpx2.Client, own_client: httpx2.Client
) -> None:
    def names(**query: str) -> list[str]:
        found = own_client.get("/api/v1/services", params=query).json()["items"]
        return [each["name"] for each in found]

    assert names() == ["backup", "films"]
    assert names(group="NAS") == ["backup"]
    assert names(tag="night") == ["backup"]
    assert names(group="nas", tag="day") == []
