"""The health of the memory over HTTP: measured, read, and in the metrics."""

import httpx2

from lamplighter.repository.store.database import sqlite_url
from living import Server
from organizer_kills import fill_database

HEALTH = "/api/v1/memory-health"
NAMES = [
    *("undistilled", "ratio", "stale", "duplicates"),
    *("drift", "reviews", "episodes", "unverified"),
]


def test_the_health_is_measured_and_read(own_server: Server, own_client: httpx2.Client) -> None:
    fill_database(sqlite_url(own_server.home.path / "lamplighter.db"), 120)
    empty = own_client.get(HEALTH).json()
    assert (empty["measurement"], empty["trend"]) == (None, [])
    before = {each["name"]: each for each in own_client.get("/api/v1/health").json()["checks"]}
    assert before["memory"]["state"] == "unknown"

    made = own_client.post(f"{HEALTH}/measurements", json={})
    assert made.status_code == 201, made.text
    measured = made.json()["measurement"]

    assert [each["name"] for each in measured["findings"]] == NAMES
    assert measured["state"] == "failing"
    undistilled, *_ = measured["findings"]
    assert undistilled["words"] == "120 memories are not distilled"
    assert (undistilled["goal"], undistilled["action"]) == ("under 1,000", "organize")
    assert measured["compared_at"] == measured["at"]
    assert measured["figures"]["duplicates"] > 6
    again = own_client.get(HEALTH).json()
    assert again["measurement"] == measured
    assert list(again["trend"][0]["values"]) == NAMES
    after = {each["name"]: each for each in own_client.get("/api/v1/health").json()["checks"]}
    assert after["memory"]["state"] == "warning"
    assert "repeat another one" in after["memory"]["words"]
    metrics = own_client.get("/metrics").text
    assert 'lamplighter_memory_health{figure="undistilled"} 120.0' in metrics
    assert "lamplighter_memory_goals_missed 2.0" in metrics
    assert "lamplighter_memory_measured_timestamp_seconds" in metrics


def test_invalid_parameters_are_rejected(own_client: httpx2.Client) -> None:
    assert own_client.get(f"{HEALTH}?limit=3").status_code == 422
    assert own_client.post(f"{HEALTH}/measurements", json={"compare": 3}).status_code == 422
