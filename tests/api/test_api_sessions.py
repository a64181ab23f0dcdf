"""Sessions over HTTP: requested, followed, stopped; and the prompt and results of each."""

import json
import time
from typing import Any

import httpx2
import pytest
from route_requests import CODE, Asking

from living import Server, text

SESSIONS = "/api/v1/sessions"
REQUESTS = "/api/v1/requests"


def test_a_requested_session_is_queued(client: httpx2.Client) -> None:
    given = {"tier": 3, "services": ["JELLYFIN", "jellyfin"], "prompt": "Look", "dry_run": True}

    answer = client.post(SESSIONS, json=given)

    filed = answer.json()
    assert (answer.status_code, answer.headers["location"]) == (202, f"{REQUESTS}/{filed['id']}")
    assert client.get(answer.headers["location"]).json() == filed
    assert {key: filed[key] for key in filed if key not in ("id", "position", "created_at")} == {
        "state": "queued",
        "session_id": None,
        "tier": 3,
        "services": ["jellyfin"],
        "prompt": "Look",
        "dry_run": True,
        "engine": None,
        "trigger": "manual",
        "version": 1,
    }


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"tier": 0}, ["tier"]),
        ({"tier": 4}, ["tier"]),
        ({"tier": "1"}, ["tier"]),
        ({"prompt": ""}, ["prompt"]),
        ({"prompt": " \n"}, ["prompt"]),
        ({"prompt": "x" * 100_001}, ["prompt"]),
        ({"services": []}, ["services"]),
        ({"services": ["plex"]}, ["services"]),
        ({"services": ["jellyfin"] * 201}, ["services"]),
        ({"tier": 9, "prompt": "", "engine": "opus"}, ["engine", "prompt", "tier"]),
        ({"engine": ""}, ["engine"]),
    ],
    ids=lambda case: str(case)[:40],
)
def test_an_invalid_session_request_is_rejected(
    client: httpx2.Client, given: dict[str, Any], wrong: list[str]
) -> None:
    answer = client.post(SESSIONS, json=given)

    assert answer.status_code == 422, answer.text
    assert sorted(each["field"] for each in answer.json()["errors"]) == wrong


def test_a_request_is_withdrawn_once(asking: Asking) -> None:
    number = asking.request()

    answers = [asking.client.delete(f"{REQUESTS}/{number}").status_code for _ in "12"]

    assert answers == [204, 409]
    assert asking.client.get(f"{REQUESTS}/{number}").json()["state"] == "cancelled"
    waiting = asking.client.get(REQUESTS, params={"state": "queued", "limit": 200}).json()
    assert number not in [each["id"] for each in waiting["items"]]


def test_only_a_running_session_can_be_stopped(asking: Asking) -> None:
    ended = asking.session()  # first: a session that starts ends those left running
    running = asking.running()

    stopped = asking.client.post(f"{SESSIONS}/{running}/stop")

    assert (stopped.status_code, stopped.json()["stopping"]) == (202, True)
    assert asking.client.post(f"{SESSIONS}/{ended}/stop").status_code == 409


def test_the_log_is_read_in_parts_and_marked_complete(
    server: Server, client: httpx2.Client
) -> None:
    ran = server.home.says(*(f"Line {number}" for number in range(25)))
    address = f"{SESSIONS}/{ran.id}/log"
    whole = client.get(address).json()

    parts: list[dict[str, Any]] = []
    after, more = 0, True
    while more:
        part = client.get(address, params={"after": after, "limit": 4}).json()
        parts += part["items"]
        after, more = part["next"], part["more"]
        assert part["complete"] is not more

    assert parts == whole["items"]
    assert [each["text"] for each in parts] == [
        *(f"Line {number}" for number in range(25)),
        "--- session complete (turns=1, cost=unknown, duration=0ms) ---",
    ]
    assert after == ran.session["log_offset"]


@pytest.mark.parametrize("after", [10**6, 2**40, 2**63 - 1])
def test_reading_beyond_the_end_of_a_log_returns_no_lines(asking: Asking, after: int) -> None:
    answer = asking.client.get(f"{SESSIONS}/{asking.session()}/log", params={"after": after})

    assert answer.status_code == 200
    assert {**answer.json(), "seq": 0} == {
        "items": [],
        "start": after,
        "next": after,
        "more": False,
        "complete": True,
        "elsewhere": None,
        "seq": 0,
    }


def test_a_log_is_read_backward_from_its_end(server: Server, client: httpx2.Client) -> None:
    ran = server.home.says(*(f"Line {number}" for number in range(25)))
    address = f"{SESSIONS}/{ran.id}/log"
    whole = client.get(address).json()

    parts: list[dict[str, Any]] = []
    before, more = 2**53 - 1, True
    while more:
        part = client.get(address, params={"before": before, "limit": 4}).json()
        assert len(part["items"]) <= 4
        parts = part["items"] + parts
        before, more = part["start"], part["more"]

    assert (parts, before) == (whole["items"], 0)
    assert client.get(address, params={"before": 5, "after": 5}).status_code == 422


def test_a_log_is_read_with_long_texts_or_as_raw_lines(
    server: Server, client: httpx2.Client
) -> None:
    ps = "\n".join(f"container {number}" for number in range(90))
    blocks = [
        {"type": "tool_use", "name": "Bash", "input": {"command": "docker ps"}},
        {"type": "tool_use", "name": "Edit", "input": {"path": "/a", "text": "é"}},
    ]
    lines = [
        {"type": "assistant", "message": {"content": blocks}},
        {"type": "user", "message": {"content": [{"type": "tool_result", "content": ps}]}},
        {
            "type": "user",
            "message": {
                "content": [{"type": "tool_result", "content": "y" * 30_000, "is_error": True}]
            },
        },
    ]
    ran = server.home.run(*lines)
    address = f"{SESSIONS}/{ran.id}/log"

    whole = client.get(address, params={"form": "whole"}).json()["items"]
    raw = client.get(address, params={"form": "raw"}).json()["items"]

    assert [(each["kind"], each["text"]) for each in whole[:3]] == [
        ("tool", "Bash: docker ps"),
        ("tool", 'Edit: /a\n{\n  "path": "/a",\n  "text": "é"\n}'),
        ("result", ps),
    ]
    assert whole[3]["kind"] == "error"
    assert whole[3]["text"] == "y" * 20_000 + "\n… 10,000 more characters are in the file."
    assert [each["offset"] for each in raw] == [each["offset"] for each in whole[1:]]
    assert [json.loads(each["text"]) for each in raw[:2]] == lines[:2]


def test_engines_that_can_run_a_session_are_listed(server: Server, client: httpx2.Client) -> None:
    found = client.get("/api/v1/engines").json()

    assert [(each["name"], each["usual"], each["tiers"]) for each in found["engines"][:3]] == [
        ("probe", True, [1, 2, 3]),
        ("exec", False, []),
        ("claude", False, []),
    ]
    claude = found["engines"][2]
    assert claude["program"].endswith("/claude")
    assert claude["version"].count(".") == 2
    assert found["engines"][0]["program"] is None
    assert found["engines"][0]["problem"] is None
    assert found["caps"] == {"session": 1.0, "chain": 3.0, "day": 10.0, "day_spent": 0.0}
    assert found["models"].keys() == {"1", "2", "3"}
    assert "LAMPLIGHTER_EXEC_COMMAND is not set" in found["engines"][1]["problem"]
    assert (found["max_tier"], found["session_seconds"]) == (3, 900)
    filed = client.post(SESSIONS, json={"engine": "probe"}).json()
    assert filed["engine"] == "probe"
    refused = client.post(SESSIONS, json={"engine": "exec"})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == "engine"


def test_the_log_masks_secrets(server: Server, client: httpx2.Client) -> None:
    ran = server.home.run(
        text("key sk-ant-0123456789abcdef"),
        {"type": "odd"},
        {"type": "result", "is_error": True, "errors": ["Overloaded"]},
    )

    items = client.get(f"{SESSIONS}/{ran.id}/log").json()["items"]

    assert [each["kind"] for each in items] == ["text", "finished"]
    assert "0123456789abcdef" not in str(items)
    assert items[1]["text"] == "--- session error (Overloaded) ---"
    assert client.get(f"{SESSIONS}/{ran.id}").json()["status"] == "failed"


def test_a_marker_in_code_is_ingested_manually_once(server: Server, client: httpx2.Client) -> None:
    ran = server.home.says(CODE.replace("jellyfin", "by-hand"))
    (mark,) = client.get(f"{SESSIONS}/{ran.id}/markers").json()["items"]
    assert (mark["state"], mark["reason"], mark["memory_id"]) == ("ignored", "in code", None)

    taken = client.put(f"/api/v1/markers/{mark['id']}/accepted", json={})

    assert taken.status_code == 200
    assert client.get(f"{SESSIONS}/{ran.id}/markers").json()["items"] == [taken.json()]
    (memory,) = client.get("/api/v1/memories", params={"service": "by-hand"}).json()["items"]
    assert (memory["id"], memory["session_id"]) == (taken.json()["memory_id"], ran.id)
    session = client.get(f"{SESSIONS}/{ran.id}").json()
    assert (session["learned"], session["ignored"]) == (1, 0)
    assert client.put(f"/api/v1/markers/{mark['id']}/accepted", json={}).status_code == 409


def test_sessions_are_filtered(server: Server, client: httpx2.Client) -> None:
    ran = server.home.says("x", tier=3)

    found = client.get(
        SESSIONS, params={"status": "completed", "tier": 3, "trigger": "manual"}
    ).json()["items"]

    assert ran.id in [each["id"] for each in found]
    assert {(each["status"], each["tier"], each["trigger"]) for each in found} == {
        ("completed", 3, "manual")
    }


def test_sessions_are_listed_with_linked_sessions_and_contradictions(
    server: Server, client: httpx2.Client
) -> None:
    home = server.home
    first = home.says("[MEMORY:timing:linked] Takes 61s to stop on Fridays").id
    second = home.says("[MEMORY:timing:linked] Takes 19s to stop on Fridays").id
    home.write("UPDATE sessions SET status = 'escalated' WHERE id = ?", first)
    home.write(
        "UPDATE sessions SET parent_id = ?, tier = 2, services = ? WHERE id = ?",
        *(first, '["Wire%Guard"]', second),
    )

    def found(**query: Any) -> Any:
        return client.get(SESSIONS, params={"limit": 200, **query}).json()

    named = found(service="wire%guard", tier=2)
    assert found(service="jellyfin")["items"] == []
    named = found(service="Wire%Guard")
    above = found(status="escalated")
    home.write("UPDATE sessions SET services = NULL WHERE id = ?", second)

    assert [each["id"] for each in named["items"]] == [second]
    assert [each["id"] for each in named["linked"]] == [first]
    assert named["contradicted"] == {str(second): 1}
    assert [each["id"] for each in above["linked"]] == [second]


def test_events_are_filtered(client: httpx2.Client) -> None:
    for level, service in (("info", "WIREGUARD"), ("warning", "wireguard"), ("critical", None)):
        given = {"level": level, "text": f"100% {level}", "service": service}
        assert client.post("/api/v1/events", json=given).status_code == 201

    def found(**query: Any) -> list[str]:
        items = client.get("/api/v1/events", params={"q": "100% ", **query}).json()["items"]
        return [each["level"] for each in items]

    assert found() == ["critical", "warning", "info"]
    assert found(level=["info", "critical"]) == ["critical", "info"]
    assert found(service="WireguarD") == ["warning", "info"]
    assert found(service="general") == ["critical"]
    assert found(session=1) == []


def test_a_context_preview_for_services_ranks_their_memories_first(asking: Asking) -> None:
    asking.memory(service="no-longer-here", observation="Was here once", confidence=0.3)
    for number in range(20):  # shorter: what they leave of the budget is too little for it
        asking.memory(observation=f"Fact {number}", confidence=1.0)

    def first(**query: Any) -> str:
        answer = asking.client.get("/api/v1/context", params={"budget": 60, **query})
        assert answer.status_code == 200
        return str(answer.json()["text"])

    assert "Was here once" not in first()
    assert "Was here once" in first(services="no-longer-here")
    scope = first(services="JELLYFIN , wireguard")
    assert "- Services in scope: 2\n" in scope
    assert "  - WireGuard: " in scope


def test_a_broken_services_file_is_reported_with_its_line(own_server: Server) -> None:
    own_server.home.services.write_text("services:\n  jellyfin:\n    chekcs: []\n")

    address, headers = f"{own_server.url}/api/v1/services", own_server.headers
    answer = httpx2.get(address, headers=headers, timeout=20).json()

    assert answer["items"] == []
    assert {each["line"] for each in answer["problems"]} <= {2, 3}
    assert "chekcs" in str(answer["problems"])
    page = httpx2.get(f"{address}/jellyfin", headers=headers, timeout=20)
    assert page.status_code == 404
    assert page.json()["detail"].endswith(" Line 2 is wrong: missing key 'checks' in jellyfin.")


def test_the_searches_of_a_session_are_listed(server: Server, client: httpx2.Client) -> None:
    ran = server.home.says("[MEMORY:timing:searched] Takes 60s to start")
    (held,) = client.get("/api/v1/memories", params={"service": "searched"}).json()["items"]
    hits = [{"id": held["id"], "rank": 1}, {"id": 999_999, "rank": 2}]
    server.home.write(
        "INSERT INTO searches (session_id, tool, query, hits, at) VALUES (?, ?, ?, ?, ?)",
        *(ran.id, "memory_search", "slow start", json.dumps(hits), "2026-01-01 12:00:00.000000"),
    )

    (found,) = client.get(f"{SESSIONS}/{ran.id}/searches").json()["items"]

    assert (found["tool"], found["query"]) == ("memory_search", "slow start")
    assert [(hit["memory_id"], hit["observation"]) for hit in found["hits"]] == [
        (held["id"], "Takes 60s to start"),
        (999_999, None),
    ]


def test_markers_over_the_limit_are_ingested_on_request(
    own_server: Server, own_client: httpx2.Client
) -> None:
    asking = Asking(own_server.home, own_client)
    number = asking.limited()
    address = f"{SESSIONS}/{number}"
    assert own_client.get(address).json()["markers_left"] == 2
    assert len(own_client.get(f"{address}/markers").json()["items"]) == 1

    answer = own_client.post(f"{address}/markers", json={})

    assert answer.status_code == 202, answer.text
    deadline = time.monotonic() + 60
    while own_client.get(address).json()["markers_left"] and time.monotonic() < deadline:
        time.sleep(0.05)
    texts = [each["text"] for each in own_client.get(f"{address}/markers").json()["items"]]
    assert texts == ["[EVENT:info] one", "[EVENT:info] two", "[EVENT:info] three"]
    session = own_client.get(address).json()
    assert (session["markers_left"], session["events"]) == (0, 4)
    again = own_client.post(f"{address}/markers", json={})
    assert (again.status_code, again.json()["detail"]) == (
        409,
        f"Session {number} has no more markers to ingest.",
    )
