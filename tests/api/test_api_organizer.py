"""The organizer over HTTP: previewed, queued, read and undone."""

import httpx2

from lamplighter.repository.store.database import sqlite_url
from living import Server
from organizer_kills import fill_database, run_once

RUNS = "/api/v1/organizer/runs"


def test_a_run_is_previewed_queued_read_and_undone(
    own_server: Server, own_client: httpx2.Client
) -> None:
    url = sqlite_url(own_server.home.path / "lamplighter.db")
    fill_database(url, 60)

    report = own_client.post("/api/v1/organizer/preview", json={})
    assert report.status_code == 200, report.text
    assert report.json()["counts"]["compressed"] > 20
    assert report.json()["examples"]["digests"]
    assert own_client.get(RUNS).json()["items"] == []

    queued = own_client.post(RUNS, json={})
    assert (queued.status_code, queued.json()["state"]) == (202, "queued")
    assert queued.headers["location"] == f"{RUNS}/1"
    again = own_client.post(RUNS, json={})
    assert (again.status_code, again.json()["id"]) == (202, 1)
    assert own_client.post(f"{RUNS}/1/undo", json={}).status_code == 409
    run_once(url)

    [run] = own_client.get(RUNS).json()["items"]
    assert (run["state"], run["trigger"], run["undone_by"]) == ("completed", "operator", None)
    diff = own_client.get(f"{RUNS}/1").json()
    replaced = [n for each in diff["replacements"] for n in each["replaced"]]
    assert len(replaced) >= run["counts"]["compressed"] + run["counts"]["duplicates"]
    act = own_client.get("/api/v1/acts").json()["items"][0]
    assert (act["action"], act["id"], act["final"]) == ("organize", run["act_id"], None)

    undone = own_client.post(f"{RUNS}/1/undo", json={})
    assert undone.status_code == 200, undone.text
    listed = own_client.get("/api/v1/memories", params={"state": "active", "limit": 200})
    assert len(listed.json()["items"]) == 60
    assert own_client.get(f"{RUNS}/1").json()["undone_by"] == undone.json()["act"]


def test_an_unknown_run_or_field_is_rejected(own_client: httpx2.Client) -> None:
    assert own_client.get(f"{RUNS}/9").status_code == 404
    assert own_client.post(f"{RUNS}/9/undo", json={}).status_code == 404
    assert own_client.post(RUNS, json={"dry": True}).status_code == 422
