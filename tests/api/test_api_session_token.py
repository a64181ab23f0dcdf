"""The access of a session's token: an engine tries every route while it runs."""

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest
from route_requests import Asking, name

from lamplighter.api.routes import OPS, Operation
from lamplighter.domain.access.access import SESSION_SCOPES, expand_scopes
from living import Ran, Server

# a question that is too long for an address; it changes nothing
ASKS = {"POST /api/v1/memories/relate"}
ENGINE = Path(__file__).parents[1] / "fakes" / "tries_all.py"
SERVICES = "services:\n  backup:\n    checks: [{name: nightly, push: {every: 1d, grace: 1h}}]\n"
NEVER = ("tokens", "settings", "approvals")


def allowed(op: Operation) -> bool:
    if "/hooks/" in op.path:  # for interactive agents: a session of ours is none
        return False
    if op.across:  # what is of every project is not for who is bound to one
        return False
    return op.scope in (None, "any") or op.scope in expand_scopes(SESSION_SCOPES)


def tried(server: Server, client: httpx2.Client, path: Path, *words: str) -> tuple[Ran, Any]:
    """Run a session whose engine tries every route; return it and the engine's findings."""
    server.home.services.write_text(SERVICES)
    asking = Asking(server.home, client)
    routes = [
        {
            "name": name(op),
            "method": op.method,
            "path": asking.address(op),
            "body": asking.body(op) if op.body else None,
        }
        for op in OPS
    ]
    (path / "routes.json").write_text(json.dumps(routes))
    server.home.more["LAMPLIGHTER_PORT"] = str(server.port)
    program = [sys.executable, str(ENGINE), str(path / "routes.json"), str(path / "found.json")]
    ran = server.home.run(command=shlex.join(program), words=words)
    return ran, json.loads((path / "found.json").read_text())


@pytest.mark.parametrize("words", [(), ("--dry-run",)])
def test_a_session_token_reads_and_reports_events_and_nothing_else(
    own_server: Server, own_client: httpx2.Client, tmp_path: Path, words: tuple[str, ...]
) -> None:
    ran, told = tried(own_server, own_client, tmp_path, *words)

    assert ran.session["status"] == "completed", ran.session["reason"]
    found = told["found"]
    assert set(found) == {name(op) for op in OPS}
    assert {each for each, status in found.items() if status not in (401, 403)} == {
        name(op) for op in OPS if allowed(op)
    }
    changed = {each for each, status in found.items() if status < 400 and each[:3] != "GET"}
    with_key = {name(op) for op in OPS if "{key}" in op.path}  # the key of a job is in the address
    assert changed - ASKS - with_key == {"POST /api/v1/events"}
    assert {found[name(op)] for op in OPS if op.scope and op.scope.startswith(NEVER)} == {403}
    assert found["DELETE /api/v1/login"] == 409
    assert told["told"] == found["POST /api/v1/events"] == 201
    whose = "SELECT DISTINCT source, session_id, tier FROM events WHERE text LIKE 'It is%'"
    assert own_server.home.rows(whose) == [("session", ran.id, 1)], "not an operator's"


def test_a_session_token_ends_with_its_session_and_is_never_stored(
    own_server: Server, own_client: httpx2.Client, tmp_path: Path
) -> None:
    ran, told = tried(own_server, own_client, tmp_path)
    token = told["token"]

    headers = {"Authorization": f"Bearer {token}"}
    assert httpx2.get(f"{own_server.url}/api/v1/login", headers=headers).status_code == 401
    secret = token.split("_", 2)[2].encode()
    home = own_server.home
    kept = {path: path.read_bytes() for path in home.path.rglob("*") if path.is_file()}
    assert [path for path, content in kept.items() if secret in content] == []
    said = own_client.get(f"/api/v1/sessions/{ran.id}/log").text
    assert "My token is " in said
    assert secret.decode() not in said
    [event] = home.rows("SELECT text FROM events WHERE text LIKE 'It is%'")
    assert event == ("It is [REDACTED:lamplighter-token] indeed",)
    [memory] = home.rows("SELECT observation FROM memories WHERE observation LIKE 'Opens%'")
    assert memory == ("Opens with [REDACTED:lamplighter-token]",)


def test_session_tokens_are_not_listed(own_server: Server, own_client: httpx2.Client) -> None:
    own_server.home.says("[EVENT:info] hello")

    listed = own_client.get("/api/v1/tokens").json()["items"]

    assert [each["name"].partition(":")[0] for each in listed] == ["this machine"]
    rows = own_server.home.rows("SELECT scopes, revoked_at FROM tokens WHERE session_id = 1")
    [(scopes, revoked_at)] = rows
    assert tuple(json.loads(scopes)) == SESSION_SCOPES
    assert revoked_at
