"""/mcp of a real web process: the SDK's own client, access control, and invalid requests."""

import itertools
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from client_contexts import WAL
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from lamplighter.formats.tools import CLIENT_TOOLS
from living import Server

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
HTTP = httpx2.Client(trust_env=False, follow_redirects=False, timeout=30)
EVERY_NAME = [each.name for each in CLIENT_TOOLS if each.name != "handoff"]
NAMES = [each for each in EVERY_NAME if each not in ("mem_confirm", "incidents", "service")]


@pytest.fixture(scope="module", autouse=True)
def closed() -> Iterator[None]:
    """Close every connection."""
    yield
    HTTP.close()


@asynccontextmanager
async def client(server: Server, token: str, address: str = "/mcp") -> AsyncIterator[Client]:
    shown = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=shown, trust_env=False, follow_redirects=False) as http,
        Client(streamable_http_client(f"{server.url}{address}", http_client=http)) as asked,
    ):
        yield asked


def ask(
    server: Server,
    token: str,
    body: Any = LIST,
    *,
    method: str = "POST",
    address: str = "/mcp",
    **headers: str,
) -> httpx2.Response:
    given = {**HEADERS, "Authorization": f"Bearer {token}", **headers}
    shown = {name: value for name, value in given.items() if value}
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return HTTP.request(method, f"{server.url}{address}", content=content, headers=shown)


async def call(asked: Client, name: str, **given: Any) -> dict[str, Any]:
    answer = await asked.call_tool(name, given)
    assert not answer.is_error, answer.content
    assert answer.structured_content is not None
    return dict(answer.structured_content)


async def test_the_client_of_the_sdk_saves_and_finds_a_memory(
    server: Server, tokens: dict[str, str]
) -> None:
    async with client(server, tokens["hermes"]) as asked:
        offered = await asked.list_tools()
        begun = await call(asked, "mem_session_start", session_id="http-1")
        saved = await call(asked, "mem_save", **WAL)
        bad = await asked.call_tool("mem_save", {"type": "idea"})
        none = await asked.call_tool("nothing", {})
    async with client(server, tokens["hermes"], "/mcp/?answers=words") as asked:
        found = await asked.call_tool("mem_search", {"query": "reads go on"})

    assert [each.name for each in offered.tools] == NAMES
    assert begun["session_id"] == "http-1"
    kept = server.home.rows(
        "SELECT m.project, s.external_id, m.tier, s.agent FROM memories m "
        "JOIN sessions s ON s.id = m.session_id WHERE m.id = ?",
        saved["id"],
    )
    assert kept == [("shop", "http-1", 0, "hermes")]
    assert bad.is_error
    assert bad.content[0].text.startswith("Not done. type: is 'idea'; it is one of decision, ")
    assert none.is_error
    assert found.structured_content is None
    assert "[decision] WAL mode for SQLite" in found.content[0].text


async def test_only_an_unbound_token_may_name_a_project_in_the_address(
    server: Server, tokens: dict[str, str]
) -> None:
    async with client(server, tokens["ann"], "/mcp?project=Blog") as asked:
        assert (await call(asked, "mem_save", **WAL))["project"] == "blog"
    call_of = {"name": "mem_stats", "arguments": {}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call_of}
    answer = ask(server, tokens["hermes"], body, address="/mcp?project=blog").json()["result"]

    assert answer["isError"]
    assert answer["content"][0]["text"] == "project: must be shop for agent hermes"


def test_both_addresses_respond_without_a_redirect(server: Server, tokens: dict[str, str]) -> None:
    for address in ("/mcp", "/mcp/"):
        answer = ask(server, tokens["ann"], address=address)
        assert answer.status_code == 200
        assert [each["name"] for each in answer.json()["result"]["tools"]] == NAMES


def test_a_missing_invalid_or_insufficient_token_is_denied(
    server: Server, tokens: dict[str, str]
) -> None:
    whole = tokens["ann"]
    wrong = ["", "Bearer", "Bearer x", f"Basic {whole}", whole, f"Bearer {whole[:-1]}"]
    for method, address in itertools.product(("POST", "GET", "DELETE"), ("/mcp", "/mcp/")):
        for header in wrong:
            answer = ask(server, "", method=method, address=address, Authorization=header)
            assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
            assert "lamp_" not in answer.text.replace("lamp_…", "")
    assert ask(server, tokens["events"]).status_code == 403
    assert ask(server, tokens["reader"]).status_code == 200


def test_a_browser_login_is_denied(server: Server) -> None:
    with httpx2.Client(base_url=server.url, trust_env=False) as browser:
        entered = browser.post(
            "/login", data={"code": server.home.code()}, headers={"Origin": server.url}
        )
        assert entered.status_code in (200, 303)
        assert browser.get("/api/v1/overview").status_code == 200
        asked = browser.post("/mcp", json=LIST, headers={**HEADERS, "Origin": server.url})

    assert asked.status_code == 401


def test_a_foreign_host_or_origin_is_denied(server: Server, tokens: dict[str, str]) -> None:
    own = server.url.removeprefix("http://")
    hosts = [own, f"localhost:{server.port}", "evil.example", "127.0.0.1.evil.example"]
    origins = ["", server.url, "null", "https://evil.example", "http://127.0.0.1:1"]
    for host, origin in itertools.product(hosts, origins):
        answer = ask(server, tokens["ann"], Host=host, Origin=origin)
        allowed = host in hosts[:2] and origin in ("", f"http://{host}")
        assert answer.status_code == (200 if allowed else 403), (host, origin)


def test_a_revoked_token_is_denied(server: Server) -> None:
    made = json.loads(server.home.ask("token", "create", "--agent", "Gone", "--json").stdout)
    assert (made["agent"], made["scopes"]) == ("gone", ["knowledge:write"])
    assert ask(server, made["token"]).status_code == 200
    url = f"{server.url}/api/v1/tokens/{made['id']}"
    assert HTTP.delete(url, headers=server.headers).status_code == 204

    assert ask(server, made["token"]).status_code == 401


CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
ODD = {
    "no json": (b"no json", {400}),
    "deep": (b"[" * 50_000, {400}),
    "empty": (b"", {400}),
    "a list": ([LIST], {400}),
    "no method": ({"jsonrpc": "2.0", "id": 1}, {400}),
    "unknown method": ({"jsonrpc": "2.0", "id": 1, "method": "nothing/such"}, {200, 404}),
    "no params": (CALL, {200, 400}),
    "no name": ({**CALL, "params": {"arguments": {}}}, {200, 400}),
    "arguments of text": ({**CALL, "params": {"name": "mem_search", "arguments": "x"}}, {200, 400}),
    "huge": (b'{"a": "' + b"x" * 900_000 + b'"}', {413}),
    "larger": (b" " * 1_100_000, {413}),
    "surrogate": (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mem_search",'
        b'"arguments":{"query":"\\ud800"}}}',
        {200, 400},
    ),
}


@pytest.mark.parametrize("odd", ODD)
def test_an_invalid_request_causes_no_internal_error(
    server: Server, tokens: dict[str, str], odd: str
) -> None:
    body, statuses = ODD[odd]

    answer = ask(server, tokens["ann"], body)

    assert answer.status_code in statuses, answer.text
    assert "Traceback" not in answer.text
    if answer.status_code == 200:
        said = answer.json()
        assert "error" in said or said["result"]["isError"] or odd == "surrogate"
    assert ask(server, tokens["ann"]).status_code == 200


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_only_post_is_allowed(server: Server, tokens: dict[str, str], method: str) -> None:
    answer = ask(server, tokens["ann"], b"", method=method, Accept="text/event-stream")

    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)
FIELDS = sorted({name for each in CLIENT_TOOLS for name in each.schema["properties"]})


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(name=st.sampled_from(EVERY_NAME), fields=st.dictionaries(st.sampled_from(FIELDS), ANYTHING))
def test_any_arguments_return_a_text_without_an_internal_error(
    server: Server, tokens: dict[str, str], name: str, fields: dict[str, Any]
) -> None:
    body = {**CALL, "params": {"name": name, "arguments": fields}}

    answer = ask(server, tokens["all"], body)

    assert answer.status_code == 200
    said = answer.json()["result"]["content"][0]["text"]
    assert said
    assert "fault of ours" not in said


def test_importing_the_processes_loads_no_optional_library() -> None:
    code = (
        "import sys, lamplighter.serve.web, lamplighter.serve.supervisor, lamplighter.cli\n"
        "print([each for each in ('mcp', 'asyncpg', 'numpy', 'anthropic') if each in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"
