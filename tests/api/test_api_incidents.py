"""Incidents over HTTP and on the command line: a person changes them."""

from itertools import count
from typing import Any

import httpx2
import pytest

from living import Server

INCIDENTS = "/api/v1/incidents"
NUMBERS = count(1)


@pytest.fixture
def incident(client: httpx2.Client) -> dict[str, Any]:
    """Let a monitor report a service that has no open incident, and return its incident."""
    for each in client.get(INCIDENTS, params={"state": "open"}).json()["items"]:
        client.patch(f"{INCIDENTS}/{each['id']}", json={"outcome": "recovered"})
    alert = {"service": "wireguard", "title": "is down", "id": f"w{next(NUMBERS)}"}
    answer = client.post("/api/v1/webhooks/kuma", json={**alert, "severity": "critical"})
    [delivered] = answer.json()["alerts"]
    assert delivered["page"] == f"/incidents/{delivered['incident_id']}"
    found: dict[str, Any] = client.get(f"{INCIDENTS}/{delivered['incident_id']}").json()
    return found


def test_an_alert_opens_an_incident_with_a_timeline(
    client: httpx2.Client, incident: dict[str, Any]
) -> None:
    assert (incident["service"], incident["state"], incident["severity"]) == (
        "WireGuard",
        "open",
        "critical",
    )
    assert [each["service"] for each in incident["members"]] == ["WireGuard"]
    kinds = [(each["kind"], each["level"]) for each in incident["timeline"]]
    assert kinds == [("opened", "info"), ("alert", "critical")]
    listed = client.get(INCIDENTS, params={"service": "wireguard", "limit": 1}).json()
    assert [each["id"] for each in listed["items"]] == [incident["id"]]
    shown = client.get("/api/v1/overview").json()
    assert [each["id"] for each in shown["incidents"]] == [incident["id"]]
    assert shown["open_incidents"] == {"critical": 1}


def test_each_alert_of_an_incident_is_one_entry(
    client: httpx2.Client, incident: dict[str, Any]
) -> None:
    alert = {"service": "wireguard", "title": "no peers", "id": f"w{next(NUMBERS)}"}
    client.post("/api/v1/webhooks/script", json=alert)

    shown = client.get(f"{INCIDENTS}/{incident['id']}").json()["timeline"]
    [event, *_] = client.get("/api/v1/events", params={"limit": 1}).json()["items"]

    assert [each["text"] for each in shown[1:]] == ["kuma: is down", "script: no peers"]
    part = f"It is part of incident {incident['id']}."
    assert event["text"] == f"Alert from script: no peers. {part}"


def test_changes_of_an_incident_are_recorded_in_the_journal(
    client: httpx2.Client, incident: dict[str, Any]
) -> None:
    address = f"{INCIDENTS}/{incident['id']}"

    noted = client.patch(address, json={"acknowledged": True, "note": "On it"}).json()
    assert (noted["note"], noted["acknowledged_at"] is not None) == ("On it", True)
    closed = client.patch(address, json={"outcome": "repaired_by_person"}).json()
    assert (closed["state"], closed["outcome"]) == ("resolved", "repaired_by_person")

    [act] = client.get("/api/v1/acts", params={"limit": 1}).json()["items"]
    assert (act["action"], act["subject"]) == ("incident", f"incident {incident['id']}: resolved")
    again = client.patch(address, json={"acknowledged": True})
    assert again.status_code == 409
    assert client.patch(f"{INCIDENTS}/999999", json={"note": "x"}).status_code == 404


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "body"),
        ({"outcome": "merged"}, "outcome"),
        ({"outcome": "lost"}, "outcome"),
        ({"merge_into": 999_999}, "merge_into"),
        ({"note": "x" * 2_001}, "note"),
        ({"state": "resolved"}, "state"),
    ],
)
def test_an_invalid_change_is_rejected_with_its_field(
    client: httpx2.Client, incident: dict[str, Any], body: dict[str, Any], field: str
) -> None:
    answer = client.patch(f"{INCIDENTS}/{incident['id']}", json=body)

    assert answer.status_code == 422
    [error] = answer.json()["errors"]
    assert error["field"] == field
    if field == "outcome":
        assert error["message"] == "is not one of repaired_by_person, recovered, unresolved"
    assert client.get(f"{INCIDENTS}/{incident['id']}").json()["state"] == "open"


def test_incidents_are_listed_and_changed_by_the_cli(
    server: Server, client: httpx2.Client, incident: dict[str, Any]
) -> None:
    number = str(incident["id"])

    assert "WireGuard: is down" in server.home.ask("incidents").stdout
    shown = server.home.ask("incidents", "show", number).stdout
    assert "alert WireGuard" in shown
    status = server.home.ask("status")
    assert (status.returncode, "WireGuard: is down" in status.stdout) == (1, True)
    assert server.home.ask("incidents", "note", number, "The disk is full").returncode == 0
    assert server.home.ask("incidents", "acknowledge", number).returncode == 0
    resolve = ("incidents", "resolve", number)
    assert server.home.ask(*resolve, "--outcome", "unresolved").returncode == 0

    found = client.get(f"{INCIDENTS}/{number}").json()
    assert (found["note"], found["outcome"]) == ("The disk is full", "unresolved")
    assert server.home.ask(*resolve).returncode != 0
    assert server.home.ask("incidents").stdout == "There are no open incidents.\n"
    calm = server.home.ask("status")
    assert "The supervisor is not running: nothing is checked." in calm.stdout
    assert "nothing needs you" not in calm.stdout
    assert calm.returncode == 1
    assert "unresolved" in server.home.ask("incidents", "--all", "--service", "wireguard").stdout


def test_the_uptime_of_a_service_without_results_is_null(client: httpx2.Client) -> None:
    found = client.get("/api/v1/services/jellyfin/uptime").json()

    assert [found[each] for each in ("day", "week", "month", "quarter")] == [None] * 4
    assert client.get("/api/v1/services/nobody/uptime").status_code == 404
