"""The memory service as a process: its access rules, its start and its end."""

import json
import signal
import socket
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from lamplighter.config.settings import read_settings
from lamplighter.serve.memory_service import wants_tokens
from living import Home, Server, free_port
from memory_service import MemoryService

GIVEN = {"session_id": "s", "type": "decision", "title": "T", "content": "C", "project": "p"}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture
def service(home: Home) -> Iterator[MemoryService]:
    started = MemoryService(home)
    yield started
    started.kill()


def test_the_service_creates_its_home_and_ends_on_sigterm(service: MemoryService) -> None:
    answer = httpx2.post(f"{service.url}/observations", json=GIVEN, timeout=20)
    assert answer.status_code == 201

    service.process.send_signal(signal.SIGTERM)

    assert service.process.wait(20) == 0
    assert "Traceback" not in service.log
    assert service.home.value("SELECT observation FROM memories") == "C"
    assert (service.home.path / "token").stat().st_mode & 0o777 == 0o600


def test_a_saved_observation_is_found_by_the_next_search(service: MemoryService) -> None:
    for number in range(26):
        given = {**GIVEN, "title": f"T{number}", "content": f"Port {number} is used by blog"}
        saved = httpx2.post(f"{service.url}/observations", json=given, timeout=60).json()
        asked = {"q": f"port {number}", "project": "p", "limit": 1}
        found = httpx2.get(f"{service.url}/search", params=asked, timeout=60).json()

        assert [each["id"] for each in found] == [saved["id"]]


def test_an_incomplete_search_is_reported_in_a_header_and_in_health(home: Home) -> None:
    service = MemoryService(Home(home.path, {"LAMPLIGHTER_VECTORS": "off"}))
    asked = {"q": "content", "project": "p"}
    try:
        whole = httpx2.get(f"{service.url}/health", timeout=60).json()
        httpx2.post(f"{service.url}/observations", json={**GIVEN, "content": "Content"}, timeout=60)
        home.write("UPDATE memories SET title = 'By hand'")
        with closing(sqlite3.connect(home.path / "lamplighter.db")) as writer:
            writer.execute("BEGIN IMMEDIATE")  # nobody else may write: the row waits
            found = httpx2.get(f"{service.url}/search", params=asked, timeout=60)
            health = httpx2.get(f"{service.url}/health", timeout=60).json()
        later = httpx2.get(f"{service.url}/search", params=asked, timeout=60)
    finally:
        service.kill()

    assert (whole["partial"], whole["missing"]) == (False, [])
    assert [each["title"] for each in found.json()] == ["By hand"]
    assert found.headers["X-Partial"] == "unindexed"
    assert (health["partial"], health["missing"]) == (True, ["unindexed"])
    assert "X-Partial" not in later.headers


def test_with_json_logs_every_line_is_a_json_object(home: Home) -> None:
    service = MemoryService(Home(home.path, {"LAMPLIGHTER_LOG_FORMAT": "json"}))
    try:
        with socket.create_connection(("127.0.0.1", service.port), timeout=20) as connection:
            connection.sendall(b"no HTTP at all\r\n\r\n")
            assert b"400" in connection.recv(100)
        service.home.write("ALTER TABLE client_prompts RENAME TO away")
        shown = {"X-Request-ID": "look-here"}
        answer = httpx2.get(f"{service.url}/prompts/recent", headers=shown, timeout=20)
        service.process.send_signal(signal.SIGTERM)
        service.process.wait(20)
        lines = [json.loads(line) for line in service.log.splitlines()]
    finally:
        service.kill()

    assert answer.status_code >= 500
    assert answer.json()["error"]
    assert {"uvicorn.error", "lamplighter.serve.memory_service"} <= {e["logger"] for e in lines}
    assert [e for e in lines if e.get("request_id") == "look-here"]


def test_acknowledged_writes_survive_a_kill(service: MemoryService) -> None:
    for each in range(5):
        given = {**GIVEN, "content": f"content {each}"}
        httpx2.post(f"{service.url}/observations", json=given, timeout=20)

    service.kill()
    service.start()

    rows = httpx2.get(f"{service.url}/observations/recent", timeout=20).json()
    assert [row["content"] for row in rows] == [f"content {each}" for each in range(4, -1, -1)]


def test_the_web_process_reads_what_the_service_saved(home: Home, service: MemoryService) -> None:
    web = Server(home)
    try:
        saved = httpx2.post(f"{service.url}/observations", json=GIVEN, timeout=20).json()
        row = httpx2.get(
            f"{web.url}/api/v1/memories/{saved['id']}", headers=web.headers, timeout=20
        ).json()
    finally:
        web.kill()

    assert (row["observation"], row["project"], row["source"]) == ("C", "p", "client")


def test_required_tokens_are_enforced(home: Home) -> None:
    service = MemoryService(Home(home.path, {"LAMPLIGHTER_MEMORY_TOKENS": "yes"}))
    try:
        nobody = httpx2.get(f"{service.url}/stats", timeout=20)
        somebody = httpx2.get(f"{service.url}/stats", headers=service.headers, timeout=20)
        told = httpx2.get(f"{service.url}/openapi.json", timeout=20).json()
    finally:
        service.kill()

    assert (nobody.status_code, somebody.status_code) == (401, 200)
    assert told["paths"]["/stats"]["get"]["security"] == [{"token": ["knowledge:read"]}]


def test_a_host_name_from_the_setting_is_allowed(home: Home) -> None:
    name = "agentops-memory.agents.svc"
    service = MemoryService(Home(home.path, {"LAMPLIGHTER_HOSTS": name}))
    try:
        headers = {"Host": f"{name}:{service.port}"}
        assert httpx2.get(f"{service.url}/stats", headers=headers, timeout=20).status_code == 200
    finally:
        service.kill()


def test_strict_mode_requires_every_field_on_both_prefixes(home: Home) -> None:
    service = MemoryService(home, words=("--strict",))
    try:
        answers = [
            httpx2.post(f"{service.url}{path}/observations", json={"content": "x"}, timeout=20)
            for path in ("", "/agentops")
        ]
    finally:
        service.kill()

    assert [each.status_code for each in answers] == [400, 400]
    assert "session_id is required" in answers[0].json()["error"]


def test_a_port_in_use_is_reported_with_its_setting(service: MemoryService) -> None:
    done = service.home.ask("memory-service", "--port", str(service.port))

    assert done.returncode == 2
    assert "LAMPLIGHTER_MEMORY_PORT" in done.stderr


@pytest.mark.parametrize(
    ("host", "tokens"),
    [
        ("127.0.0.1", False),
        ("127.0.0.2", False),
        ("::1", False),
        ("localhost", False),
        ("0.0.0.0", True),
        ("::", True),
        ("192.168.1.2", True),
        ("box.lan", True),
    ],
)
def test_tokens_are_required_if_the_host_is_not_a_loopback_address(
    home: Home, host: str, *, tokens: bool
) -> None:
    at = read_settings({"LAMPLIGHTER_HOME": str(home.path), "LAMPLIGHTER_HOST": host})

    assert wants_tokens(at) is tokens
    assert wants_tokens(replace(at, memory_tokens=True))


def test_doctor_reports_whether_the_memory_service_runs(home: Home) -> None:
    home.more["LAMPLIGHTER_MEMORY_PORT"] = str(free_port())
    assert "not running" in told(home)

    service = MemoryService(home, port=int(home.more["LAMPLIGHTER_MEMORY_PORT"]))
    try:
        assert "answers" in told(home)
    finally:
        service.kill()


def told(home: Home) -> str:
    """Return the doctor's findings on the memory service."""
    lines: list[Any] = home.ask("doctor").stdout.splitlines()
    return next(line for line in lines if "Memory service" in line)


def test_a_live_setting_applies_without_a_restart(service: MemoryService) -> None:
    def save() -> int:
        answer = httpx2.post(f"{service.url}/observations", json=GIVEN, timeout=60)
        return int(answer.json()["id"])

    (service.home.path / "lamplighter.toml").write_text('dedup_window = "1h"\n')
    assert save() == save(), "the same again within the window is the same memory"

    (service.home.path / "lamplighter.toml").write_text('dedup_window = "0"\n')

    first = save()
    deadline = time.monotonic() + 20
    while save() == first:
        assert time.monotonic() < deadline, "the setting has not reached the memory service"
        time.sleep(0.2)
