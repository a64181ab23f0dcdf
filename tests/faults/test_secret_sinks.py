"""Sixty kinds of secrets pass through the product; none reaches stored or sent text."""

import http.server
import json
import re
import shlex
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

import nursery
from living import ENGINE, Home, Server, result, text
from messages_api import MessagesApi, says, uses
from secret_examples import EXAMPLES, NAMED_LINES

SINKS = (
    *("model", "output", "rows", "api", "export", "backup"),
    *("log", "notification", "mcp", "prompt"),
)
LINES = {kind: f"{before}{secret}{after}" for kind, (before, secret, after) in EXAMPLES.items()}
SECRETS = {kind: secret for kind, (_, secret, _) in EXAMPLES.items()}
LINES |= {line.format(secret): line.format(secret) for line, secret in NAMED_LINES}
SECRETS |= {line.format(secret): secret for line, secret in NAMED_LINES}
ALL = "\n".join(LINES.values())
TOGETHER = 6
"""The number of lines in one memory or event: short enough to be complete in a prompt."""
GROUPS = [list(LINES.values())[at : at + TOGETHER] for at in range(0, len(LINES), TOGETHER)]
MARK = re.compile(r"\[REDACTED:|\*{8,}")
HEADERS = {"Accept": "application/json, text/event-stream"}
TOO_MANY_TOKENS = "100000"


@contextmanager
def inbox() -> Iterator[tuple[str, list[str]]]:
    """Serve an address for notifications, and record the posted messages."""
    got: list[str] = []

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"json://127.0.0.1:{server.server_address[1]}/", got
    finally:
        server.shutdown()
        server.server_close()


def printed(home: Home) -> list[dict[str, Any]]:
    """Return an engine's output: the secrets in texts, markers, tool calls and its result."""
    used = {"type": "tool_use", "id": "u", "name": "Bash", "input": {"command": ALL}}
    back = {"type": "tool_result", "tool_use_id": "u", "content": ALL}
    return [
        text(ALL),
        *(
            text(f"[MEMORY:behavior:svc{at}] {' and '.join(group)}")
            for at, group in enumerate(GROUPS)
        ),
        *(text(f"[EVENT:critical:svc{at}] {' and '.join(g)}") for at, g in enumerate(GROUPS)),
        {"type": "assistant", "message": {"content": [used]}},
        {"type": "user", "message": {"content": [back]}},
        text(ALL),
        result(result=ALL),
    ]


def run_engine(home: Home) -> None:
    """Run a session whose engine prints the secrets on both of its streams."""
    script = home.path / "script.jsonl"
    script.write_text("".join(json.dumps(line) + "\n" for line in printed(home)))
    errors = home.path / "errors.txt"
    errors.write_text(ALL)
    said = shlex.join([sys.executable, str(ENGINE), str(script)])
    command = shlex.join(["sh", "-c", f"cat {shlex.quote(str(errors))} >&2; exec {said}"])
    env = home.env | {"LAMPLIGHTER_EXEC_COMMAND": command}
    done = nursery.run("run", "--engine", "exec", env=env, seconds=100)
    (home.path / "by_hand.log").write_text(done.stdout + done.stderr)
    assert done.returncode == 0, done.stderr[-2000:]


def post_all(server: Server, client: httpx2.Client) -> None:
    """Send the secrets to each endpoint of the API that accepts text."""
    for at, group in enumerate(GROUPS):
        words = " or ".join(group)
        event = {"level": "warning", "text": words, "service": f"svc{at}"}
        client.post("/api/v1/events", json=event).raise_for_status()
        memory = {"category": "timing", "observation": words, "service": f"svc{at}"}
        client.post("/api/v1/memories", json=memory).raise_for_status()
        alert = {"title": words, "message": words, "service": f"svc{at}", "status": "firing"}
        client.post("/api/v1/webhooks/generic", json=alert)
        save = {"type": "decision", "title": f"Note {at}", "content": words}
        call(client, "mem_save", save)
    client.post("/nowhere", json={"text": ALL})
    client.post("/api/v1/events", json={"level": ALL, "text": 1})
    client.get("/api/v1/search", params={"q": ALL[:2000]})


def call(client: httpx2.Client, tool: str, given: dict[str, Any]) -> str:
    """Use a tool over MCP and return the complete response."""
    params = {"name": tool, "arguments": given}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return client.post("/mcp", json=body, headers=HEADERS).text


def api_texts(client: httpx2.Client) -> str:
    """Return the responses of the API's lists and pages."""
    paths = [
        *("memories?limit=200", "memories?limit=200&project=ops", "events?limit=200"),
        *("sessions", "overview", "changes?limit=500", "reviews", "services", "health"),
        *("context", "acts", "webhooks", "notices", "search?q=and&limit=100", "approvals"),
        *(f"sessions/{number}/{what}" for number in (1, 2, 3) for what in ("log", "prompt")),
        *(f"sessions/{number}/markers" for number in (1, 2, 3)),
    ]
    return "\n".join(client.get(f"/api/v1/{path}").text for path in paths)


def files_of(directory: Path, *patterns: str) -> str:
    """Return the bytes of files as text, with each byte as a character."""
    found = [each for pattern in patterns for each in directory.rglob(pattern) if each.is_file()]
    return "\n".join(each.read_bytes().decode("latin-1") for each in found)


def rows_of(path: Path) -> str:
    """Return all rows of a SQLite file."""
    with closing(sqlite3.connect(path)) as raw:
        return "\n".join(raw.iterdump())


@pytest.fixture(scope="module")
def sinks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Send the secrets through the product, and return the content of each sink."""
    root = tmp_path_factory.mktemp("read")
    log = root / "app.log"
    log.write_text(ALL)
    reads = [uses("read_file", {"path": str(log), "limit": 12_000}), says("Looked at the log.")]
    with MessagesApi({"reads": reads, "next": [says("OK.")]}) as api, inbox() as (address, got):
        more = {
            "LAMPLIGHTER_READ_ROOTS": str(root),
            "LAMPLIGHTER_MEMORY_BUDGET": TOO_MANY_TOKENS,
            "LAMPLIGHTER_LOG_LEVEL": "debug",
            "LAMPLIGHTER_NOTIFY": address,
            "ANTHROPIC_API_KEY": "any",
        }
        home = Home(tmp_path_factory.mktemp("home") / "home", more)
        found = let_through(home, api)
        found["notification"] = notified(home, got)
    found["log"] = files_of(home.path, "*.log")
    return found


def let_through(home: Home, api: MessagesApi) -> dict[str, str]:
    home.more["ANTHROPIC_BASE_URL"] = api.url("reads")
    assert home.ask("run", "--engine", "messages").returncode == 0
    run_engine(home)
    server = Server(home)
    try:
        way_in = home.way_in
        with httpx2.Client(
            base_url=server.url, headers=way_in, trust_env=False, timeout=60
        ) as client:
            post_all(server, client)
            home.more["ANTHROPIC_BASE_URL"] = api.url("next")
            assert home.ask("run", "--engine", "messages").returncode == 0
            mcp = [call(client, "mem_search", {"query": "or", "limit": 50})]
            mcp += [call(client, "mem_context", {})]
            exported = home.ask("export").stdout
            backed_up = home.ask("backup", str(home.path / "kept"))
            return {
                "model": "".join(json.dumps(each.body) for each in api.requests("reads")),
                "output": files_of(home.path / "sessions", "*"),
                "rows": rows_of(home.path / "lamplighter.db"),
                "api": api_texts(client),
                "export": exported,
                "backup": files_of(home.path / "kept", "*") + backed_up.stdout,
                "mcp": "\n".join(mcp),
                "prompt": "".join(json.dumps(each.body) for each in api.requests("next"))
                + home.ask("context").stdout,
            }
    finally:
        server.kill()


def notified(home: Home, got: list[str]) -> str:
    """Run a supervisor until it has sent its notifications."""
    with (home.path / "supervisor.log").open("ab") as log:
        env = home.env | {"LAMPLIGHTER_INTERVAL": "1h", "LAMPLIGHTER_ENGINE": "probe"}
        process = nursery.start("supervisor", env=env, stdout=log, stderr=log)
    try:
        for _ in range(600):
            if got:
                break
            time.sleep(0.05)
    finally:
        process.kill()
        process.wait()
    return "\n".join(got)


def test_the_list_has_at_least_sixty_kinds_of_secrets() -> None:
    assert len(LINES) >= 60
    assert len(set(SECRETS.values())) == len(SECRETS)


@pytest.mark.parametrize("sink", SINKS)
def test_no_secret_reaches_a_sink(sinks: dict[str, str], sink: str) -> None:
    held = sinks[sink]

    leaked = [kind for kind, secret in SECRETS.items() if secret in held]
    leaked += [k for k, secret in SECRETS.items() if json.dumps(secret)[1:-1] in held]

    assert sorted(set(leaked)) == []


@pytest.mark.parametrize("sink", [each for each in SINKS if each != "log"])
def test_masked_text_reaches_each_sink(sinks: dict[str, str], sink: str) -> None:
    """Otherwise nothing was tested: each sink has the marks, or the stars of a session's file."""
    marks = MARK.findall(sinks[sink])

    assert len(marks) >= (1 if sink == "notification" else 60), sinks[sink][:3000]
