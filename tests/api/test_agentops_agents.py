"""Agents and their tokens: each is limited to its own project, and its switches apply here too."""

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest

from lamplighter.api.agentops.routes import OPERATIONS
from living import Home
from memory_service import MemoryService

SETTINGS = """
[agents.coder]
project = "Code"
context_limit = 1

[agents.away]
memory_url = "http://127.0.0.1:9"

[agents.quiet]
auto_summarize = false
auto_save = false
auto_search = false
context_limit = 0
"""
TALK = {"messages": [{"role": "user", "content": "Deploy it"}]}

Speak = Callable[[str], httpx2.Client]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = Home(tmp_path_factory.mktemp("agents") / "home")
    (home.path / "lamplighter.toml").write_text(SETTINGS)
    return home


@pytest.fixture(scope="module")
def service(home: Home) -> Iterator[MemoryService]:
    started = MemoryService(home)
    yield started
    started.kill()


@pytest.fixture(scope="module")
def anybody(service: MemoryService) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=service.url, timeout=20) as asking:
        yield asking


@pytest.fixture(scope="module")
def speak(home: Home, service: MemoryService) -> Iterator[Speak]:
    clients: list[httpx2.Client] = []

    def client(agent: str) -> httpx2.Client:
        words = ("token", "create", "--scope", "knowledge:write", "--agent", agent, "--json")
        done = home.ask(*words)
        assert done.returncode == 0, done.stderr
        way_in = {"Authorization": f"Bearer {json.loads(done.stdout)['token']}"}
        clients.append(httpx2.Client(base_url=service.url, headers=way_in, timeout=20))
        return clients[-1]

    yield client
    for each in clients:
        each.close()


@pytest.fixture(scope="module")
def coder(speak: Speak) -> httpx2.Client:
    return speak("coder")


@pytest.fixture(scope="module")
def quiet(speak: Speak) -> httpx2.Client:
    return speak("quiet")


def test_every_route_returns_409_for_an_agent_with_a_remote_memory_service(speak: Speak) -> None:
    away = speak("away")
    for prefix, entry in itertools.product(("", "/agentops"), OPERATIONS):
        if entry.scope not in ("knowledge:read", "knowledge:write"):
            continue
        answer = away.request(entry.method, f"{prefix}{entry.path}".replace("{id:int}", "1"))
        assert answer.status_code == 409, (entry, answer.text)
        assert "stores its knowledge at http://127.0.0.1:9 (" in answer.text
    assert away.get("/health").status_code == 200


def saved(asking: httpx2.Client, content: str, **more: Any) -> int:
    answer = asking.post("/observations", json={"content": content, "title": "T", **more})
    assert answer.status_code == 201, answer.text
    return int(answer.json()["id"])


def test_an_agent_saves_into_its_project_whatever_project_it_names(
    coder: httpx2.Client, anybody: httpx2.Client
) -> None:
    number = saved(coder, "We deploy on Fridays", project="elsewhere")

    row = anybody.get(f"/observations/{number}").json()
    assert row["project"] == "code"
    assert row["session_id"] == "manual-save-code"
    session = anybody.get("/sessions/manual-save-code").json()
    assert session["project"] == "code"
    assert coder.get("/project/current", params={"cwd": "/srv/x"}).json()["project"] == "code"


def test_an_agent_cannot_read_or_change_another_project(
    coder: httpx2.Client, anybody: httpx2.Client
) -> None:
    mine = saved(coder, "unheardof of ours")
    theirs = saved(anybody, "unheardof of theirs", project="theirs", session_id="theirs-1")
    wide = saved(anybody, "unheardof of all", project="theirs", scope="global")
    anybody.post("/sessions/theirs-1/end", json=TALK)
    anybody.post("/prompts", json={"session_id": "theirs-1", "content": "unheardof?"})
    ended = anybody.get("/sessions/theirs-1").json()
    prompt = anybody.get("/prompts/recent", params={"project": "theirs"}).json()[0]["id"]

    found = coder.get("/search", params={"q": "unheardof", "project": "theirs"}).json()
    typed = coder.get("/search", params={"q": "project:theirs unheardof"}).json()
    listed = coder.get("/observations/recent", params={"project": "theirs"}).json()
    context = coder.get("/context", params={"query": "unheardof", "project": "theirs"}).json()

    assert {mine, wide} <= {row["id"] for row in found}
    assert theirs not in {row["id"] for row in found}
    assert mine in {row["id"] for row in typed}
    assert theirs not in {row["id"] for row in typed}
    assert theirs not in {row["id"] for row in listed}
    assert context["recent_sessions"] == []
    assert len(context["recent_observations"]) == 1
    assert coder.get(f"/observations/{wide}").status_code == 200
    for number in (theirs, wide):
        assert coder.patch(f"/observations/{number}", json={"title": "x"}).status_code == 404
        assert coder.delete(f"/observations/{number}").status_code == 404
    for path in (
        f"/observations/{theirs}",
        "/sessions/theirs-1",
        f"/timeline?observation_id={theirs}",
    ):
        assert coder.get(path).status_code == 404
    assert coder.post("/sessions/theirs-1/end", json=TALK).status_code == 404
    assert coder.delete(f"/prompts/{prompt}").status_code == 404
    for path in ("/sessions", "/observations", "/prompts", "/observations/passive"):
        said = {"id": "theirs-1", "session_id": "theirs-1", "content": "x", "title": "x"}
        assert coder.post(path, json=said).status_code < 300
    assert anybody.get("/sessions/theirs-1").json() == ended, "what the agent calls so is its own"
    assert coder.get("/sessions/theirs-1").json()["project"] == "code"
    assert {row["project"] for row in coder.get("/prompts/recent").json()} == {"code"}
    sessions = coder.get("/sessions/recent", params={"project": "theirs"}).json()
    assert {row["project"] for row in sessions} == {"code"}
    assert coder.get("/stats").json()["projects"] == ["code"]
    exported = coder.get("/export", params={"project": "theirs"}).json()
    assert {row["project"] for row in exported["observations"]} == {"code"}
    moving = {"old_project": "theirs", "new_project": "code"}
    assert coder.post("/projects/migrate", json=moving).status_code == 403
    assert coder.post("/import", json={}).status_code == 403


def test_permanent_deletion_requires_the_scope(
    coder: httpx2.Client, anybody: httpx2.Client, service: MemoryService
) -> None:
    number = saved(coder, "To be removed")

    for asking in (coder, anybody):
        answer = asking.delete(f"/observations/{number}", params={"hard": "true"})
        assert answer.status_code == 403
        assert "memories:write" in answer.json()["error"]
    machine = httpx2.delete(
        f"{service.url}/observations/{number}?hard=true", headers=service.headers, timeout=20
    )
    assert machine.json() == {"id": number, "status": "deleted", "hard_delete": True}


def test_each_switch_of_an_agent_disables_its_feature(
    quiet: httpx2.Client, anybody: httpx2.Client
) -> None:
    saved(anybody, "unheardof quiet", project="quiet", session_id="quiet-0")

    assert quiet.post("/observations", json={"content": "x"}).status_code == 403
    assert quiet.post("/observations/passive", json={"content": "x"}).status_code == 403
    assert quiet.get("/search", params={"q": "unheardof"}).status_code == 403
    told = quiet.get("/context", params={"query": "unheardof", "limit": 50}).json()
    assert told["recent_observations"] == []
    quiet.post("/sessions", json={"id": "quiet-1"})
    ended = quiet.post("/sessions/quiet-1/end", json=TALK).json()
    assert (ended["summary"], ended["status"]) == ("", "completed")


def test_an_agent_cannot_raise_its_context_limit(
    coder: httpx2.Client, anybody: httpx2.Client
) -> None:
    for each in range(3):
        saved(coder, f"Something {each}")

    def told(asking: httpx2.Client, **params: Any) -> int:
        answer = asking.get("/context", params={"project": "code", **params})
        return len(answer.json()["recent_observations"])

    assert told(coder) == told(coder, limit=50) == 1
    assert told(anybody, limit=0) == 0
    assert told(anybody, limit=3) == 3


def test_the_history_and_the_journal_record_the_actor(
    home: Home, anybody: httpx2.Client, speak: Speak, service: MemoryService
) -> None:
    given = {"title": "By whom", "content": "Words to know by whom", "project": "whose"}
    [coder, token] = [speak("coder"), home.value("SELECT max(id) FROM tokens")]
    done = home.ask("token", "create", "--scope", "write", "--name", "laptop", "--json")
    laptop = json.loads(done.stdout)
    shown = {"Authorization": f"Bearer {laptop['token']}"}

    kept = anybody.post("/observations", json=given).json()["id"]
    httpx2.patch(f"{service.url}/observations/{kept}", json={"title": "T"}, headers=shown)
    httpx2.delete(f"{service.url}/observations/{kept}", headers=shown)
    mine = coder.post("/observations", json={**given, "content": "Mine"}).json()["id"]
    again = {**given, "content": "Other words", "topic_key": "whose/key"}
    anybody.post("/observations", json=again)
    twice = anybody.post("/observations", json={**again, "content": "Still others"}).json()["id"]

    def told(number: int) -> list[tuple[str, str, str]]:
        rows = "SELECT cause, actor, reason FROM history WHERE memory_id = ? ORDER BY id"
        return home.rows(rows, number)

    by = f"token {laptop['id']} (laptop)"
    assert told(kept) == [
        ("learned", "session", "this machine"),
        ("edited", "client", by),
        ("forgotten", "client", by),
    ]
    assert told(mine) == [("learned", "session", f"agent coder, token {token}")]
    assert [each[::2] for each in told(twice)] == [
        ("learned", "this machine"),
        ("revised", "this machine"),
    ]


@pytest.mark.parametrize("way", ["field", "header"])
def test_the_context_of_a_session_is_stored_byte_for_byte(
    home: Home, anybody: httpx2.Client, way: str
) -> None:
    named, project = f"told-{way}", f"telling-{way}"
    anybody.post("/sessions", json={"id": named, "project": project})
    row = {"title": "Ümlaut", "content": "Words — «to be told»", "project": project}
    for number in range(4):
        anybody.post("/observations", json={**row, "content": f"{row['content']} {number}"})
    anybody.post("/observations", json={**row, "project": "other"})
    params: dict[str, Any] = {"project": project.upper(), "query": "words", "max_bytes": 100}
    headers = {"X-Session-ID": named} if way == "header" else {}
    params |= {"session_id": named} if way == "field" else {}

    told = anybody.get("/context", params=params, headers=headers).json()
    anybody.get("/context", params=params | {"project": "other"}, headers=headers)
    anybody.get("/context", params=params | {"session_id": "unheardof"}, headers=headers)
    anybody.get("/context", params={"project": project})

    kept = "SELECT injected, query FROM retellings JOIN sessions ON sessions.id = session_id"
    own = [each for each in told["recent_observations"] if row["content"] in each["content"]]
    assert len(own) == 4
    assert told["context"].count("- [") == 1
    assert home.rows(f"{kept} WHERE external_id = ?", named) == [(told["context"], "words")]
