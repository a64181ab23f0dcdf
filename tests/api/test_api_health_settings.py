"""Health and settings over HTTP: the report of a running web process."""

from typing import Any

import httpx2
from route_requests import Asking

from living import Server, lately


def signs(client: httpx2.Client, *, closer: bool = False) -> dict[str, Any]:
    path = "/api/v1/health"
    answer = client.post(f"{path}/checks", json={}) if closer else client.get(path)
    assert answer.is_success, answer.text
    told: dict[str, Any] = answer.json()
    return {each["name"]: each for each in told["checks"]} | {"state": told["state"]}


def test_a_web_process_alone_reports_no_leader(own_client: httpx2.Client) -> None:
    told = signs(own_client)

    assert told["state"] == "failing"
    assert told["supervisor"]["words"] == "No supervisor has run yet"
    assert "lamplighter up" in told["supervisor"]["what_to_do"]
    assert told["integrity"]["state"] == "unknown"
    well = {"space", "sqlite", "log", "schema", "requests", "rows", "services", "token"}
    assert {name for name in well if told[name]["state"] == "ok"} == well


def test_a_full_check_verifies_the_database_and_every_memory(
    own_server: Server, own_client: httpx2.Client
) -> None:
    made = Asking(own_server.home, own_client).memory()
    own_server.home.write("UPDATE memories SET category = 'gossip' WHERE id = ?", made)

    told = signs(own_client, closer=True)

    assert told["integrity"]["words"] == "All pages of the database are intact"
    assert told["rows"]["words"] == "1 memory skipped as unreadable"
    again = signs(own_client)
    assert again["integrity"] == told["integrity"], "it is kept, with its moment"


def test_a_queued_request_is_reported(own_server: Server, own_client: httpx2.Client) -> None:
    Asking(own_server.home, own_client).request()
    own_server.home.write("UPDATE requests SET created_at = ?", lately(hours=3))

    assert signs(own_client)["requests"]["words"] == "1 request waiting, the oldest for 3 h"


def test_a_connected_feed_client_is_counted(own_client: httpx2.Client) -> None:
    with own_client.stream("GET", "/api/v1/stream") as stream:
        frames = stream.iter_bytes()
        next(frames)
        assert signs(own_client)["feed"]["words"].startswith("1 client on")


def test_an_error_in_services_yaml_is_in_the_health_and_the_settings(own_server: Server) -> None:
    own_server.home.services.write_text("services:\n  jellyfin:\n    chekcs: []\n")

    with httpx2.Client(base_url=own_server.url, headers=own_server.headers) as client:
        assert signs(client)["services"]["state"] == "failing"
        files = client.get("/api/v1/settings").json()["files"]
    [services] = [each for each in files if each["name"] == "services"]
    assert "chekcs" in str(services["problems"])


def test_settings_are_listed_with_their_sources_and_files(
    own_server: Server, own_client: httpx2.Client
) -> None:
    told = own_client.get("/api/v1/settings").json()

    [port] = [each for each in told["settings"] if each["name"] == "port"]
    assert (port["source"], port["value"]) == ("environment", str(own_server.port))
    assert [each["name"] for each in told["files"]][:2] == ["home", "settings"]
    assert told["about"]["license"] == "Apache-2.0"
    assert told["about"]["database"].startswith("SQLite 3.")


def test_the_settings_line_is_returned_or_its_error(client: httpx2.Client) -> None:
    good = client.post("/api/v1/settings/line", json={"name": "interval", "value": "15m"})
    bad = client.post("/api/v1/settings/line", json={"name": "interval", "value": "soon"})

    assert good.json() == {"line": 'interval = "15m"'}
    assert bad.status_code == 422
    assert bad.json()["errors"][0]["field"] == "value"
