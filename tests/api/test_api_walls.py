"""The walls at the API: who is bound to a project, as a session or an agent, reads no other."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from lamplighter.api.routes import OPS
from lamplighter.domain.access import Credential, hashed
from living import Home, Server, lately

CANARY = "Canary of the other project"
SECRET = "the-secret-of-a-bound-token"
SAVED = {"other": "project", "ops": "project", "global": "global"}


def kept(home: Home) -> None:
    """Keep a memory and a client's session of each project; the numbers are those of SAVED."""
    for number, (project, scope) in enumerate(SAVED.items(), 1):
        words = CANARY if project == "other" else f"Canary of {project}"
        home.write(
            "INSERT INTO memories (id, category, observation, created_at, updated_at, project,"
            " scope) VALUES (?, 'decision', ?, ?, ?, ?, ?)",
            *(number, words, lately(9), lately(9), project, scope),
        )
        home.write(
            "INSERT INTO sessions (id, external_id, project, tier, engine, trigger, status,"
            " reason, prompt, dry_run, started_at, response, summary) VALUES"
            " (?, ?, ?, 0, 'client', 'client', 'running', '', ?, 0, ?, '', ?)",
            *(100 + number, project, project, words, lately(3), words),
        )


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = Home(tmp_path_factory.mktemp("walls") / "home")
    (home.path / "lamplighter.toml").write_text('[agents.hermes]\nproject = "ops"\n')
    server = Server(home)
    kept(home)
    yield server
    server.kill()


@pytest.fixture(scope="module", params=["session", "agent"])
def bound(there: Server, request: pytest.FixtureRequest) -> Iterator[httpx2.Client]:
    """Ask with the token of a session of ours, or of an agent that may do all an operator does."""
    made = {"scopes": ["write"], "name": request.param}
    answer = httpx2.post(f"{there.url}/api/v1/tokens", json=made, headers=there.headers)
    token = answer.json()
    column = "session_id = 102" if request.param == "session" else "agent = 'hermes'"
    there.home.write(
        f"UPDATE tokens SET {column}, secret_hash = ? WHERE id = ?", hashed(SECRET), token["id"]
    )
    headers = {"Authorization": f"Bearer {Credential(token['id'], SECRET)}"}
    with httpx2.Client(base_url=there.url, headers=headers, timeout=20) as client:
        yield client


LISTS: dict[str, dict[str, Any]] = {
    "/memories": {"state": "all", "project": "other"},
    "/memories/facets": {"state": "all"},
    "/memories/views": {},
    "/search": {"q": "canary", "project": "other", "state": "all", "layers": "memory,session"},
    "/sessions": {},
    "/context?profile=agent": {"project": "other", "query": "canary"},
    "/context?profile=project": {"project": "other"},
    "/events": {},
    "/reviews": {},
    "/overview": {},
}


@pytest.mark.parametrize("path", LISTS)
def test_no_list_tells_of_another_project(bound: httpx2.Client, path: str) -> None:
    address, _, query = path.partition("?")
    wanted = {**LISTS[path], **dict(each.split("=") for each in filter(None, [query]))}

    answer = bound.get(f"/api/v1{address}", params=wanted)

    assert answer.status_code == 200, answer.text
    assert CANARY not in answer.text
    assert '"other"' not in answer.text


def test_its_own_and_what_is_global_is_found(bound: httpx2.Client) -> None:
    listed = bound.get("/api/v1/memories", params={"state": "all"}).json()
    found = bound.get("/api/v1/search", params={"q": "canary", "layers": "memory"}).json()

    assert {each["id"] for each in listed["items"]} == {2, 3}
    assert {each["memory"]["id"] for each in found["items"]} == {2, 3}
    assert bound.get("/api/v1/memories/3").status_code == 200
    assert bound.get("/api/v1/sessions/102").status_code == 200


ROWS = [op for op in OPS if op.method == "GET" and "{id:int}" in op.path]
WALLED = [op for op in ROWS if op.path.split("/")[3] in ("memories", "sessions")]


@pytest.mark.parametrize("op", WALLED, ids=lambda each: each.path)
def test_no_row_of_another_project_is_read(bound: httpx2.Client, op: Any) -> None:
    number = "1" if "/memories/" in op.path else "101"

    answer = bound.get(op.path.replace("{id:int}", number))

    assert answer.status_code == 404
    assert CANARY not in answer.text


@pytest.mark.parametrize(
    "op", [each for each in OPS if each.across], ids=lambda each: f"{each.method} {each.path}"
)
def test_what_is_of_every_project_is_refused(bound: httpx2.Client, op: Any) -> None:
    path = op.path.replace("{id:int}", "2").replace("{entry:int}", "1")

    answer = bound.request(op.method, path, json={} if op.body else None)

    assert answer.status_code == 403
    assert "bound to one" in answer.json()["detail"]


def test_who_is_bound_to_none_reads_every_project(there: Server) -> None:
    answer = httpx2.get(f"{there.url}/api/v1/memories?state=all", headers=there.headers)

    assert {each["id"] for each in answer.json()["items"]} == {1, 2, 3}
