"""Halt and resume over the API."""

import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import pytest

from lamplighter.repository.store import driver
from lamplighter.usecases.sessions.halt import HaltControl
from living import Home, Server

HALT = "/api/v1/halt"


def test_the_api_halts_and_resumes(own_client: httpx2.Client) -> None:
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
        "detail": "Lamplighter is halted.",
    }
    checks = {each["name"]: each for each in own_client.get("/api/v1/health").json()["checks"]}
    assert checks["halt"]["state"] == "warning"
    assert "the rack is moved" in checks["halt"]["words"]
    assert own_client.post("/api/v1/sessions", json={}).status_code == 202

    released = own_client.delete(HALT)

    assert (released.status_code, released.json()["halted"]) == (200, False)
    assert own_client.get("/api/v1/overview").json()["halt"] is None


def test_resume_is_rejected_while_the_halt_file_exists(
    own_server: Server, own_client: httpx2.Client
) -> None:
    own_client.put(HALT, json={})
    (own_server.home.path / "HALT").write_text("a flood")
    assert [each["way"] for each in own_client.get(HALT).json()["pulled"]] == ["file", "row"]

    answer = own_client.delete(HALT)

    assert answer.status_code == 409
    assert f"Delete {own_server.home.path / 'HALT'}" in answer.json()["detail"]
    assert [each["way"] for each in own_client.get(HALT).json()["pulled"]] == ["file"]
    assert own_client.get("/api/v1/overview").json()["halt"]["reason"] == "a flood"


def test_the_api_halts_while_another_program_locks_the_database(
    own_server: Server, own_client: httpx2.Client
) -> None:
    home = own_server.home.path
    with closing(driver.connect(str(home / "lamplighter.db"))) as connection:
        connection.execute("BEGIN IMMEDIATE")
        answer = own_client.put(HALT, json={"reason": "a flood"})
        assert (answer.status_code, answer.json()["halted"]) == (200, True)
        [stands] = answer.json()["pulled"]
        assert (stands["way"], stands["reason"]) == ("row", "a flood")
        assert (home / "HALT").read_text().startswith("a flood\n-- the token")
        connection.execute("ROLLBACK")

    deadline = time.monotonic() + 60
    while (home / "HALT").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert own_server.home.rows("SELECT reason, released_at FROM halts") == [("a flood", None)]
    assert own_client.get(HALT).json()["pulled"] == [stands]
    assert not own_client.delete(HALT).json()["halted"]


def test_resume_clears_a_halt_that_is_not_in_the_database_yet(
    own_server: Server, own_client: httpx2.Client
) -> None:
    halt_control = HaltControl(own_server.home.path / "HALT")
    halt_control.write("a flood", by="anna", now=datetime(2026, 1, 1, tzinfo=UTC))
    assert own_client.get(HALT).json()["halted"]

    released = own_client.delete(HALT)

    assert (released.status_code, released.json()["halted"]) == (200, False)
    assert not (own_server.home.path / "HALT").exists()
    query = "SELECT reason, pulled_by, released_by IS NOT NULL FROM halts"
    assert own_server.home.rows(query) == [("a flood", "anna", 1)]


def test_readyz_reports_the_halt_file_without_a_database(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    server = Server(home)
    try:
        (home.path / "HALT").write_text("")
        ready = httpx2.get(f"{server.url}/readyz", timeout=20)
        assert ready.json()["detail"] == "Lamplighter is halted."
    finally:
        server.kill()


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_a_session_token_cannot_halt_or_resume(
    own_server: Server, own_client: httpx2.Client, method: str
) -> None:
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
