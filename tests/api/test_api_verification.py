"""Verification over the API: on request, its outcomes, and attached checks."""

from typing import Any

import httpx2
import pytest


def added(client: httpx2.Client, text: str = "`ls` is installed") -> int:
    given = {"category": "config", "observation": text}
    return int(client.post("/api/v1/memories", json=given).json()["id"])


def test_a_memory_is_verified_on_request(client: httpx2.Client) -> None:
    number = added(client)
    assert client.get(f"/api/v1/memories/{number}/verification").json() == {
        "verified_at": None,
        "outcome": None,
        "checks": [],
        "reviews": [],
    }

    found = client.post(f"/api/v1/memories/{number}/verify").json()

    assert found["outcome"]["state"] == "passed"
    [item] = found["outcome"]["evidence"]
    assert (item["claim"], item["state"], item["source"]) == (
        "command: ls",
        "confirmed",
        "programs",
    )
    memory = client.get(f"/api/v1/memories/{number}").json()
    assert memory["verified_at"] == found["verified_at"] is not None
    assert (memory["trust"], memory["confidence"]) == ("trusted", 0.9)


def test_a_failed_verification_opens_a_review_and_leaves_the_memory(client: httpx2.Client) -> None:
    number = added(client, "`zzz-program` is installed")
    before = client.get(f"/api/v1/memories/{number}").json()

    [found] = client.post("/api/v1/verification", json={"ids": [number]}).json()["results"]

    assert found["state"] == "failed"
    assert client.get(f"/api/v1/memories/{number}").json() == before
    review = client.get(f"/api/v1/reviews/{found['reviews'][0]}").json()
    assert (review["kind"], review["said"]) == ("verification", "command: zzz-program")
    shown = client.get(f"/api/v1/memories/{number}/verification").json()
    assert shown["reviews"] == found["reviews"]
    overview = client.get("/api/v1/verification", params={"state": "failed"}).json()
    assert number in [each["memory_id"] for each in overview["items"]]
    assert overview["counts"]["failed"] >= 1


def test_a_dry_run_stores_nothing(client: httpx2.Client) -> None:
    number = added(client)
    sent = {"ids": [number], "dry_run": True}
    [found] = client.post("/api/v1/verification", json=sent).json()["results"]
    assert (found["state"], found["changed"]) == ("passed", False)
    assert client.get(f"/api/v1/memories/{number}/verification").json()["outcome"] is None


def test_a_check_is_attached_run_and_detached(client: httpx2.Client) -> None:
    number = added(client, "Takes 60s to start")
    address = f"/api/v1/memories/{number}/checks"

    check = client.post(address, json={"command": "uname -r", "cadence": 3600}).json()
    found = client.post(f"/api/v1/memories/{number}/verify").json()
    gone = client.delete(f"{address}/{check['id']}")

    assert [each["state"] for each in found["checks"]] == ["passed"]
    assert found["verified_at"] is not None
    assert gone.status_code == 204
    assert client.delete(f"{address}/{check['id']}").status_code == 404


@pytest.mark.parametrize(
    "body",
    [{}, {"command": "rm -rf /srv"}, {"command": "uptime; id"}, {"service": "zzz", "check": "tcp"}],
)
def test_an_invalid_or_unsafe_check_is_rejected(
    client: httpx2.Client, body: dict[str, Any]
) -> None:
    number = added(client)
    answer = client.post(f"/api/v1/memories/{number}/checks", json=body)
    assert answer.status_code == 422
