"""The switches of agents at every interface, and traces that continue: cases 137 and 140."""

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from living import Home, Server

FILE = """
[agents.silent]
project = "shelf"
auto_save = false

[agents.blind]
project = "shelf"
auto_search = false

[agents.brief]
project = "shelf"
auto_summarize = false

[agents.deaf]
project = "shelf"
context_limit = 0

[agents.open]
project = "shelf"

[[agents.open.save_rules]]
tool = "bash"
match_output = "error|panic|fatal"
type = "bugfix"

[[agents.open.inject_rules]]
tool = "kubectl"
match_args = "restart"

[[agents.open.inject_rules]]
tool = "deploy"
query = "readers"

[[agents.blind.inject_rules]]
tool = "kubectl"

[[agents.deaf.inject_rules]]
tool = "kubectl"
"""
AGENTS = ("silent", "blind", "brief", "deaf", "open")
SAID = {
    "session_id": "s",
    "type": "decision",
    "title": "Use WAL mode",
    "content": "Readers go on while one writes.",
    "project": "shelf",
}


class Door:
    """An agent as a client of a server's interfaces."""

    def __init__(self, server: Server, token: str) -> None:
        self.client = httpx2.Client(
            base_url=server.url,
            headers={
                "Authorization": f"Bearer {token}",
                "Accept": "application/json, text/event-stream",
            },
            timeout=20,
        )

    def asked(self, method: str, params: dict[str, Any], **headers: str) -> dict[str, Any]:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = self.client.post("/mcp", json=body, headers=headers)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()["result"]
        return found

    def tools(self) -> set[str]:
        return {each["name"] for each in self.asked("tools/list", {})["tools"]}

    def use(self, name: str, **given: Any) -> dict[str, Any]:
        return self.asked("tools/call", {"name": name, "arguments": given})


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = Home(tmp_path_factory.mktemp("switches") / "home")
    (home.path / "lamplighter.toml").write_text(FILE)
    server = Server(home)
    yield server
    server.kill()


@pytest.fixture(scope="module")
def doors(there: Server) -> Iterator[dict[str, Door]]:
    made: dict[str, Door] = {}
    for name in AGENTS:
        given = {"scopes": ["knowledge:write", "context:read"], "agent": name}
        answer = httpx2.post(
            f"{there.url}/api/v1/tokens", json=given, headers=there.headers, timeout=20
        )
        made[name] = Door(there, answer.json()["token"])
    assert made["open"].client.post("/agentops/observations", json=SAID).status_code == 201
    yield made
    for door in made.values():
        door.client.close()


def test_137_agent_without_auto_save_has_no_mem_save(doors: dict[str, Door]) -> None:
    silent, other = doors["silent"], doors["open"]

    assert "mem_save" in other.tools()
    assert not {"mem_save"} & silent.tools()
    assert silent.use("mem_save", type="decision", title="x", content="y")["isError"]
    assert silent.client.post("/agentops/observations", json=SAID).status_code == 403
    assert silent.client.get("/agentops/search", params={"q": "wal"}).status_code == 200


def test_137_agent_without_auto_search_has_no_mem_search(doors: dict[str, Door]) -> None:
    blind = doors["blind"]

    assert "mem_search" in doors["open"].tools()
    assert "mem_search" not in blind.tools()
    assert blind.use("mem_search", query="wal")["isError"]
    assert blind.client.get("/agentops/search", params={"q": "wal"}).status_code == 403
    assert "mem_save" in blind.tools()


@pytest.mark.parametrize(("name", "kept"), [("brief", False), ("open", True)])
def test_137_agent_without_auto_summarize_stores_no_summary(
    doors: dict[str, Door], name: str, kept: bool
) -> None:
    door = doors[name]
    said = {"messages": [{"role": "user", "content": "Deploy it"}], "summary": ""}

    begun = door.client.post("/agentops/sessions", json={"id": f"r-{name}", "project": "shelf"})
    ended = door.client.post(f"/agentops/sessions/r-{name}/end", json=said)
    door.use("mem_session_start", session_id=f"m-{name}")
    over = door.use("mem_session_end", session_id=f"m-{name}", summary="We deployed it.")

    assert (begun.status_code, ended.status_code) == (201, 200), ended.text
    assert bool(ended.json()["summary"]) is kept
    assert not over["isError"], over
    shown = door.client.get(f"/agentops/sessions/m-{name}").json()
    assert bool(shown["summary"]) is kept


def test_137_with_context_limit_0_no_observation_is_included(doors: dict[str, Door]) -> None:
    deaf, other = doors["deaf"], doors["open"]
    asked = {"project": "shelf", "query": "wal"}

    told = [door.client.get("/agentops/context", params=asked).json() for door in (deaf, other)]
    by_tool = [door.use("mem_context", query="wal") for door in (deaf, other)]
    more = deaf.client.get("/agentops/context", params={**asked, "limit": 9}).json()

    recent = other.client.get("/agentops/context", params={"project": "shelf"}).json()

    assert [len(each["recent_observations"]) for each in told] == [0, 1]
    assert [str(each["rank"]) for each in recent["recent_observations"]] == ["0.0"]
    assert more["recent_observations"] == []
    assert "<memory:context>" not in told[0]["context"]
    texts = [json.dumps(each["content"]) for each in by_tool]
    assert ["Use WAL mode" in each for each in texts] == [False, True]


def test_136_save_rules_of_an_agent_store_its_tool_results(
    there: Server, doors: dict[str, Door]
) -> None:
    given = {
        "session_id": "cli-1",
        "cwd": "/srv/shelf",
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "ping db"},
        "tool_response": "fatal: no route",
    }
    for name in ("open", "deaf"):
        answer = doors[name].client.post("/api/v1/hooks/PostToolUse", json=given | {
            "session_id": f"cli-{name}"
        })  # fmt: skip
        assert answer.status_code == 200, answer.text

    kept = there.home.rows(
        "SELECT title, category, project, trust FROM memories WHERE source = 'captured'"
    )
    assert kept == [("bash: fatal: no route", "bugfix", "shelf", "unverified")]


INJECTED = [
    ("open", "restart readers", "Readers go on"),
    ("open", "look at readers", ""),
    ("blind", "restart readers", ""),
    ("deaf", "restart readers", ""),
    ("silent", "restart readers", ""),
]


@pytest.mark.parametrize(("name", "command", "told"), INJECTED)
def test_inject_rules_of_an_agent_add_memories_to_tool_results(
    doors: dict[str, Door], name: str, command: str, told: str
) -> None:
    client, given = doors[name].client, {"session_id": f"kube-{name}", "cwd": "/srv/shelf"}
    begun = client.post("/api/v1/hooks/SessionStart", json=given)
    use = {**given, "tool_name": "Kubectl", "tool_input": {"command": command}}

    answer = client.post("/api/v1/hooks/PostToolUse", json={**use, "tool_response": "done"})

    wanted = {"open": {"bash", "kubectl", "deploy"}}.get(name, set())
    assert set(begun.headers.get("x-lamplighter-tools", "").split()) == wanted
    words = answer.json().get("hookSpecificOutput", {}).get("additionalContext", "")
    assert (told in words) if told else words == ""


def test_inject_rule_with_a_query_ignores_the_tool_input(
    doors: dict[str, Door],
) -> None:
    client, given = doors["open"].client, {"session_id": "deploys", "cwd": "/srv/shelf"}
    client.post("/api/v1/hooks/SessionStart", json=given)
    use = {**given, "tool_name": "Deploy", "tool_input": {"to": "staging"}, "tool_response": "done"}

    answer = client.post("/api/v1/hooks/PostToolUse", json=use)

    assert "Readers go on" in answer.json()["hookSpecificOutput"]["additionalContext"]
