"""Project isolation in the API: a session or agent of one project reads no other project."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from cells import walk
from lamplighter.api.routes import OPS
from lamplighter.domain.access.access import Credential, hash_secret
from living import Home, Server

CANARY = "Canary of the other project"
SECRET = "the-secret-of-a-bound-token"
SERVICES = """services:
  web:
    checks: [{tcp: 127.0.0.1:9}]
  mail:
    checks: [{tcp: 127.0.0.1:9}]
"""
SAVED = {"other": "project", "ops": "project", "global": "global"}


def keep(server: Server) -> None:
    """Store a memory and a client's session in each project, as agents do."""
    with httpx2.Client(base_url=f"{server.url}/agentops", headers=server.headers) as client:
        for project, scope in SAVED.items():
            words = CANARY if project == "other" else f"Canary of {project}"
            opened = client.post("/sessions", json={"id": project, "project": project})
            assert opened.status_code == 201, opened.text
            told = {"session_id": project, "project": project, "content": words}
            assert client.post("/prompts", json=told).status_code == 201
            given = {**told, "type": "decision", "title": words, "scope": scope}
            saved = client.post("/observations", json=given)
            assert saved.status_code == 201, saved.text
    for each in httpx2.get(
        f"{server.url}/api/v1/memories?state=all", headers=server.headers
    ).json()["items"]:
        change(server, each["id"])
    server.home.write("UPDATE memories SET service = 'web'")


def change(server: Server, number: int) -> None:
    """Give a memory a history, and an entry in the journal."""
    path = f"{server.url}/api/v1/memories/{number}"
    answer = httpx2.patch(path, json={"pinned": True}, headers=server.headers)
    assert answer.status_code == 200, answer.text


def relate(server: Server) -> None:
    """Relate two entities of each project."""
    with httpx2.Client(base_url=f"{server.url}/api/v1", headers=server.headers) as client:
        for project in ("other", "ops", ""):
            ends = []
            for name in ("web", "cache"):
                words = CANARY if project == "other" else f"Canary of {project}"
                made = {"name": f"{words} {name}", "kind": "tool", "project": project}
                ends.append(client.post("/entities", json=made).json()["id"])
            edge = {"source_id": ends[0], "kind": "uses", "target_id": ends[1]}
            assert client.post("/relationships", json=edge).status_code == 201


def review(server: Server) -> None:
    """Let a relationship of a memory in each project wait for a person."""
    for project in SAVED:
        words = CANARY if project == "other" else f"Canary of {project}"
        server.home.write(
            "INSERT INTO reviews (kind, state, old_id, new_id, category, reason, said, created_at,"
            " version) SELECT 'relationship', 'open', id, id, category, '', ?, created_at, 1"
            " FROM memories WHERE id = ?",
            f"{words} uses Redis",
            memory_of(server, project),
        )


def row_of(server: Server, path: str, project: str) -> int:
    """Return a row of a project that a path reads."""
    if "/memories/" in path:
        return memory_of(server, project)
    if "/sessions/" in path:
        return session_of(server, project)
    table = path.split("/")[3]
    if table == "reviews":
        query = "SELECT id FROM reviews WHERE old_id = ?"
        return int(server.home.value(query, memory_of(server, project)))
    return int(server.home.value(f"SELECT max(id) FROM {table} WHERE project = ?", project))


def session_of(server: Server, project: str) -> int:
    return int(server.home.value("SELECT id FROM sessions WHERE project = ?", project))


def memory_of(server: Server, project: str) -> int:
    return int(server.home.value("SELECT id FROM memories WHERE project = ?", project))


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    monitors = {"LAMPLIGHTER_WEBHOOK_TOKEN": "of-the-monitors"}
    home = Home(tmp_path_factory.mktemp("walls") / "home", monitors)
    (home.path / "lamplighter.toml").write_text('[agents.hermes]\nproject = "ops"\n')
    home.services.write_text(SERVICES)
    server = Server(home)
    keep(server)
    relate(server)
    review(server)
    yield server
    server.kill()


@pytest.fixture(scope="module", params=["session", "agent"])
def bound(there: Server, request: pytest.FixtureRequest) -> Iterator[httpx2.Client]:
    """Send requests with the token of a supervisor session, or of an agent with operator rights."""
    made = {"scopes": ["admin"], "name": request.param}
    answer = httpx2.post(f"{there.url}/api/v1/tokens", json=made, headers=there.headers)
    token = answer.json()
    own = session_of(there, "ops")
    column = f"session_id = {own}" if request.param == "session" else "agent = 'hermes'"
    there.home.write(
        f"UPDATE tokens SET {column}, secret_hash = ? WHERE id = ?",
        hash_secret(SECRET),
        token["id"],
    )
    headers = {"Authorization": f"Bearer {Credential(token['id'], SECRET)}"}
    with httpx2.Client(base_url=there.url, headers=headers, timeout=20) as client:
        yield client


LISTS: dict[str, dict[str, Any]] = {
    "/memories": {"state": "all", "project": "other"},
    "/memories/facets": {"state": "all"},
    "/memories/views": {},
    "/search": {"q": "canary", "project": "other", "state": "all", "layers": "memory,session,page"},
    "/sessions": {},
    "/context?profile=agent": {"project": "other", "query": "canary"},
    "/context?profile=project": {"project": "other"},
    "/events": {},
    "/reviews": {},
    "/overview": {},
    "/entities": {"state": "all", "project": "other"},
    "/relationships": {"state": "all", "project": "other"},
    "/why": {"q": "canary", "project": "other"},
}


@walk("path", LISTS)
def test_no_list_reveals_another_project(bound: httpx2.Client, path: str) -> None:
    address, _, query = path.partition("?")
    wanted = {**LISTS[path], **dict(each.split("=") for each in filter(None, [query]))}

    answer = bound.get(f"/api/v1{address}", params=wanted)

    assert answer.status_code == 200, answer.text
    assert CANARY not in answer.text
    assert '"other"' not in answer.text


def test_a_bound_token_reads_its_project_and_global_memories(
    there: Server, bound: httpx2.Client
) -> None:
    own = {memory_of(there, project) for project in ("ops", "global")}
    listed = bound.get("/api/v1/memories", params={"state": "all"}).json()
    found = bound.get("/api/v1/search", params={"q": "canary", "layers": "memory"}).json()

    overview = bound.get("/api/v1/overview").json()["learned"]

    assert {each["id"] for each in listed["items"]} == own
    assert {each["memory"]["id"] for each in found["items"]} == own
    assert {each["memory"]["id"] for each in overview["items"]} == own
    assert overview["learned"] == len(own)
    for number in own:
        assert bound.get(f"/api/v1/memories/{number}").status_code == 200
    waiting = bound.get("/api/v1/reviews").json()
    assert ({each["old"]["id"] for each in waiting["items"]}, waiting["total"]) == (own, len(own))
    number = row_of(there, "/api/v1/reviews/", "ops")
    assert bound.get(f"/api/v1/reviews/{number}").status_code == 200
    assert bound.get(f"/api/v1/sessions/{session_of(there, 'ops')}").status_code == 200


def test_a_service_lists_the_memories_that_its_caller_may_read(
    there: Server, bound: httpx2.Client
) -> None:
    made = {"scopes": ["services:read"]}
    token = httpx2.post(f"{there.url}/api/v1/tokens", json=made, headers=there.headers).json()
    statuses = {"Authorization": f"Bearer {token['token']}"}
    callers = (bound.headers, there.headers, statuses)

    detail, every, none = (
        httpx2.get(f"{there.url}/api/v1/services/web", headers=each).json() for each in callers
    )

    own = {memory_of(there, project) for project in ("ops", "global")}
    assert {each["id"] for each in detail["strongest_memories"]} == own
    assert {each["id"] for each in every["strongest_memories"]} == own | {memory_of(there, "other")}
    assert none["strongest_memories"] is None
    assert none["incidents"] == every["incidents"] == {"items": [], "next": None}


WALLS = ("memories", "sessions", "entities", "relationships", "reviews")
ROWS = [op for op in OPS if op.method == "GET" and "{id:int}" in op.path]
WALLED = [op for op in ROWS if op.path.split("/")[3] in WALLS]


@walk("op", WALLED, ids=lambda each: each.path)
def test_a_row_of_another_project_is_not_found(
    there: Server, bound: httpx2.Client, op: Any
) -> None:
    number = row_of(there, op.path, "other")

    answer = bound.get(op.path.replace("{id:int}", str(number)))

    assert answer.status_code == 404
    assert CANARY not in answer.text


def test_the_graph_of_another_project_is_not_found(there: Server, bound: httpx2.Client) -> None:
    theirs = row_of(there, "/api/v1/entities/", "other")
    query = "SELECT source_id FROM relationships WHERE source = 'operator' AND project = ?"
    mine, everywhere = (int(there.home.value(query, each)) for each in ("ops", ""))

    for center in (str(theirs), f"{CANARY} web"):
        answer = bound.get("/api/v1/graph", params={"center": center, "project": "other"})
        assert answer.status_code == 404, answer.text
    for number in (mine, everywhere):
        found = bound.get("/api/v1/graph", params={"center": number, "depth": 3})
        assert len(found.json()["nodes"]) == 2
    listed = bound.get("/api/v1/entities", params={"limit": 200}).json()["items"]
    assert {each["project"] for each in listed} == {"ops", ""}


@walk("op", [each for each in OPS if each.across], ids=lambda each: f"{each.method} {each.path}")
def test_routes_across_projects_deny_a_bound_token(bound: httpx2.Client, op: Any) -> None:
    path = op.path.replace("{id:int}", "2").replace("{entry:int}", "1")

    answer = bound.request(op.method, path, json={} if op.body else None)

    assert answer.status_code == 403
    assert "the token is limited to one" in answer.json()["detail"]


def test_token_settings_and_approval_routes_are_across_projects() -> None:
    """A bound token cannot list tokens and logins, even with the scope `admin`."""
    closed = [op for op in OPS if (op.scope or "").startswith(("tokens", "settings", "approvals"))]

    assert len(closed) == 13
    assert all(op.across for op in closed)


READS = [op for op in OPS if op.method == "GET" and not op.across and "stream" not in op.path]
QUERIES = {"/api/v1/search": "q=canary"}  # the others take none, or need none


@walk("op", READS, ids=lambda each: each.path)
def test_no_route_reveals_another_project(there: Server, bound: httpx2.Client, op: Any) -> None:
    """Every route that reads is requested, with a row of the other project if it takes one."""
    of_session = "/sessions/" in op.path
    number = (session_of if of_session else memory_of)(there, "other")
    path = op.path.replace("{id:int}", str(number)).replace("{name}", "other")

    answer = bound.get(f"{path}?{QUERIES.get(op.path, '')}")

    assert answer.status_code in (200, 400, 403, 404, 422), answer.text
    assert CANARY not in answer.text
    assert '"other"' not in answer.text


def test_an_unbound_token_reads_every_project(there: Server) -> None:
    answer = httpx2.get(f"{there.url}/api/v1/memories?state=all", headers=there.headers)

    assert {each["id"] for each in answer.json()["items"]} == {
        memory_of(there, project) for project in SAVED
    }
    everything = httpx2.get(f"{there.url}/api/v1/overview", headers=there.headers).json()
    assert everything["learned"]["learned"] == len(SAVED)


@pytest.fixture
def stranger(there: Server) -> Iterator[httpx2.Client]:
    """Send requests with the token of an agent whose project is not the operational one."""
    made = {"scopes": ["admin"], "name": "stranger"}
    answer = httpx2.post(f"{there.url}/api/v1/tokens", json=made, headers=there.headers)
    token = answer.json()
    there.home.write(
        "UPDATE tokens SET agent = 'stranger', secret_hash = ? WHERE id = ?",
        hash_secret(SECRET),
        token["id"],
    )
    headers = {"Authorization": f"Bearer {Credential(token['id'], SECRET)}"}
    with httpx2.Client(base_url=there.url, headers=headers, timeout=20) as client:
        yield client


def test_an_agent_of_another_project_reads_no_operational_prompt(
    there: Server, stranger: httpx2.Client
) -> None:
    words = "Backups of the night failed"
    body = {"tier": 1, "prompt": words}
    asked = httpx2.post(f"{there.url}/api/v1/sessions", json=body, headers=there.headers).json()
    change = "UPDATE sessions SET status = ?, trigger = ? WHERE project = 'ops'"
    there.home.write(change, "running", "manual")
    own = session_of(there, "ops")

    context = stranger.get("/api/v1/context")
    request = stranger.get(f"/api/v1/requests/{asked['id']}")
    every = stranger.get("/api/v1/requests")
    overview = stranger.get("/api/v1/overview").json()

    assert context.status_code == 403
    assert context.json()["detail"].endswith("The token is limited to stranger.")
    assert (request.json()["id"], request.json()["prompt"]) == (asked["id"], "")
    assert words not in every.text
    assert (overview["running"], overview["outcomes"]) == (None, [])
    present = httpx2.get(f"{there.url}/api/v1/overview", headers=there.headers).json()
    assert present["running"]["id"] == own
    for each in (f"/markers/{own}/accepted", f"/markers/{own}/taken"):
        assert stranger.put(f"/api/v1{each}", json={}).status_code == 403
    assert stranger.post(f"/api/v1/sessions/{own}/markers", json={}).status_code == 403
    there.home.write(change, "completed", "client")


def test_an_agent_of_another_project_reads_no_incidents(
    there: Server, bound: httpx2.Client, stranger: httpx2.Client
) -> None:
    address, alert = f"{there.url}/api/v1", {"service": "mail", "title": "is down"}
    with httpx2.Client(headers=there.headers) as operator:
        answer = operator.post(f"{address}/webhooks/kuma", json={**alert, "severity": "critical"})
        assert answer.is_success, answer.text
        number = answer.json()["alerts"][0]["incident_id"]
        operator.patch(f"{address}/incidents/{number}", json={"note": "The rack of the night"})

    for path in ("/overview", "/services/mail", "/search?q=down&layers=event"):
        answer = stranger.get(f"/api/v1{path}")
        assert answer.status_code == 200
        assert "The rack" not in answer.text
        assert "is down" not in answer.text
    event = bound.get("/api/v1/events").json()["items"][0]["id"]
    for path in ("/events", "/events/groups", "/events/density", f"/events/{event}"):
        assert stranger.get(f"/api/v1{path}").status_code == 403
        assert bound.get(f"/api/v1{path}").status_code == 200
    reported = {"level": "info", "text": "The shop has a new lamp"}
    assert stranger.post("/api/v1/events", json=reported).status_code == 201
    overview = stranger.get("/api/v1/overview").json()
    hidden = [overview[name] for name in ("incidents", "open_incidents", "repaired", "people")]
    assert hidden == [[], {}, [], []]
    service = stranger.get("/api/v1/services/mail").json()
    assert service["incidents"] == {"items": [], "next": None}
    overview = bound.get("/api/v1/overview").json()
    assert [each["id"] for each in overview["incidents"]] == [number]
    assert overview["open_incidents"] == {"critical": 1}
    service = bound.get("/api/v1/services/mail").json()
    assert service["incidents"]["items"][0]["note"] == "The rack of the night"


def test_an_agent_of_another_project_changes_no_operations(
    there: Server, bound: httpx2.Client, stranger: httpx2.Client
) -> None:
    operator = httpx2.Client(base_url=there.url, headers=there.headers)
    asked = operator.post("/api/v1/sessions", json={"tier": 1}).json()["id"]
    own = session_of(there, "ops")
    change = "UPDATE sessions SET status = ?, trigger = ? WHERE id = ?"
    there.home.write(change, "running", "manual", own)
    changes = {
        ("POST", f"/sessions/{own}/stop"): 404,
        ("DELETE", f"/requests/{asked}"): 403,
        ("PUT", "/escalations/1/handled"): 403,
        ("PUT", "/halt"): 403,
        ("DELETE", "/halt"): 403,
        ("POST", "/cooldowns/web/resets"): 403,
    }

    for (method, path), status in changes.items():
        answer = stranger.request(method, f"/api/v1{path}", json={} if method != "DELETE" else None)
        assert answer.status_code == status, f"{method} {path}: {answer.text}"

    assert operator.get(f"/api/v1/requests/{asked}").json()["state"] == "queued"
    assert not operator.get("/api/v1/halt").json()["halted"]
    answer = bound.post(f"/api/v1/sessions/{session_of(there, 'other')}/stop", json={})
    assert answer.status_code == 404
    assert bound.post("/api/v1/cooldowns/web/resets", json={}).status_code == 201
    assert bound.delete(f"/api/v1/requests/{asked}").status_code == 204
    assert operator.post(f"/api/v1/sessions/{own}/stop").status_code == 202
    there.home.write(change, "completed", "client", own)
    operator.close()
