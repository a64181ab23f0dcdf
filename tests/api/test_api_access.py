"""Access rules, generated from the list of routes: a route without a guard fails here."""

import time
from collections.abc import Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
from route_requests import LOG_OUT, METHODS, SECRET, Asking, name, numbered
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route

from cells import walk
from lamplighter.api.agentops import openapi as agentops
from lamplighter.api.agentops.routes import PATHS, PREFIX
from lamplighter.api.app import create_app
from lamplighter.api.routes import ANY, DOCS, DOCUMENT, LOGIN, OPS, Operation
from lamplighter.domain.access.access import READS, SCOPES, SESSION_SCOPES, expand_scopes
from lamplighter.domain.relate import builtin_lexicon
from living import Home, Server

# a body too large for an address, or work too long for a GET
ONLY_ASKS = (
    "/api/v1/memories/relate",
    "/api/v1/memories/similar",
    "/api/v1/organizer/preview",
    "/api/v1/revocations/preview",
    "/api/v1/settings/line",
)
CLOSED = [op for op in OPS if op.scope is not None]
SCOPED = [op for op in CLOSED if op.scope != ANY and not op.person]
CHANGING = [op for op in CLOSED if op.method != "GET"]
ALONE = [scope for scope in SCOPES if ":" in scope]
AGENTOPS = {f"{PREFIX}{path}" for path in (*PATHS, agentops.DOCUMENT)}
OTHERS = {DOCUMENT, DOCS, LOGIN, "/{path:path}", "/assets"}
GIVES = "POST /api/v1/tokens"  # and nobody gives what they do not hold: a test of its own
PAGES = ["/", "/overview", "/sessions/7", "/assets/index.js", "/favicon.ico", DOCS]

Mint = Callable[..., dict[str, str]]


@pytest.fixture(scope="session")
def anybody(server: Server) -> Iterator[httpx2.Client]:
    """A client without credentials."""
    with httpx2.Client(base_url=server.url, timeout=20) as client:
        yield client


@pytest.fixture(scope="session")
def mint(client: httpx2.Client) -> Mint:
    """Create a token with these scopes, once each, and return its headers."""
    made: dict[tuple[str, ...], dict[str, str]] = {}

    def minted(*scopes: str) -> dict[str, str]:
        if scopes not in made:
            answer = client.post("/api/v1/tokens", json={"scopes": list(scopes)})
            made[scopes] = {"Authorization": f"Bearer {answer.json()['token']}"}
        return made[scopes]

    return minted


def as_(asking: Asking, anybody: httpx2.Client, op: Operation, headers: dict[str, str]) -> int:
    """Send a request as a caller; the rows that its address needs are created with all rights."""
    address = asking.address(op)
    headers = {**headers, **asking.current(op)}
    with anybody.stream(op.method, address, headers=headers, **asking.sent(op)) as answer:
        status = answer.status_code
    asking.let_go(op)
    return status


def ours(server: Server) -> dict[str, str]:
    return {"Origin": server.url, "Sec-Fetch-Site": "same-origin"}


@walk("op", CLOSED, ids=name)
def test_a_request_without_credentials_returns_401(
    asking: Asking, anybody: httpx2.Client, op: Operation
) -> None:
    address = numbered(op.path, "1")

    for accepted in ("*/*", "text/html"):
        answer = anybody.request(op.method, address, headers={"Accept": accepted})

        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.json()["status"] == 401


@walk("op", [op for op in OPS if op.scope is None], ids=name)
def test_a_route_without_a_scope_needs_no_caller(
    asking: Asking, anybody: httpx2.Client, op: Operation
) -> None:
    assert anybody.request(op.method, asking.address(op)).status_code == 200


def test_only_health_status_and_push_routes_are_public() -> None:
    assert {op.path for op in OPS if op.scope is None} == {
        "/healthz",
        "/readyz",
        "/status",
        "/push/{key}",
        "/push/{key}/{signal}",
    }


@walk("path", [*PAGES, DOCUMENT, "/api/nothing"])
def test_the_app_and_the_api_docs_require_a_caller(anybody: httpx2.Client, path: str) -> None:
    assert anybody.get(path).status_code == 401


@walk(
    "shown",
    [
        "",
        "Bearer",
        "Bearer lamp_1_short",
        f"Bearer lamp_1_{SECRET}",
        f"Bearer lamp_999999_{SECRET}",
        "Bearer \u00e9",
        "Digest x",
    ],
)
@walk("op", CLOSED, ids=name)
def test_an_invalid_token_is_denied_even_with_a_valid_login(
    asking: Asking, anybody: httpx2.Client, server: Server, op: Operation, shown: str
) -> None:
    cookie = asking.cookie()
    address = numbered(op.path, "1")
    assert anybody.get("/api/v1/login", headers=cookie).status_code == 200

    headers = {**cookie, **ours(server), "Authorization": shown.encode()}
    answer = anybody.request(op.method, address, headers=headers)  # type: ignore[arg-type]

    assert answer.status_code == 401


@walk("how", ["revoked_at", "expires_at"])
@walk("op", CLOSED, ids=name)
def test_an_expired_or_revoked_token_is_denied(
    asking: Asking, anybody: httpx2.Client, op: Operation, how: str
) -> None:
    made = asking.made("/api/v1/tokens", {"scopes": ["admin"]})
    headers = {"Authorization": f"Bearer {made['token']}"}
    assert anybody.get("/api/v1/login", headers=headers).status_code == 200

    asking.home.write(
        f"UPDATE tokens SET {how} = ? WHERE id = ?",
        f"{datetime.now(UTC) - timedelta(seconds=1):%Y-%m-%dT%H:%M:%S.%fZ}",
        made["id"],
    )

    address = numbered(op.path, "1")
    assert anybody.request(op.method, address, headers=headers).status_code == 401


@walk("op", SCOPED, ids=name)
def test_a_route_denies_a_token_with_all_other_scopes(
    asking: Asking, anybody: httpx2.Client, mint: Mint, op: Operation
) -> None:
    enough = [scope for scope in ALONE if op.scope in expand_scopes([scope])]
    headers = mint(*[scope for scope in ALONE if scope not in enough])

    address = numbered(op.path, "1")
    answer = anybody.request(op.method, address, headers=headers)

    assert answer.status_code == 403
    assert f"the scope {op.scope};" in answer.json()["detail"]


@walk("op", [op for op in SCOPED if name(op) != GIVES], ids=name)
def test_a_route_accepts_a_token_with_only_its_scope(
    asking: Asking, anybody: httpx2.Client, mint: Mint, op: Operation
) -> None:
    assert op.scope
    assert as_(asking, anybody, op, mint(op.scope)) == op.status


@walk(
    ("held", "wanted", "status"),
    [
        ("tokens:write", ["tokens:write"], 201),
        ("tokens:write", ["tokens:read"], 201),
        ("tokens:write", ["memories:read"], 403),
        ("tokens:write", ["tokens:write", "admin"], 403),
        ("admin", ["admin"], 201),
    ],
)
def test_a_caller_cannot_grant_scopes_that_it_lacks(
    anybody: httpx2.Client, mint: Mint, held: str, wanted: list[str], status: int
) -> None:
    answer = anybody.post("/api/v1/tokens", json={"scopes": wanted}, headers=mint(held))

    assert answer.status_code == status


@walk("op", [op for op in OPS if op.person], ids=name)
def test_a_route_for_people_denies_every_token(
    asking: Asking, anybody: httpx2.Client, mint: Mint, op: Operation
) -> None:
    assert as_(asking, anybody, op, mint("admin")) == 403


@walk("op", SCOPED, ids=name)
def test_the_scope_read_allows_all_reads_and_no_changes(
    asking: Asking, anybody: httpx2.Client, mint: Mint, op: Operation
) -> None:
    reads = op.scope in READS

    assert as_(asking, anybody, op, mint("read")) == (op.status if reads else 403)
    assert reads is (op.method == "GET" or op.path in ONLY_ASKS)


def test_a_session_can_only_write_events_and_observations() -> None:
    given = [op for op in SCOPED if op.scope in expand_scopes(SESSION_SCOPES)]
    changing = [op for op in given if op.method != "GET" and op.path not in ONLY_ASKS]

    assert {(op.method, op.path) for op in changing} == {
        ("POST", "/api/v1/events"),
        ("POST", "/api/v1/hooks/{event}"),
    }


@walk("op", CHANGING, ids=name)
@walk(
    "headers",
    [
        {},
        {"Sec-Fetch-Site": "none"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "null"},
        {"Origin": "http://evil.example"},
        {"Origin": "http://127.0.0.1:1"},
    ],
    ids=str,
)
def test_a_login_changes_data_only_from_the_app(
    asking: Asking, anybody: httpx2.Client, op: Operation, headers: dict[str, str]
) -> None:
    shown = asking.cookie()
    assert anybody.get("/api/v1/login", headers=shown).status_code == 200

    address = numbered(op.path, "1")
    answer = anybody.request(op.method, address, headers={**shown, **headers})

    assert answer.status_code == 403
    assert anybody.get("/api/v1/login", headers=shown).status_code == 200


@walk("op", CLOSED, ids=name)
@walk("host", ["evil.example", "127.0.0.1.evil.example"])
def test_a_login_is_denied_under_another_host_name(
    asking: Asking, anybody: httpx2.Client, op: Operation, host: str
) -> None:
    address = numbered(op.path, "1")
    # all else is as from a page of ours: it is the name alone that is refused
    headers = {**asking.cookie(), "Host": host, "Sec-Fetch-Site": "same-origin"}

    answer = anybody.request(op.method, address, headers=headers)

    assert answer.status_code == 403
    assert answer.json()["detail"].startswith(f"Host header {host!r} is not allowed")


@walk("op", CHANGING, ids=name)
@walk("site", ["cross-site", "same-site"])
def test_a_cross_site_request_is_rejected_despite_valid_credentials(
    asking: Asking, anybody: httpx2.Client, server: Server, op: Operation, site: str
) -> None:
    address = numbered(op.path, "1")
    headers = {**asking.cookie(), "Origin": server.url, "Sec-Fetch-Site": site}

    answer = anybody.request(op.method, address, headers=headers)

    assert answer.status_code == 403
    assert answer.json()["detail"] == "Requests from other sites cannot change data."


@walk("way", [{"Sec-Fetch-Site": "same-origin"}, "origin"], ids=str)
@walk("op", CLOSED, ids=name)
def test_a_login_is_accepted_on_every_route_from_the_app(
    asking: Asking, anybody: httpx2.Client, server: Server, op: Operation, way: Any
) -> None:
    from_ours = {"Origin": server.url} if way == "origin" else way

    assert as_(asking, anybody, op, {**asking.cookie(), **from_ours}) == op.status


def test_basic_credentials_of_a_proxy_are_ignored(asking: Asking, anybody: httpx2.Client) -> None:
    password = {"Authorization": "Basic bGFtcDpsYW1w"}

    for headers, status in ((password, 401), ({**password, **asking.cookie()}, 200)):
        assert anybody.get("/api/v1/login", headers=headers).status_code == status


def test_the_cookie_of_another_port_is_ignored(asking: Asking, anybody: httpx2.Client) -> None:
    cookie = asking.cookie()["Cookie"].partition("=")[2]

    headers = {"Cookie": f"lamplighter-1={cookie}; lamplighter={cookie}"}

    assert anybody.get("/api/v1/login", headers=headers).status_code == 401


@asynccontextmanager
async def closed() -> Any:
    yield


def test_every_route_of_the_application_is_declared(tmp_path: Path) -> None:
    app = create_app(closed, web_directory=tmp_path)

    found = {route.path for route in app.routes if isinstance(route, Route | Mount)}

    assert len(app.routes) == len({*map(str, app.routes)})
    assert found == {op.path for op in OPS} | OTHERS | AGENTOPS
    assert {op.scope for op in OPS} <= {None, ANY, *SCOPES}


async def newcomer(request: Request) -> Response:
    return PlainTextResponse("here I am")


async def test_an_undeclared_route_is_not_reachable(tmp_path: Path) -> None:
    """A route added outside the list is not reachable."""
    home = Home(tmp_path / "home")
    assert home.ask("token", "list").returncode == 0
    from lamplighter.config.settings import read_settings
    from lamplighter.mcp.endpoint import Endpoint
    from lamplighter.serve import web
    from lamplighter.serve.configuration import build_configuration

    settings = read_settings({"LAMPLIGHTER_HOME": str(home.path)})
    active = build_configuration(settings, builtin_lexicon())
    app = create_app(
        lambda: web._open_context(settings, active, Endpoint()), web_directory=tmp_path
    )
    for path in ("/api/v1/newcomer", "/newcomer"):
        app.routes.insert(0, Route(path, newcomer, methods=["GET", "POST"]))

    async with app.router.lifespan_context(app):
        transport = httpx2.ASGITransport(app=app)
        url = "http://127.0.0.1"
        async with httpx2.AsyncClient(transport=transport, base_url=url) as client:
            nobody = [
                (await client.request(method, path)).status_code
                for method in ("GET", "POST")
                for path in ("/api/v1/newcomer", "/newcomer")
            ]
            client.headers.update(home.way_in)
            api = [
                (await client.request(method, "/api/v1/newcomer")).status_code
                for method in ("GET", "POST")
            ]
            page = [(await client.request(method, "/newcomer")).status_code for method in METHODS]

    assert nobody == [401] * 4
    assert api == [404] * 2
    assert page == [404, 405, 405, 405, 405]


def test_the_last_use_of_a_token_is_recorded(own_server: Server, own_client: httpx2.Client) -> None:
    own_client.get("/api/v1/login")
    deadline = time.monotonic() + 20

    while not own_client.get("/api/v1/tokens").json()["items"][0]["used_at"]:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_token_secret_is_shown_only_once(own_server: Server, own_client: httpx2.Client) -> None:
    made = own_client.post("/api/v1/tokens", json={"scopes": ["read"], "days": 3}).json()
    secret = made["token"].split("_", 2)[2]

    listed = own_client.get("/api/v1/tokens")
    own_client.delete(f"/api/v1/tokens/{made['id']}")

    assert secret not in listed.text
    assert "hash" not in listed.text
    kept = b"".join(each.read_bytes() for each in own_server.home.path.glob("*") if each.is_file())
    assert secret.encode() not in kept
    assert own_client.delete(f"/api/v1/tokens/{made['id']}").status_code == 404


def test_a_token_cannot_log_out(client: httpx2.Client) -> None:
    assert client.delete(LOG_OUT[1]).status_code == 409
