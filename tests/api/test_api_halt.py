"""The halt over the API."""

from pathlib import Path

import httpx2
import pytest

from living import Home, Server

HALT = "/api/v1/halt"


def test_the_button_halts_everything_and_lets_it_go_on(own_client: httpx2.Client) -> None:
    assert own_client.get(HALT).json()["pulled"] == []

    pulled = own_client.put(HALT, json={"reason": "the rack is moved"}).json()

    assert pulled["halted"]
    [stands] = pulled["pulled"]
    assert (stands["way"], stands["reason"]) == ("row", "the rack is moved")
    assert stands["by"].startswith("the token (this machine")
    assert "lamplighter resume" in stands["release"]
    assert own_client.get("/api/v1/overview").json()["halt"] == stands
    assert own_client.get("/readyz").json() == {
        "status": "ready",
        "detail": "Everything is halted.",
    }
    checks = {each["name"]: each for each in own_client.get("/api/v1/health").json()["checks"]}
    assert checks["halt"]["state"] == "warning"
    assert "the rack is moved" in checks["halt"]["words"]
    assert own_client.post("/api/v1/sessions", json={}).status_code == 202

    released = own_client.delete(HALT)

    assert (released.status_code, released.json()["halted"]) == (200, False)
    assert own_client.get("/api/v1/overview").json()["halt"] is None


def test_the_file_beats_a_release_and_is_named(
    own_server: Server, own_client: httpx2.Client
) -> None:
    own_client.put(HALT, json={})
    (own_server.home.path / "HALT").write_text("a flood")
    assert [each["way"] for each in own_client.get(HALT).json()["pulled"]] == ["file", "row"]

    answer = own_client.delete(HALT)

    assert answer.status_code == 409
    assert f"Remove {own_server.home.path / 'HALT'}" in answer.json()["detail"]
    assert [each["way"] for each in own_client.get(HALT).json()["pulled"]] == ["file"]
    assert own_client.get("/api/v1/overview").json()["halt"]["reason"] == "a flood"


def test_the_file_is_seen_while_the_database_is_away(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    server = Server(home)
    try:
        (home.path / "HALT").write_text("")
        ready = httpx2.get(f"{server.url}/readyz", timeout=20)
        assert ready.json()["detail"] == "Everything is halted."
    finally:
        server.kill()


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_a_session_may_not(own_server: Server, own_client: httpx2.Client, method: str) -> None:
    words = own_client.post("/api/v1/tokens", json={"scopes": ["write"]}).json()
    home = own_server.home
    home.write(
        "INSERT INTO sessions (tier, engine, trigger, status, prompt, started_at) "
        "VALUES (1, 'probe', 'manual', 'running', '', '2026-01-01T12:00:00.000000Z')"
    )
    home.write("UPDATE tokens SET session_id = 1 WHERE id = ?", words["id"])

    with httpx2.Client(base_url=own_server.url, timeout=20) as session:
        headers = {"Authorization": f"Bearer {words['token']}"}
        answer = session.request(method, HALT, headers=headers)

    assert answer.status_code == 403
    assert own_client.get(HALT).json()["pulled"] == []
