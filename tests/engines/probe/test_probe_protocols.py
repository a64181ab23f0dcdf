"""Checks of PostgreSQL (a real server) and of Redis (recorded answers of Redis 6.2)."""

import asyncio
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from urllib.parse import parse_qs, urlsplit

import pytest

from lamplighter.domain.services.check import PostgresCheck, RedisCheck
from lamplighter.engines.probe import checks
from lamplighter.engines.probe.facts import CheckOutcome
from living import free_port

Replay = Callable[[bytes], Awaitable[int]]


@pytest.fixture
async def replay() -> AsyncIterator[Replay]:
    """Start servers that answer the first bytes they get with these, and hang up."""
    servers: list[asyncio.Server] = []

    async def start(answer: bytes) -> int:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1)
            for at in range(0, len(answer), 7):
                writer.write(answer[at : at + 7])
                await writer.drain()
            writer.close()

        servers.append(await asyncio.start_server(handle, "127.0.0.1", 0))
        return int(servers[-1].sockets[0].getsockname()[1])

    yield start
    for server in servers:
        server.close()
    await asyncio.sleep(0.01)


def error(code: str, message: str) -> bytes:
    """Return an error as PostgreSQL sends it."""
    fields = f"SFATAL\0C{code}\0M{message}\0\0".encode()
    return b"E" + struct.pack("!i", len(fields) + 4) + fields


async def ask_postgres(port: int) -> CheckOutcome:
    check = PostgresCheck(name="postgres", host="127.0.0.1", port=port, retries=0)
    return await checks.run(check, look_again=False)


async def ask_redis(port: int) -> CheckOutcome:
    check = RedisCheck(name="redis", host="127.0.0.1", port=port, retries=0)
    return await checks.run(check, look_again=False)


async def test_a_real_postgres_server_accepts_connections(postgres_url: str) -> None:
    [directory] = parse_qs(urlsplit(postgres_url).query)["host"]

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Connect a port to the server, which has a socket file only."""
        there, back = await asyncio.open_unix_connection(f"{directory}/.s.PGSQL.5432")
        back.write(await reader.read(1_024))
        writer.write(await there.read(1_024))
        await writer.drain()
        back.close()
        writer.close()

    async with await asyncio.start_server(relay, "127.0.0.1", 0) as server:
        outcome = await ask_postgres(server.sockets[0].getsockname()[1])

    assert (outcome.ok, outcome.answered, outcome.detail) == (True, True, "")


@pytest.mark.parametrize(
    ("answer", "ok", "detail"),
    [
        (error("28000", 'no pg_hba.conf entry for host "10.0.0.1"'), True, ""),
        (error("3D000", 'database "postgres" does not exist'), True, ""),
        (
            error("57P03", "the database system is starting up"),
            False,
            "the database system is starting up (57P03)",
        ),
        (
            error("53300", "sorry, too many clients already"),
            False,
            "sorry, too many clients already (53300)",
        ),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", False, "not a PostgreSQL answer"),
        (b"", False, "not a PostgreSQL answer"),
    ],
)
async def test_a_postgres_check_passes_or_fails_by_the_first_answer(
    replay: Replay, answer: bytes, ok: bool, detail: str
) -> None:
    outcome = await ask_postgres(await replay(answer))

    assert (outcome.ok, outcome.detail) == (ok, detail)


@pytest.mark.parametrize(
    ("answer", "ok", "detail"),
    [
        (b"+PONG\r\n", True, ""),
        (b"-NOAUTH Authentication required.\r\n", True, ""),
        (
            b"-LOADING Redis is loading the dataset in memory\r\n",
            False,
            "answered LOADING Redis is loading the dataset in memory",
        ),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", False, "not a Redis answer"),
        (b"", False, "not a Redis answer"),
    ],
)
async def test_a_redis_check_passes_or_fails_by_the_answer_to_ping(
    replay: Replay, answer: bytes, ok: bool, detail: str
) -> None:
    outcome = await ask_redis(await replay(answer))

    assert (outcome.ok, outcome.detail) == (ok, detail)


async def test_a_missing_server_fails_the_check() -> None:
    port = free_port()

    assert (await ask_postgres(port)).detail == f"connection refused at 127.0.0.1:{port}"
    assert (await ask_redis(port)).answered is False
