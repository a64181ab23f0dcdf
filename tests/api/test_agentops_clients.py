"""Existing clients' requests to AgentOps, and the response fields that they read."""

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any, Final
from urllib.parse import quote

import pytest

from lamplighter.api.agentops.routes import PREFIX
from living import Home, Server
from memory_service import MemoryService

NUMBERS: Final = itertools.count(1)
JSON: Final = {"Content-Type": "application/json"}
GO: Final = {"User-Agent": "Go-http-client/1.1", "Accept-Encoding": "gzip"}
TRACED: Final = {"Traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
CURL: Final = {"User-Agent": "curl/8.5.0", "Accept": "*/*"}
NODE: Final = {
    "Connection": "keep-alive",
    "Accept": "*/*",
    "Accept-Language": "*",
    "Sec-Fetch-Mode": "cors",
    "User-Agent": "node",
    "Accept-Encoding": "gzip, deflate",
}
REQUESTS: Final = {
    "User-Agent": "python-requests/2.32.3",
    "Accept-Encoding": "gzip, deflate",
    "Accept": "*/*",
    "Connection": "keep-alive",
    **JSON,
}
CUT: Final = quote("日本語" * 60).encode()[: 3 * 167].decode()
"""A query cut within a character, as a client in Go does after 500 bytes."""

SESSION: Final = {"id": str, "project": str, "started_at": str}
ROW: Final = {
    "id": int,
    "session_id": str,
    "type": str,
    "title": str,
    "content": str,
    "tags": list,
    "project": str,
    "scope": str,
    "revision_count": int,
    "duplicate_count": int,
    "created_at": str,
    "updated_at": str,
}
SAVED: Final = {"id": int, "status": "saved"}
CREATED: Final = {"id": "{session}", "status": "created"}
ENDED: Final = {"id": "{session}", "status": "completed"}
TOLD: Final = {"recent_observations": list, "recent_sessions": list}
HIT: Final = {"id": int, "type": str, "title": str, "content": str, "rank": float}
CAPTURED: Final = {"extracted": 1, "saved": int, "duplicates": int}
LEARNED: Final = "## Key Learnings:\n\n1. The pool of {project} is shared by all of its workers"

Ask = tuple[str, str, Any, int, Any]
"""Method, address, body, status, and the response fields that the client reads."""


@dataclass(frozen=True)
class Client:
    """An existing client: its headers, those of its bodies, and its requests in order."""

    headers: dict[str, str]
    asks: tuple[Ask, ...]
    bodies: dict[str, str]


RUNTIME: Final = Client(
    GO | TRACED,
    (
        ("POST", "/sessions", {"id": "{session}", "project": "{project}"}, 201, SESSION),
        ("GET", "/context?limit=5&project={project}", None, 200, TOLD),
        (
            "POST",
            "/observations",
            {
                "session_id": "{session}",
                "type": "lesson",
                "title": "WAL in {project}",
                "content": "Readers do not wait in {project}",
                "project": "{project}",
                "tags": ["sqlite"],
            },
            201,
            {"id": int, "action": "created", "revision_count": 1, "duplicate_count": 1},
        ),
        ("GET", "/search?limit=10&project={project}&q=readers+wait", None, 200, [HIT]),
        (
            "GET",
            "/context?limit=5&project={project}&query=do+readers+wait%3F",
            None,
            200,
            {"recent_observations": [{"type": "lesson", "title": str, "content": str}]},
        ),
        ("GET", f"/context?limit=5&project={{project}}&query={CUT}", None, 200, TOLD),
        (
            "POST",
            "/sessions/{session}/end",
            {"messages": [{"role": "user", "content": "Go"}, {"role": "tool", "content": "x"}]},
            200,
            {"session_id": "{session}", "summary": str, "message_count": int},
        ),
        (
            "GET",
            "/context?limit=5&project={project}",
            None,
            200,
            {"recent_sessions": [{"summary": str}]},
        ),
        ("POST", "/sessions/{session}/end", {}, 200, {"session_id": "{session}"}),
    ),
    JSON,
)
CONSOLE: Final = Client(
    GO,
    (
        ("GET", "/health", None, 200, {"status": "ok"}),
        ("POST", "/sessions", {"id": "{session}", "project": "{project}"}, 201, SESSION),
        (
            "POST",
            "/observations",
            {
                "type": "decision",
                "title": "Kept by hand",
                "content": "Words of {project}",
                "scope": "project",
                "session_id": "{session}",
                "project": "{project}",
            },
            201,
            {"id": int, "action": str},
        ),
        ("GET", "/observations/recent?limit=50&project={project}", None, 200, [ROW]),
        ("GET", "/observations/recent?limit=NaN&project={project}&type=decision", None, 200, [ROW]),
        ("GET", "/observations/{id}", None, 200, ROW),
        ("GET", "/search?limit=20&project={project}&q=words", None, 200, [HIT]),
        ("GET", "/context?project={project}", None, 200, TOLD),
        ("GET", "/stats?project={project}", None, 200, {"total_observations": 1, "projects": list}),
        (
            "GET",
            "/sessions/recent?limit=20&project={project}",
            None,
            200,
            [{"message_count": 0, **SESSION}],
        ),
        ("PATCH", "/observations/{id}", [b'{"title": "Anoth', b'er"}'], 200, {"title": "Another"}),
        ("DELETE", "/observations/{id}", None, (200, 204), None),
        ("GET", "/observations/{id}", None, 404, {"error": str}),
    ),
    JSON,
)
HOOKS: Final = Client(
    CURL,
    (
        ("GET", "/health", None, 200, {"status": "ok"}),
        (
            "GET",
            "/project/current?cwd=%2Fsrv%2F{project}",
            None,
            200,
            {"project": "{project}", "project_source": "dir_basename"},
        ),
        (
            "POST",
            "/sessions",
            {"id": "{session}", "project": "{project}", "directory": "/srv/{project}"},
            201,
            CREATED,
        ),
        ("POST", "/prompts", {"session_id": "{session}", "content": "Why slow?"}, 201, SAVED),
        (
            "GET",
            "/context?project={project}&compact=1&pinned=20&max_bytes=16384",
            None,
            200,
            {"context": str},
        ),
        ("GET", "/sessions/recent?limit=50", None, 200, [SESSION]),
        (
            "POST",
            "/observations/passive",
            {"session_id": "{session}", "content": LEARNED, "project": "{project}", "source": "s"},
            200,
            CAPTURED,
        ),
        (
            "GET",
            "/observations/recent?project={project}&limit=1",
            None,
            200,
            [{"created_at": str}],
        ),
        (
            "POST",
            "/observations",
            {
                "title": "[reviewer] The cache...",
                "content": "The cache of {project} is cold",
                "type": "learning",
                "project": "{project}",
                "metadata": {"session_id": "{session}", "source": "subagent-stop-hook"},
            },
            201,
            SAVED,
        ),
        ("POST", "/sessions/{session}/end", {}, 200, ENDED),
    ),
    JSON,
)
OPENCODE: Final = Client(
    NODE,
    (
        ("GET", "/health", None, 200, {"status": "ok"}),
        ("GET", "/project/current?cwd=%2Fsrv%2F{project}", None, 200, {"project": "{project}"}),
        (
            "POST",
            "/sessions",
            {"id": "{session}", "project": "{project}", "directory": "/s", "resume": True},
            201,
            CREATED,
        ),
        (
            "POST",
            "/prompts",
            b'{"session_id":"{session}","content":"Cut amid \\ud83d...","project":"{project}"}',
            201,
            SAVED,
        ),
        ("GET", "/prompts/recent?project={project}", None, 200, [{"content": "Cut amid �..."}]),
        ("GET", "/sessions/{session}", None, 200, {"project": "{project}", "ended_at": None}),
        ("POST", "/sessions/{session}/end", None, 200, ENDED),
        ("POST", "/sessions/{session}/end", None, 200, ENDED),
    ),
    JSON,
)
PI: Final = Client(
    NODE,
    (
        (
            "POST",
            "/sessions",
            {
                "id": "{session}",
                "project": "{project}",
                "directory": "/s",
                "ownership_mode": "project_owned",
            },
            201,
            CREATED,
        ),
        (
            "POST",
            "/observations",
            {
                "session_id": "{session}",
                "type": "session_summary",
                "title": "Compaction recovery summary",
                "content": "What {project} was about",
                "project": "{project}",
                "scope": "project",
                "topic_key": "session/compaction-recovery",
            },
            201,
            SAVED,
        ),
        ("GET", "/search?q=about&all_projects=true&match_mode=any", None, 200, [HIT]),
        ("GET", "/search?q=nothinglikeit&project={project}", None, 200, []),
        ("GET", "/stats?all_projects=true", None, 200, {"total_sessions": int}),
        (
            "GET",
            "/timeline?observation_id={id}&before=2&project={project}",
            None,
            200,
            {"focus": ROW, "before": list, "after": list},
        ),
        ("PATCH", "/observations/{id}", {"title": "Otherwise"}, 200, {"title": "Otherwise"}),
        ("DELETE", "/observations/{id}", None, 200, {"id": "{id}", "status": "deleted"}),
        ("POST", "/sessions/{session}/end", {"summary": ""}, 200, ENDED),
    ),
    JSON,
)
HERMES: Final = Client(
    REQUESTS,
    (
        ("GET", "/health", None, 200, {"status": "ok"}),
        (
            "POST",
            "/observations",
            {
                "title": "Kept",
                "content": "Kept for {project}",
                "type": "learning",
                "scope": "personal",
                "topic_key": None,
                "project": "{project}",
            },
            201,
            SAVED,
        ),
        ("GET", "/search?q=kept&project={project}&scope=personal&limit=5", None, 200, [HIT]),
        ("GET", "/context?project={project}&scope=project", None, 200, {"context": str}),
        ("GET", "/observations/{id}", None, 200, ROW),
        (
            "POST",
            "/observations/passive",
            {"session_id": "{session}", "content": "Session started", "source": "session_start"},
            200,
            {"extracted": 0},
        ),
        ("GET", "/timeline?project={project}&limit=5", None, 400, {"error": str}),
        ("DELETE", "/observations/{id}", None, 200, {"id": "{id}"}),
    ),
    {},
)
NOTES: Final = Client(
    NODE,
    (
        (
            "POST",
            "/observations",
            {"title": "T", "content": "A note of {project}", "project": "{project}"},
            201,
            SAVED,
        ),
        (
            "GET",
            "/export?project={project}",
            None,
            200,
            {
                "version": str,
                "exported_at": str,
                "sessions": [{"id": str, "project": str}],
                "observations": [{"sync_id": str, "project": "{project}", "updated_at": str}],
                "prompts": [],
            },
        ),
    ),
    JSON,
)
STRICT: Final = {"runtime": RUNTIME, "console": CONSOLE}
LENIENT: Final = {
    **STRICT,
    "hooks": HOOKS,
    "opencode": OPENCODE,
    "pi": PI,
    "hermes": HERMES,
    "notes": NOTES,
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return Home(tmp_path_factory.mktemp("clients") / "home")


@pytest.fixture(scope="module")
def service(home: Home) -> Iterator[MemoryService]:
    started = MemoryService(home)
    yield started
    started.kill()


@pytest.fixture(scope="module")
def web(home: Home) -> Iterator[Server]:
    started = Server(home)
    yield started
    started.kill()


@pytest.mark.parametrize("name", LENIENT)
def test_requests_of_existing_clients_work_with_the_memory_service(
    service: MemoryService, name: str
) -> None:
    play(LENIENT[name], service.port, "", {})


@pytest.mark.parametrize("slash", ["", "/"], ids=["plain", "base with a slash"])
@pytest.mark.parametrize("name", STRICT)
def test_requests_of_existing_clients_work_with_the_web_process(
    web: Server, name: str, slash: str
) -> None:
    play(STRICT[name], web.port, f"{PREFIX}{slash}", web.headers)


def play(client: Client, port: int, prefix: str, shown: dict[str, str]) -> None:
    """Send a client's requests in order over one connection, and check the fields that it reads."""
    number = next(NUMBERS)
    known: dict[str, Any] = {"session": f"s{number}-b2c4", "project": f"project-{number}"}
    asking = HTTPConnection("127.0.0.1", port, timeout=20)
    for method, path, body, status, reads in client.asks:
        given = filled(body, known)
        headers = {**client.headers, **shown, **({} if given is None else client.bodies)}
        address = prefix + filled(path, known)
        chunked = isinstance(given, list)
        asking.request(method, address, given, headers, encode_chunked=chunked)
        answer = asking.getresponse()
        words = answer.read()
        assert answer.status in ((status,) if isinstance(status, int) else status), words
        told = json.loads(words) if words else None
        if isinstance(told, dict) and method == "POST" and path == "/observations":
            known["id"] = told["id"]
        read(told, reads, known, f"{method} {address}")
    asking.close()


def filled(given: Any, known: dict[str, Any]) -> Any:
    """Fill an address or a body with the values known by now."""
    if isinstance(given, dict):
        return filled(json.dumps(given, separators=(",", ":")).encode(), known)
    if isinstance(given, bytes):
        return filled(given.decode(), known).encode()
    if isinstance(given, str):
        for name, value in known.items():
            given = given.replace(f"{{{name}}}", str(value))
    return given


def read(told: Any, wanted: Any, known: dict[str, Any], where: str) -> None:
    """Check that an answer has the fields to read: by type or value, in each item of a list."""
    if isinstance(wanted, type):
        kinds = (int, float) if wanted is float else wanted
        assert isinstance(told, kinds), f"{where}: {told!r}"
    elif isinstance(wanted, dict):
        for name, each in wanted.items():
            read(told[name], each, known, f"{where} {name}")
    elif isinstance(wanted, list):
        assert isinstance(told, list), where
        assert bool(told) is bool(wanted), f"{where}: {told!r}"
        for each in told if wanted else ():
            read(each, wanted[0], known, where)
    elif wanted is not None or told is None:
        assert str(told) == str(filled(wanted, known)), f"{where}: {told!r}"
