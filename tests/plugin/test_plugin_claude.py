"""The plugin in the real Claude Code CLI with a stand-in model: included, saved, harmless."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from developer_project import PLUGIN, ROOT, Answer, Desk, bad, hangs, hangs_up
from developer_project import says as answers

from living import Home, Server
from messages_api import Asked, MessagesApi, Turn, says, uses

SESSION = "0c3b6f1e-6f4b-4c39-9d52-6f0a4f3f2b11"
POOL = "The Postgres pool holds 20 connections; pgbouncer stands before it."
ASKED = "Why does the postgres pool run out of connections? We use tabs, not spaces."
TOOL = "mcp__plugin_lamplighter_memory__"
ALLOWED = ("--allowedTools", "Bash,mcp__plugin_lamplighter_memory")


@pytest.fixture
def api() -> Iterator[MessagesApi]:
    with MessagesApi() as started:
        yield started


@pytest.fixture
def ready(desk: Desk) -> Desk:
    desk.configure()
    return desk


def known(server: Server, desk: Desk, text: str, **more: str) -> None:
    """Store a memory of the project over the API."""
    given = {"category": "config", "observation": text, "project": desk.name, **more}
    made = httpx2.post(f"{server.url}/api/v1/memories", headers=server.headers, json=given)
    assert made.status_code == 201, made.text


def told(asked: Asked, hook: str) -> list[str]:
    """Return the context that a hook added to a request to the model."""
    own = rf"{hook} hook additional context: (.*?)(?=\w+ hook additional context: |\Z)"
    texts = [
        block["text"]
        for message in asked.body["messages"]
        for block in (message["content"] if isinstance(message["content"], list) else [])
        if block.get("type") == "text"
    ]
    return [each for text in texts for each in re.findall(own, text, re.DOTALL)]


def test_session_gets_context_and_its_knowledge_is_stored(
    server: Server, ready: Desk, api: MessagesApi
) -> None:
    known(server, ready, "Rings point down only.", category="architecture")
    api.scenarios["x"] = [uses("Bash", {"command": "ls /nowhere; echo fatal: lost"}), says("Done.")]

    done = ready.asks(ASKED, "--session-id", SESSION, *ALLOWED, api=api.url("x"))

    assert (done.status, done.answer) == (0, "Done.")
    first, *_ = api.requests("x")
    [start] = told(first, "SessionStart")
    assert start.startswith(f"## Lamplighter memories for {ready.name}\n")
    assert re.search(r"- \[architecture, \d{4}-\d\d-\d\d\] Rings point down only\. \(#", start)
    [row] = server.home.rows(
        "SELECT id, project, directory, status, summary, response FROM sessions"
        " WHERE external_id = ?",
        SESSION,
    )
    number, *rest = row
    assert rest == [
        *(ready.name, str(ready.project), "completed"),
        f'Session with 2 messages. Started: "{ASKED}" — Ended: "{ASKED}"',
        "Done.",
    ]
    injected = "SELECT injected FROM prompts WHERE session_id = ?"
    assert start.startswith(server.home.value(injected, number).rstrip("\n"))
    query = "SELECT title, observation, category, trust FROM memories WHERE session_id = ?"
    kept = server.home.rows(f"{query} ORDER BY category", number)
    assert [each[0] for each in kept] == ["bash: fatal: lost", ""]
    assert kept[1][1:] == ("We use tabs, not spaces.", "learning", "unverified")


def test_resumed_session_keeps_its_row_and_its_prompt_gets_related_memories(
    server: Server, ready: Desk, api: MessagesApi
) -> None:
    """The hook also sends the transcript: the texts of the user and the model, each once."""
    ready.transcripts = True
    ready.configure()
    ready.asks("Hello there.", "--session-id", SESSION[:-1] + "2", api=api.url())
    known(server, ready, POOL)

    done = ready.asks(ASKED, "--resume", SESSION[:-1] + "2", api=api.url())

    assert done.status == 0, done
    last = api.requests()[-1]
    told_again = [*told(last, "SessionStart"), *told(last, "UserPromptSubmit")]
    assert sum(POOL in each for each in told_again) == 1
    query = "SELECT status, resumed, messages, id FROM sessions WHERE external_id = ?"
    [(*held, number)] = server.home.rows(query, SESSION[:-1] + "2")
    assert held == ["completed", 1, 4]
    query = "SELECT role, text FROM transcript_messages WHERE session_id = ? ORDER BY id"
    said = server.home.rows(query, number)
    assert [each for each in said if each[0] == "user"] == [
        ("user", "Hello there."),
        ("user", ASKED),
    ]
    assert [each[0] for each in said] == ["user", "assistant"] * 2


def test_related_memory_is_added_to_the_prompt_if_not_included_at_the_start(
    server: Server, ready: Desk, api: MessagesApi
) -> None:
    """An old decision is not included at the start, but with a prompt about it."""
    known(server, ready, POOL, category="discovery")

    ready.asks(ASKED, api=api.url())

    [request] = api.requests()
    [beside] = told(request, "UserPromptSubmit")
    assert re.search(rf"- \[discovery, \d{{4}}-\d\d-\d\d\] {re.escape(POOL)} \(#", beside)
    profiles = [each.split("Index of the notebook")[0] for each in told(request, "SessionStart")]
    assert not any(POOL in each for each in profiles)


@pytest.mark.usefixtures("tools")
def test_plugin_tools_are_listed_and_can_be_called(
    server: Server, ready: Desk, api: MessagesApi
) -> None:
    words = {"type": "decision", "title": "Queue", "content": "We queue in Postgres."}
    saved = {**words, "project": ready.name, "topic_key": "architecture/queue"}
    search = {"query": "queue postgres", "project": ready.name}
    api.scenarios["x"] = [
        uses(f"{TOOL}mem_save", saved),
        uses(f"{TOOL}mem_search", search),
        says("{{tool_result}}"),
    ]

    done = ready.asks("Remember the queue", *ALLOWED, api=api.url("x"))

    [begun] = [line for line in done.lines if line.get("subtype") == "init"]
    assert [each["status"] for each in begun["mcp_servers"]] == ["connected"]
    assert {f"{TOOL}{each}" for each in ("mem_save", "mem_search", "mem_context")} <= {
        *begun["tools"]
    }
    assert "We queue in Postgres." in done.answer
    query = "SELECT observation, project, topic_key FROM memories WHERE title = 'Queue'"
    assert server.home.rows(query) == [("We queue in Postgres.", ready.name, "architecture/queue")]


def test_later_session_and_its_subagent_receive_the_digest(ready: Desk, api: MessagesApi) -> None:
    """A subagent receives the digests at its start, and ends after its first response."""
    notes = str(ready.project / "notes.md")
    api.scenarios["first"] = [
        uses("Write", {"file_path": notes, "content": "SECRET-OF-THE-FILE"}),
        uses("TaskCreate", {"subject": "Test the parser", "description": "later"}),
        says("Written. Shall I test it?"),
    ]
    tools = ("--allowedTools", "Write,TaskCreate,Task,Agent")
    ready.asks("Write the parser", *tools, api=api.url("first"))

    def turn(asked: Asked) -> Turn:
        if "FIND-IT" in json.dumps(asked.body["messages"][0]):
            return says("Found.")
        names = [each["name"] for each in asked.body.get("tools", [])]
        given = {"description": "look", "prompt": "FIND-IT", "subagent_type": "general-purpose"}
        return [uses("Agent" if "Agent" in names else "Task", given), says("Done.")][
            min(asked.turn, 1)
        ]

    api.scenarios["second"] = turn
    done = ready.asks("Use a subagent", *tools, api=api.url("second"))

    assert done.status == 0, done
    line = re.compile(
        r"- \[\d{4}-\d\d-\d\d, session \d+\] Task: Write the parser\. Files: notes\.md\. "
        r"Open: Test the parser; Written\. Shall I test it\?"
    )
    own = [each for each in api.requests("second") if "FIND-IT" not in first_message(each)]
    subagents = [each for each in api.requests("second") if "FIND-IT" in first_message(each)]
    assert line.search(told(own[0], "SessionStart")[0])
    assert line.search(told(subagents[0], "SubagentStart")[0])
    assert len(subagents) == 1
    assert "SECRET-OF-THE-FILE" not in json.dumps([each.body for each in api.requests("second")])


def first_message(asked: Asked) -> str:
    return json.dumps(asked.body["messages"][0])


def test_a_disabled_plugin_adds_and_stores_nothing(
    server: Server, ready: Desk, api: MessagesApi
) -> None:
    known(server, ready, POOL)
    (ready.project / ".lamplighter-off").touch()

    done = ready.asks(ASKED, api=api.url())

    assert done.answer == "OK."
    [request] = api.requests()
    assert POOL not in json.dumps(request.body)
    query = "SELECT id FROM sessions WHERE directory = ?"
    assert server.home.rows(query, str(ready.project)) == []


BAD: dict[str, Answer] = {
    "hangs": hangs,
    "500": answers(b"{}", "500 Internal Server Error"),
    "garbage": answers(b"<html>\x00"),
    "half": hangs_up,
}
WORK = [uses("Bash", {"command": "echo hi"}), says("The answer: {{tool_result}}")]


@pytest.mark.parametrize("how", [*BAD, "down"])
def test_unhealthy_server_does_not_affect_the_session(
    desk: Desk, api: MessagesApi, how: str
) -> None:
    api.scenarios["x"] = WORK
    with bad(BAD.get(how, hangs)) as server:
        desk.url = "http://127.0.0.1:9" if how == "down" else server.url
        desk.configure()
        done = desk.asks("Say hi", *ALLOWED, api=api.url("x"))

    assert (done.status, done.answer, done.err) == (0, "The answer: hi", "")
    assert "hook_errors" not in done.out
    assert {each["outcome"] for each in done.lines if each.get("subtype") == "hook_response"} == {
        "success"
    }


def test_server_killed_during_a_session_does_not_affect_the_session(
    tmp_path: Path, api: MessagesApi
) -> None:
    own = Server(Home(tmp_path / "home"))
    way_in = own.headers["Authorization"].removeprefix("Bearer ")
    desk = Desk(tmp_path / "desk", own.url, way_in)
    desk.configure()

    def turn(asked: Asked) -> Turn:
        own.kill()
        return WORK[asked.turn]

    api.scenarios["x"] = turn
    done = desk.asks("Say hi", *ALLOWED, api=api.url("x"))

    assert (done.status, done.answer, done.err) == (0, "The answer: hi", "")
    query = "SELECT project, status FROM sessions"
    assert own.home.rows(query) == [(desk.name, "running")]


@pytest.mark.usefixtures("tools")
def test_plugin_is_valid_and_installs_from_its_directory(desk: Desk, api: MessagesApi) -> None:
    for path in (PLUGIN, PLUGIN.parent):
        valid = desk.claude("plugin", "validate", str(path))
        assert (valid.status, "warning" in valid.out.partition("Plugin directory")[0]) == (0, False)

    added = desk.claude("plugin", "marketplace", "add", str(PLUGIN.parent))
    config = ("--config", f"server_url={desk.url}", "--config", f"token={desk.token}")
    installed = desk.claude("plugin", "install", "lamplighter@lamplighter", *config)

    assert (added.status, installed.status) == (0, 0), (added, installed)
    done = desk.asks("Hello", api=api.url(), plugin=False)
    [begun] = [line for line in done.lines if line.get("subtype") == "init"]
    assert "lamplighter@lamplighter" in {each["source"] for each in begun["plugins"]}
    assert [each["status"] for each in begun["mcp_servers"]] == ["connected"]
    assert "lamplighter:memory" in begun["skills"]
    settings: dict[str, Any] = json.loads((desk.path / "claude" / "settings.json").read_text())
    assert desk.token not in json.dumps(settings)
    assert (ROOT / "plugins" / ".claude-plugin" / "marketplace.json").exists()
