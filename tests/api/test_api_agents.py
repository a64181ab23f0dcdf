"""Agents over HTTP: their settings, their activity, and the context of their next turn."""

from collections.abc import Iterator
from typing import Any

import httpx2
import msgspec
import pytest

from lamplighter.api.clients import shapes as clients_shapes
from living import Home, Server, lately

FILE = """
[agents.coder]
project = "Media Shelf"
context_limit = 1
auto_save = false

[agents.away]
memory_url = "http://127.0.0.1:9/agentops"
memory_token = "the-words-of-a-token"

[agents.silent]
context_limit = 0

[[agents.silent.save_rules]]
tool = "bash"
type = "bugfix"
"""


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = Home(tmp_path_factory.mktemp("agents") / "home")
    (home.path / "lamplighter.toml").write_text(FILE)
    server = Server(home)
    for number, (project, scope) in enumerate(
        (("media shelf", "project"), ("media shelf", "project"), ("silent", "project"))
    ):
        home.write(
            "INSERT INTO memories (category, observation, created_at, updated_at, project, scope,"
            " title) VALUES ('decision', ?, ?, ?, ?, ?, 'A rule')",
            f"Number {number}",
            lately(9 - number),
            lately(9 - number),
            project,
            scope,
        )
    home.write(
        "INSERT INTO sessions (id, external_id, agent, project, tier, engine, trigger, status,"
        " reason, prompt, dry_run, started_at, ended_at, response, summary)"
        " VALUES (7, 'its-own-name', 'coder', 'media shelf', 0, 'client', 'client', 'completed',"
        " '', '', 0, ?, ?, '', 'Session with 1 message.')",
        lately(3),
        lately(2),
    )
    home.write("UPDATE memories SET session_id = 7 WHERE id = 1")
    yield server
    server.kill()


@pytest.fixture(scope="module")
def asked(there: Server) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=there.url, headers=there.headers, timeout=20) as client:
        yield client


def told(client: httpx2.Client, **wanted: Any) -> dict[str, Any]:
    answer = client.get("/api/v1/context", params={"profile": "agent", **wanted})
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    assert (
        msgspec.to_builtins(msgspec.convert(body, clients_shapes.AgentContextOut, strict=True))
        == body
    )
    return body


def test_agents_are_listed_with_settings_and_activity(asked: httpx2.Client) -> None:
    answer = asked.get("/api/v1/agents")

    away, coder, silent = answer.json()["items"]
    last = coder.pop("last_seen_at")
    assert last is not None
    assert coder == {
        "name": "coder",
        "project": "media shelf",
        "declared": True,
        "context_limit": 1,
        "auto_summarize": True,
        "auto_save": False,
        "auto_search": True,
        "save_rules": 0,
        "inject_rules": 0,
        "memory_url": "",
        "sessions": 1,
        "running": 0,
        "saved": 1,
    }
    assert away["memory_url"] == "http://127.0.0.1:9/agentops"
    assert (silent["project"], silent["save_rules"], silent["last_seen_at"]) == ("silent", 1, None)
    assert "the-words-of-a-token" not in answer.text


def test_an_undeclared_agent_with_sessions_is_listed(there: Server, asked: httpx2.Client) -> None:
    there.home.write("UPDATE sessions SET agent = 'stranger' WHERE id = 7")
    try:
        found = asked.get("/api/v1/agents", params={"limit": 3}).json()
        rest = asked.get("/api/v1/agents", params={"cursor": found["next"]}).json()
    finally:
        there.home.write("UPDATE sessions SET agent = 'coder' WHERE id = 7")

    assert [each["name"] for each in rest["items"]] == ["stranger"]
    assert (rest["items"][0]["declared"], rest["items"][0]["context_limit"]) == (False, 5)


def test_the_context_is_previewed_by_agent_or_by_project(asked: httpx2.Client) -> None:
    by_name, by_project = told(asked, agent="coder"), told(asked, project="MEDIA shelf")

    assert by_name["text"] == (
        "<memory:sessions>\n- Session with 1 message.\n</memory:sessions>\n"
        "<memory:context>\n- [decision] A rule: Number 1\n</memory:context>\n"
    )
    assert (by_name["agent"], by_name["project"]) == ("coder", "media shelf")
    assert [each["memory"]["id"] for each in by_project["included"]] == [2, 1]
    assert by_project["agent"] is None
    assert [each["external_id"] for each in by_project["sessions"]] == ["its-own-name"]


def test_context_limit_0_includes_no_observation(asked: httpx2.Client) -> None:
    assert told(asked, agent="silent")["text"] == ""
    assert told(asked, agent="silent", limit=3)["included"] != []


def test_the_context_of_an_agent_with_remote_memory_returns_409(asked: httpx2.Client) -> None:
    answer = asked.get("/api/v1/context", params={"profile": "agent", "agent": "away"})

    assert answer.status_code == 409
    assert "stores its knowledge at http://127.0.0.1:9/agentops" in answer.json()["detail"]


def test_an_agent_token_reads_only_the_context_of_its_project(
    there: Server, asked: httpx2.Client
) -> None:
    made = asked.post("/api/v1/tokens", json={"scopes": ["context:read"]}).json()
    there.home.write("UPDATE tokens SET agent = 'coder' WHERE id = ?", made["id"])

    headers = {"Authorization": f"Bearer {made['token']}"}
    with httpx2.Client(base_url=there.url, headers=headers, timeout=20) as client:
        found = told(client, project="silent", agent="silent", limit=9)

    assert (found["agent"], found["project"]) == ("coder", "media shelf")
    assert [each["memory"]["id"] for each in found["included"]] == [2, 1]


@pytest.mark.parametrize("wrong", [{"limit": 51}, {"limit": -1}, {"profile": "none"}])
def test_an_invalid_context_limit_or_profile_is_rejected(
    asked: httpx2.Client, wrong: dict[str, Any]
) -> None:
    answer = asked.get("/api/v1/context", params={"profile": "agent", **wrong})

    assert answer.status_code == 422
    assert [each["field"] for each in answer.json()["errors"]] == [*wrong]


def test_contexts_of_a_client_are_listed_on_its_session(
    there: Server, asked: httpx2.Client
) -> None:
    before = asked.get("/api/v1/sessions/7/prompt").json()
    assert (before["retold"], before["memories"]) == ([], [])  # a client may ask for nothing
    there.home.write(
        "INSERT INTO retellings (session_id, query, injected, tokens, placements, at)"
        " VALUES (7, 'q', 'x', 1, '[]', ?)",
        lately(),
    )

    found = asked.get("/api/v1/sessions/7/prompt").json()

    assert (found["system"], found["injected"], found["prompt"]) == ("", "", "")
    assert [each["injected"] for each in found["retold"]] == ["x"]
