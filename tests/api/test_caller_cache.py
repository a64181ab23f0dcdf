"""Callers are authenticated from a cache; a revocation takes effect at once."""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from lamplighter.repository.store.database import sqlite_url
from lamplighter.repository.store.postgres import connect
from living import Home, Server

ROUNDS = 8


def token(client: httpx2.Client) -> tuple[int, dict[str, str]]:
    made = client.post("/api/v1/tokens", json={"scopes": ["memories:read"]}).json()
    return made["id"], {"Authorization": f"Bearer {made['token']}"}


def status(server: Server, headers: dict[str, str]) -> int:
    return httpx2.get(f"{server.url}/api/v1/memories", headers=headers).status_code


@pytest.mark.parametrize("how", ["api", "command line"])
def test_a_revoked_token_is_denied_even_right_after_use(
    own_server: Server, own_client: httpx2.Client, how: str
) -> None:
    for _ in range(ROUNDS):
        number, headers = token(own_client)
        assert [status(own_server, headers) for _ in range(3)] == [200, 200, 200]

        if how == "api":
            own_client.delete(f"/api/v1/tokens/{number}")
        else:
            own_server.home.ask("token", "revoke", str(number))

        assert status(own_server, headers) == 401


def test_a_token_deleted_in_the_database_is_denied(
    own_server: Server, own_client: httpx2.Client
) -> None:
    for _ in range(ROUNDS):
        number, headers = token(own_client)
        assert [status(own_server, headers) for _ in range(3)] == [200, 200, 200]

        own_server.home.write("DELETE FROM tokens WHERE id = ?", number)

        assert status(own_server, headers) == 401


def test_a_token_revoked_in_the_database_is_denied_after_other_commits(
    own_server: Server, own_client: httpx2.Client
) -> None:
    number, headers = token(own_client)
    for turn in range(3):
        own_client.post(
            "/api/v1/memories", json={"category": "pattern", "observation": f"Job {turn} ended"}
        )
        assert [status(own_server, headers) for _ in range(2)] == [200, 200]

    own_server.home.write("UPDATE tokens SET revoked_at = created_at WHERE id = ?", number)

    assert status(own_server, headers) == 401


def test_another_secret_of_a_cached_token_is_denied(
    own_server: Server, own_client: httpx2.Client
) -> None:
    number, headers = token(own_client)
    assert status(own_server, headers) == 200

    wrong = {"Authorization": f"Bearer lamp_{number}_{'x' * 43}"}

    assert status(own_server, wrong) == 401
    assert status(own_server, headers) == 200


def test_a_token_secret_is_denied_as_the_cookie_of_the_login_with_its_id(
    own_server: Server, own_client: httpx2.Client
) -> None:
    _, headers = token(own_client)
    words = headers["Authorization"].removeprefix("Bearer ")
    assert status(own_server, headers) == 200

    cookie = {"Cookie": f"lamplighter-{own_server.port}={words}"}

    assert status(own_server, cookie) == 401


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_logout_at_one_web_process_takes_effect_at_the_other(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Two homes on one database: a login of one is valid in both, until it ends in either."""
    first = Home(tmp_path / "first")
    url = sqlite_url(first.path / "lamplighter.db")
    if kind == "postgresql":
        url = first.more["LAMPLIGHTER_DATABASE_URL"] = request.getfixturevalue("postgres_url")
    second = Home(tmp_path / "second", {"LAMPLIGHTER_DATABASE_URL": url})
    servers = [Server(first), Server(second)]
    try:
        for here, there in (servers, servers[::-1]):
            assert ended_at_the_other(here, there) == [401, 401]
    finally:
        for each in servers:
            each.kill()


def test_a_deleted_login_is_denied_before_its_notification_arrives(
    tmp_path: Path, postgres_url: str
) -> None:
    """The sessions of PostgreSQL that send the notifications are stopped meanwhile."""
    urls = {"LAMPLIGHTER_DATABASE_URL": postgres_url}
    servers = [Server(Home(tmp_path / each, urls)) for each in ("first", "second")]
    try:
        with no_notifications(postgres_url):
            assert ended_at_the_other(*servers) == [401, 401]
    finally:
        for each in servers:
            each.kill()


@contextmanager
def no_notifications(url: str) -> Iterator[None]:
    """Stop the sessions of a PostgreSQL database that wait for notifications."""
    sessions = asyncio.run(listening(url))
    assert len(sessions) == 2, sessions
    for each in sessions:
        os.kill(each, signal.SIGSTOP)
    try:
        yield
    finally:
        for each in sessions:
            os.kill(each, signal.SIGCONT)


async def listening(url: str) -> list[int]:
    """Return the process IDs of the sessions that wait for notifications."""
    connection = await connect(url)
    rows = await connection.fetch(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
        " AND (query LIKE 'LISTEN%' OR query = 'SELECT 1')"
    )
    await connection.close()
    return [row["pid"] for row in rows]


def ended_at_the_other(here: Server, there: Server) -> list[int]:
    """Log in here, use the login there and end it there; return both responses afterwards."""
    code = here.home.code()
    came = httpx2.get(f"{here.url}/login", params={"code": code})
    assert httpx2.get(f"{there.url}/login", params={"code": code}).status_code == 401, "used once"
    secret = came.cookies[f"lamplighter-{here.port}"]
    cookies = [{"Cookie": f"lamplighter-{each.port}={secret}"} for each in (here, there)]
    ways = list(zip((here, there), cookies, strict=True))
    assert [status(*each) for each in ways * 2] == [200] * 4
    ours = {**cookies[1], "Origin": there.url}
    assert httpx2.delete(f"{there.url}/api/v1/login", headers=ours).status_code == 204
    return [status(*each) for each in ways]
