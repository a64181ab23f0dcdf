"""`lamplighter mcp`: a real process that answers on standard output, without a server."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from client_contexts import WAL
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

import nursery
from lamplighter.formats.tools import CLIENT_TOOLS
from living import Home

ARGV = ["-m", "lamplighter", "mcp"]
EVERY_NAME = [each.name for each in CLIENT_TOOLS if each.name != "handoff"]
NAMES = [each for each in EVERY_NAME if each not in ("mem_confirm", "incidents", "service")]
BEGIN = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "by hand", "version": "1"},
    },
}
BEGUN = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LIST = {"jsonrpc": "2.0", "id": 9, "method": "tools/list"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    made = Home(tmp_path_factory.mktemp("stdio") / "home")
    (made.path / "lamplighter.toml").write_text('[agents.hermes]\nproject = "shop"\n')
    return made


@pytest.fixture(scope="module")
def token(home: Home) -> str:
    return home.ask("token", "create", "--agent", "hermes").stdout.strip()


@asynccontextmanager
async def client(home: Home, *words: str, token: str = "") -> AsyncIterator[Client]:
    env = {**home.env, "LAMPLIGHTER_TOKEN": token}
    started = StdioServerParameters(command=sys.executable, args=[*ARGV, *words], env=env)
    async with Client(stdio_client(started)) as asked:
        yield asked


def by_hand(
    home: Home, *lines: Any, words: tuple[str, ...] = (), token: str = ""
) -> subprocess.CompletedProcess[bytes]:
    """Write lines to the standard input of the process, close it, and return the result."""
    said = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in lines]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    env = {**home.env, "LAMPLIGHTER_TOKEN": token}
    with nursery.python(*ARGV, *words, env=env, **pipes) as process:
        try:
            out, err = process.communicate(b"".join(each + b"\n" for each in said), timeout=60)
        finally:
            process.kill()
    return subprocess.CompletedProcess(words, process.returncode, out, err)


async def test_the_client_of_the_sdk_acts_as_the_agent_of_its_token(home: Home, token: str) -> None:
    async with client(home, token=token) as asked:
        offered = await asked.list_tools()
        await asked.call_tool("mem_session_start", {"session_id": "stdio-1"})
        saved = await asked.call_tool("mem_save", WAL)
        found = await asked.call_tool("mem_search", {"query": "reads go on"})
        bad = await asked.call_tool("mem_save", {"type": "idea"})

    assert [each.name for each in offered.tools] == NAMES
    assert saved.structured_content is not None
    number = saved.structured_content["id"]
    rows = home.rows(
        "SELECT m.project, s.external_id, s.agent FROM memories m "
        "JOIN sessions s ON s.id = m.session_id WHERE m.id = ?",
        number,
    )
    assert rows == [("shop", "stdio-1", "hermes")]
    assert found.structured_content is not None
    assert [each["id"] for each in found.structured_content["results"]] == [number]
    assert bad.is_error


async def test_without_a_token_the_home_owner_has_access(home: Home) -> None:
    async with client(home, "--project", "Blog", "--words") as asked:
        saved = await asked.call_tool("mem_save", WAL)
    async with client(home, "--agent", "Hermes") as asked:
        also = await asked.call_tool("mem_save", {**WAL, "content": "Said by the agent."})

    assert saved.structured_content is None
    assert also.structured_content is not None
    kept = home.rows("SELECT project, source_ref FROM memories ORDER BY id DESC LIMIT 2")
    assert kept == [("shop", "agent hermes, mem_save"), ("blog", "this machine, mem_save")]


def test_stdout_has_only_responses_and_the_process_ends_with_stdin(home: Home) -> None:
    odd = [b"no json", b"", b"[1]", b'{"jsonrpc": "2.0", "id": 3}', b"\xff\xfe", b"[" * 20_000]
    calls: list[dict[str, Any]] = [
        {"name": 5},
        {"name": "mem_search", "arguments": "x"},
        {"name": "mem_search", "arguments": {"query": "x" * 1_000_000}},
        {"name": "nothing"},
    ]
    asked = [
        {"jsonrpc": "2.0", "id": 20 + number, "method": "tools/call", "params": each}
        for number, each in enumerate(calls)
    ]

    ended = by_hand(home, BEGIN, BEGUN, *odd, *asked, LIST)

    assert ended.returncode == 0, ended.stderr
    answers, rejected = {}, 0
    for line in ended.stdout.splitlines():
        answer = json.loads(line)
        assert answer["jsonrpc"] == "2.0"
        answers[answer["id"]] = answer
        rejected += answer["id"] is None
    assert rejected == len(odd), "a line without an answer"
    assert "is not a JSON-RPC message" in answers[None]["error"]["message"]
    offered = [each["name"] for each in answers[9]["result"]["tools"]]
    assert offered == [*EVERY_NAME, "handoff"], "who may read the home may do everything"
    for number in (20, 21):
        assert "error" in answers[number] or answers[number]["result"]["isError"]
    assert answers[22]["result"]["content"][0]["text"].startswith("Not done. query: is longer ")
    assert answers[23]["result"]["isError"]


@pytest.mark.parametrize(
    ("words", "shown", "told"),
    [
        ((), "lamp_1_thissecretisnotthatofanytoken", "LAMPLIGHTER_TOKEN is not valid"),
        ((), "nonsense", "LAMPLIGHTER_TOKEN is not valid"),
        (
            ("--agent", "other"),
            "hermes",
            "agent: must be hermes: the token determines the agent's identity",
        ),
        (("--project", "other"), "hermes", "project: must be shop for agent hermes"),
        (("--agent", "a b"), "", "agent: must have 1 to 64 lowercase letters"),
    ],
)
def test_startup_problems_go_to_standard_error(
    home: Home, token: str, words: tuple[str, ...], shown: str, told: str
) -> None:
    ended = by_hand(home, BEGIN, words=words, token=token if shown == "hermes" else shown)

    assert (ended.returncode, ended.stdout) == (2, b"")
    assert told in ended.stderr.decode()


async def test_a_revoked_token_is_reported_on_next_use(home: Home) -> None:
    made = json.loads(home.ask("token", "create", "--agent", "gone", "--json").stdout)
    async with client(home, token=made["token"]) as asked:
        assert not (await asked.call_tool("mem_stats", {})).is_error
        home.ask("token", "revoke", str(made["id"]))
        answer = await asked.call_tool("mem_stats", {})

    assert answer.is_error
    assert "is not valid, has expired or was revoked" in answer.content[0].text
