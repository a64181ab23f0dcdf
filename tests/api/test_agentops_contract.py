"""The contract of AgentOps: rules for each of its routes, on both of its mounts."""

import itertools
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import msgspec
import pytest

from cells import walk
from lamplighter.api.agentops.contract import READ, WRITE, AgentOpsOperation
from lamplighter.api.agentops.openapi import openapi
from lamplighter.api.agentops.routes import OPERATIONS, PREFIX
from lamplighter.api.agentops.shapes import AgentOpsFailure
from lamplighter.api.guard import HEADERS
from lamplighter.domain.access.access import SESSION_SCOPES, Credential, hash_secret
from living import Home, Server
from memory_service import MemoryService

NUMBERS = itertools.count(1)
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
GUARDED = [each for each in OPERATIONS if each.scope]
_BY_HISTORY = "a client's change of a memory: its history undoes it, and a revocation of the source"
_OF_SESSION = "it stores what a client reports, and changes no knowledge"
WITHOUT_ACT = {
    "POST /observations": _BY_HISTORY,
    "POST /observations/passive": _BY_HISTORY,
    "PATCH /observations/{id}": _BY_HISTORY,
    "DELETE /observations/{id}": _BY_HISTORY,
    "POST /projects/migrate": "each memory has a step in its history; the way back is another move",
    "POST /sessions": _OF_SESSION,
    "POST /sessions/{id:path}/end": _OF_SESSION,
    "POST /prompts": _OF_SESSION,
    "POST /suggest-topic-key": "it changes nothing",
}
"""The operations with the scope to write that record no act, each with its reason."""
WITH_BODY = [each for each in OPERATIONS if each.body]


def name(entry: AgentOpsOperation) -> str:
    return f"{entry.method} {entry.path}"


every = walk("entry", OPERATIONS, ids=name)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return Home(tmp_path_factory.mktemp("contract") / "home")


@pytest.fixture(scope="module")
def web(home: Home) -> Iterator[Server]:
    server = Server(home)
    yield server
    server.kill()


@pytest.fixture(scope="module")
def strict(web: Server) -> Iterator[httpx2.Client]:
    address = f"{web.url}{PREFIX}"
    with httpx2.Client(base_url=address, headers=web.headers, timeout=20) as asking:
        yield asking


@pytest.fixture(scope="module")
def lenient(home: Home) -> Iterator[httpx2.Client]:
    service = MemoryService(home)
    with httpx2.Client(base_url=service.url, timeout=20) as asking:
        yield asking
    service.kill()


@pytest.fixture(params=["strict", "lenient"])
def asking(request: pytest.FixtureRequest) -> httpx2.Client:
    found: httpx2.Client = request.getfixturevalue(request.param)
    return found


def failure(answer: httpx2.Response, status: int) -> dict[str, Any]:
    """Return the error of a response, which has the form of this contract."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    body: dict[str, Any] = answer.json()
    assert body["error"]
    msgspec.convert(body, AgentOpsFailure, strict=True)
    return body


def made(asking: httpx2.Client) -> dict[str, Any]:
    """Store an observation in a separate session, and a prompt."""
    word = f"p{next(NUMBERS)}"
    given = {
        "session_id": f"s-{word}",
        "type": "decision",
        "title": f"Title {word}",
        "content": f"Content {word}",
        "project": word,
    }
    saved = asking.post("/observations", json=given).json()
    prompt = asking.post("/prompts", json={**given, "content": f"Ask {word}"}).json()
    return {**given, "id": saved["id"], "prompt": prompt["id"]}


def asked(asking: httpx2.Client, entry: AgentOpsOperation, **more: Any) -> httpx2.Response:
    """Send a request as an existing client does."""
    row = made(asking)
    number = row["prompt"] if "/prompts/" in entry.path else row["id"]
    path = entry.path.replace("{id:path}", row["session_id"]).replace("{id}", str(number))
    bodies: dict[str, dict[str, Any]] = {
        "AgentOpsSessionIn": {
            "id": f"s{next(NUMBERS)}",
            "project": row["project"],
            "directory": "/srv",
        },
        "EndIn": {"messages": [{"role": "user", "content": "Deploy it"}]},
        "ObservationIn": {**row, "content": f"More {row['content']}", "tool_name": "bash"},
        "ObservationEdit": {"title": "Another title"},
        "PassiveIn": {**row, "content": "## Key Learnings:\n- The pool is shared by all workers"},
        "PromptIn": {**row, "content": "What is it?"},
        "TopicIn": {"type": "decision", "title": "The pool"},
        "MigrateIn": {"old_project": row["project"], "new_project": f"{row['project']}-new"},
        "ImportIn": {"sessions": [], "observations": [], "prompts": []},
    }
    params = {
        "q": row["title"],
        "query": row["title"],
        "project": row["project"],
        "observation_id": row["id"],
        "title": "The pool",
        "cwd": "/srv/app",
        "limit": 5,
    }
    if entry.query:
        known = {field.encode_name for field in msgspec.structs.fields(entry.query)}
        more.setdefault("params", {key: value for key, value in params.items() if key in known})
    if entry.body and not {"json", "content"} & more.keys():
        more["json"] = bodies[entry.body.__name__]
    return asking.request(entry.method, path, **more)


def shaped(asking: httpx2.Client, entry: AgentOpsOperation) -> tuple[int, Any]:
    """Return the status and the structure of a successful response."""
    is_strict = PREFIX in str(asking.base_url)
    gives = entry.gives if is_strict or entry.gives_lenient is None else entry.gives_lenient
    kind = list[gives] if entry.is_list and gives is entry.gives else gives  # type: ignore[valid-type]
    lenient_status = entry.status_lenient or entry.status
    return entry.status if is_strict else lenient_status, kind


@every
def test_a_valid_request_returns_the_declared_schema(
    asking: httpx2.Client, entry: AgentOpsOperation
) -> None:
    status, kind = shaped(asking, entry)

    answer = asked(asking, entry)

    assert answer.status_code == status, answer.text
    if kind is not None:
        assert msgspec.to_builtins(msgspec.convert(answer.json(), kind)) == answer.json()
    for header, value in HEADERS.items():
        assert answer.headers[header] == value
    assert answer.headers["cache-control"] == "no-store"


@walk(
    "headers",
    [
        {"Host": "evil.example"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:1"},
    ],
    ids=lambda headers: "{0[0]}: {0[1]}".format(*headers.items()),
)
@every
def test_a_foreign_host_or_origin_is_denied(
    asking: httpx2.Client, entry: AgentOpsOperation, headers: dict[str, str]
) -> None:
    path = entry.path.replace("{id:path}", "s").replace("{id}", "1")

    failure(asking.request(entry.method, path, headers=headers), 403)


@walk("site", ["cross-site", "same-site"])
@every
def test_a_cross_site_browser_request_is_denied(
    lenient: httpx2.Client, entry: AgentOpsOperation, site: str
) -> None:
    path = entry.path.replace("{id:path}", "s").replace("{id}", "1")

    failure(lenient.request(entry.method, path, headers={"Sec-Fetch-Site": site}), 403)


@walk("entry", GUARDED, ids=name)
def test_requests_without_a_token_are_unauthenticated_in_the_web_process(
    web: Server, entry: AgentOpsOperation
) -> None:
    path = entry.path.replace("{id:path}", "s").replace("{id}", "1")

    answer = httpx2.request(entry.method, f"{web.url}{PREFIX}{path}", timeout=20)

    assert failure(answer, 401)
    assert answer.headers["www-authenticate"] == "Bearer"


@walk("entry", GUARDED, ids=name)
def test_an_invalid_token_is_denied_on_every_route(
    asking: httpx2.Client, entry: AgentOpsOperation
) -> None:
    path = entry.path.replace("{id:path}", "s").replace("{id}", "1")
    headers = {"Authorization": "Bearer lamp_1_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}

    failure(asking.request(entry.method, path, headers=headers), 401)


@pytest.fixture(scope="module")
def mint(web: Server) -> Callable[..., dict[str, str]]:
    def token(*scopes: str, **more: Any) -> dict[str, str]:
        given = {"scopes": list(scopes), **more}
        answer = httpx2.post(
            f"{web.url}/api/v1/tokens", json=given, headers=web.headers, timeout=20
        )
        assert answer.status_code == 201, answer.text
        return {"Authorization": f"Bearer {answer.json()['token']}"}

    return token


@walk("entry", GUARDED, ids=name)
def test_each_route_requires_its_scope(
    asking: httpx2.Client, entry: AgentOpsOperation, mint: Callable[..., dict[str, str]]
) -> None:
    reader, stranger = mint(READ), mint("events:write")
    status, _ = shaped(asking, entry)

    assert failure(asked(asking, entry, headers=stranger), 403)
    answer = asked(asking, entry, headers=reader)
    assert answer.status_code == (status if entry.scope == READ else 403)
    if entry.scope == WRITE:
        assert WRITE in failure(answer, 403)["error"]


@pytest.fixture(scope="module")
def ours(home: Home, web: Server) -> dict[str, str]:
    """Return the credentials of a running supervisor session."""
    secret = "a-secret-that-a-session-is-given"
    home.write(
        "INSERT INTO sessions (id, tier, engine, trigger, status, started_at, project)"
        " VALUES (777, 1, 'exec', 'manual', 'running', '2026-01-01T00:00:00.000000Z', 'ops')"
    )
    home.write(
        "INSERT INTO tokens (id, name, scopes, secret_hash, session_id, created_at)"
        " VALUES (777, 'session 777', ?, ?, 777, '2026-01-01T00:00:00.000000Z')",
        json.dumps(SESSION_SCOPES),
        hash_secret(secret),
    )
    way_in = {"Authorization": f"Bearer {Credential(777, secret)}"}
    assert httpx2.get(f"{web.url}/api/v1/memories", headers=way_in).status_code == 200
    return way_in


@walk("entry", GUARDED, ids=name)
def test_a_session_token_is_denied_on_every_route(
    asking: httpx2.Client, entry: AgentOpsOperation, ours: dict[str, str]
) -> None:
    """It is limited to its project, and the routes here would not enforce that limit."""
    path = entry.path.replace("{id:path}", "s").replace("{id}", "1")

    answer = asking.request(entry.method, path, headers=ours)

    assert "over MCP" in failure(answer, 403)["error"]


@walk("entry", [each for each in OPERATIONS if each.scope == WRITE], ids=name)
def test_each_write_names_its_act_unless_it_has_none(
    asking: httpx2.Client, entry: AgentOpsOperation
) -> None:
    imported = {"observations": [{"content": f"Imported {next(NUMBERS)}", "type": "decision"}]}
    more = {"json": imported} if entry.path == "/import" else {}

    answer = asked(asking, entry, **more)

    assert answer.is_success, answer.text
    assert (name(entry) in WITHOUT_ACT) is ("Lamplighter-Act" not in answer.headers)


def test_a_timeline_of_another_project_is_not_found(
    asking: httpx2.Client, web: Server, mint: Callable[..., dict[str, str]]
) -> None:
    number, agent = made(asking)["id"], mint(READ, agent="coder")

    answer = asking.get("/timeline", params={"observation_id": number}, headers=agent)

    assert failure(answer, 404)["error"] == f"Observation {number} not found."


def test_a_secret_in_a_directory_is_never_stored(
    asking: httpx2.Client, web: Server, home: Home
) -> None:
    secret = f"ghp_{'a1B2' * 9}"
    place, row = f"/srv/{secret}", made(asking)
    hook = f"{web.url}/api/v1/hooks/SessionStart"
    told = {"session_id": f"h-{row['project']}", "cwd": place}
    old = {"id": f"i-{row['project']}", "directory": place, "started_at": "2026-01-01T00:00:00Z"}
    learned = f"## Key Learnings:\n- The pool is shared by all of {row['project']}"

    asking.post("/sessions", json={"id": "d", "project": row["project"], "directory": place})
    asking.post("/import", json={"sessions": [old]})
    asking.post("/observations/passive", json={**row, "content": learned, "source": secret})
    httpx2.post(hook, json=told, headers=web.headers, timeout=20)

    kept = "SELECT directory FROM sessions WHERE directory LIKE '%REDACTED%'"
    assert len(home.rows(kept)) >= 3
    for question in ("directory FROM sessions", "source_ref FROM memories", "row FROM changes"):
        assert secret not in str(home.rows(f"SELECT {question}"))


@walk(
    ("content", "kind", "status"),
    [
        (b"{", "application/json", 400),
        (b"[]", "application/json", 400),
        (b"null", "application/json", 400),
        (b'{"a":' * 50_000, "application/json", 400),
        (b" " * 1_000_001, "application/json", 400),
    ],
    ids=["cut off", "a list", "null", "deep", "large"],
)
@walk("entry", WITH_BODY, ids=name)
def test_a_body_that_is_not_a_json_object_is_rejected(
    asking: httpx2.Client, entry: AgentOpsOperation, content: bytes, kind: str, status: int
) -> None:
    if entry.path == "/import" and len(content) > 1_000_000:
        content *= 17
    more = {"content": content, "headers": {"Content-Type": kind}}

    failure(asked(asking, entry, **more), status)


@walk("entry", WITH_BODY, ids=name)
def test_a_browser_must_send_json_as_application_json(
    asking: httpx2.Client, entry: AgentOpsOperation
) -> None:
    """A page may send the other content types without a preflight request."""
    here = f"http://{asking.base_url.netloc.decode()}"
    headers = {"Origin": here, "Content-Type": "text/plain"}

    failure(asked(asking, entry, content=b"{}", headers=headers), 415)


@walk("entry", WITH_BODY, ids=name)
def test_all_invalid_fields_are_reported_together(
    asking: httpx2.Client, entry: AgentOpsOperation
) -> None:
    assert entry.body
    known = [field.encode_name for field in msgspec.structs.fields(entry.body)]
    given = {each: {"x": 1} for each in known}

    body = failure(asked(asking, entry, json=given | {"unknown": 1}), 400)

    assert {each["field"] for each in body["errors"]} == set(known)


@walk("entry", [each for each in OPERATIONS if each.needs], ids=name)
def test_all_missing_fields_are_reported_together(
    strict: httpx2.Client, entry: AgentOpsOperation
) -> None:
    for given in ({}, dict.fromkeys(entry.needs, "  "), dict.fromkeys(entry.needs)):
        body = failure(asked(strict, entry, json=given), 400)

        assert [each["field"] for each in body["errors"]] == list(entry.needs)


@walk("path", sorted({each.path for each in OPERATIONS}))
def test_a_wrong_method_returns_405_with_the_allowed_methods(
    asking: httpx2.Client, path: str
) -> None:
    known = {each.method for each in OPERATIONS if each.path == path}
    right = known | ({"HEAD"} if "GET" in known else set())
    for method in sorted({*METHODS} - known):
        address = path.replace("{id:path}", "s").replace("{id}", "1")
        answer = asking.request(method, address)
        body = failure(answer, 405)
        assert body["error"].startswith(f"{method} is not supported here. Use ")
        assert set(answer.headers["allow"].split(", ")) == right


@walk("path", ["/nothing", "/observations/1/2", "/sessionsx"])
def test_an_unknown_path_returns_404_in_the_error_format(asking: httpx2.Client, path: str) -> None:
    failure(asking.get(path), 404)


@walk(("number", "status"), [("abc", 400), ("1.5", 400), ("²", 400), ("-1", 404), ("9" * 30, 404)])
@walk("entry", [each for each in OPERATIONS if each.path.endswith("{id}")], ids=name)
def test_an_unknown_id_returns_404_and_an_invalid_id_400(
    asking: httpx2.Client, entry: AgentOpsOperation, number: str, status: int
) -> None:
    more: dict[str, Any] = {"json": {"title": "x"}} if entry.body else {}

    failure(asking.request(entry.method, entry.path.replace("{id}", number), **more), status)


@pytest.mark.parametrize("is_strict", [True, False])
def test_the_openapi_document_declares_each_schema_that_it_names(is_strict: bool) -> None:
    document = openapi(prefix="", strict=is_strict, tokens=is_strict)

    named = re.findall('"#/components/schemas/([^"]+)"', json.dumps(document))

    assert set(named) <= set(document["components"]["schemas"])


def test_the_openapi_document_states_required_scopes(asking: httpx2.Client) -> None:
    is_strict = PREFIX in str(asking.base_url)
    prefix = PREFIX if is_strict else ""

    told = asking.get("/openapi.json").json()

    assert told == openapi(prefix=prefix, strict=is_strict, tokens=is_strict)
    assert {(method.upper(), path) for path, item in told["paths"].items() for method in item} == {
        (each.method, prefix + each.path.replace(":path", "")) for each in OPERATIONS
    }
    needed = told["components"]["schemas"]["ObservationIn"].get("required", [])
    assert sorted(needed) == (
        sorted(("session_id", "type", "title", "content", "project")) if is_strict else []
    )
