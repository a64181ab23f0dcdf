"""Slow, endless, disconnected or numerous clients cost a bounded time and cause no traceback."""

import asyncio
import json
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx2
import pytest

from living import Home, Server

SLOW, STREAMS, WRITERS, EACH = 20, 60, 120, 4
CLOSED_SECONDS = 60.0


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    found = Server(Home(tmp_path))
    yield found
    found.kill()


def opened(server: Server, sent: bytes) -> socket.socket:
    found = socket.create_connection(("127.0.0.1", server.port), timeout=CLOSED_SECONDS)
    found.sendall(sent)
    return found


def head(server: Server, *more: str) -> bytes:
    lines = [
        "POST /api/v1/memories HTTP/1.1",
        f"Host: 127.0.0.1:{server.port}",
        f"Authorization: {server.headers['Authorization']}",
        "Content-Type: application/json",
        *more,
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def until_closed(connection: socket.socket) -> bytes:
    """Read until the server closes; a timeout of the socket fails the test."""
    with closing(connection):
        found = b""
        try:
            while part := connection.recv(65_536):
                found += part
        except ConnectionResetError:
            pass
        return found


def test_connections_with_incomplete_requests_are_closed(server: Server) -> None:
    halves = [opened(server, head(server)[:40]) for _ in range(SLOW)]
    silent = [opened(server, b"") for _ in range(SLOW)]
    bodies = [opened(server, head(server, "Content-Length: 100") + b'{"a"') for _ in range(SLOW)]

    assert {until_closed(each) for each in halves + silent} == {b""}
    answers = [until_closed(each) for each in bodies]

    assert {each.partition(b"\r\n")[0] for each in answers} == {b"HTTP/1.1 408 Request Timeout"}
    assert all(b"did not arrive in time" in each for each in answers)
    assert "Traceback" not in server.log


def test_an_endless_body_is_cut_off_after_the_response(server: Server) -> None:
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    with closing(opened(server, head(server, "Transfer-Encoding: chunked"))) as connection:
        sent, most = 0, 200_000_000
        try:
            while sent < most:
                connection.sendall(chunk)
                sent += len(chunk)
        except OSError:
            pass

    assert sent < most / 4
    assert "Traceback" not in server.log


def test_a_client_that_sends_too_large_a_body_receives_the_response(server: Server) -> None:
    with httpx2.Client(base_url=server.url, headers=server.headers, timeout=60) as client:
        body = json.dumps({"observation": "x" * 2_000_000})
        kind = {"content-type": "application/json"}
        answers = [client.post("/api/v1/memories", content=body, headers=kind) for _ in range(3)]
        unknown = httpx2.post(f"{server.url}/api/v1/memories", content=body, headers=kind)

    assert [each.status_code for each in answers] == [413, 413, 413]
    assert unknown.status_code == 401
    assert answers[0].headers["connection"] == "close"


def test_a_disconnect_during_the_body_is_not_logged_as_an_error(server: Server) -> None:
    for _ in range(SLOW):
        opened(server, head(server, "Content-Length: 100") + b'{"a"').close()
    with httpx2.Client(base_url=server.url, headers=server.headers, timeout=60) as client:
        assert client.get("/api/v1/memories").status_code == 200

    assert "Traceback" not in server.log
    assert "ERROR" not in server.log


async def test_many_streams_and_writers_are_served_or_rejected_with_retry_after(
    server: Server,
) -> None:
    limits = httpx2.Limits(max_connections=None)
    answers: list[httpx2.Response] = []

    async with httpx2.AsyncClient(
        base_url=server.url, headers=server.headers, timeout=120, limits=limits
    ) as client:

        async def follow() -> None:
            async with client.stream("GET", "/api/v1/stream") as stream:
                async for _ in stream.aiter_bytes():
                    pass

        async def write(number: int) -> None:
            for turn in range(EACH):
                body = {"category": "timing", "observation": f"Number {number * EACH + turn}"}
                answers.append(await client.post("/api/v1/memories", json=body))

        followers = [asyncio.create_task(follow()) for _ in range(STREAMS)]
        await asyncio.gather(*(write(number) for number in range(WRITERS)))
        for each in followers:
            each.cancel()
        await asyncio.gather(*followers, return_exceptions=True)

    made = [each for each in answers if each.status_code == 201]
    refused = [each for each in answers if each.status_code != 201]
    assert made
    assert {each.status_code for each in refused} <= {503}
    assert all(each.headers["retry-after"].isdecimal() for each in refused)
    assert server.home.value("SELECT count(*) FROM memories") == len(made)
    assert "Traceback" not in server.log


def test_a_slow_but_steady_body_is_accepted(server: Server) -> None:
    body = json.dumps({"category": "timing", "observation": "Steady"}).encode()
    connection = opened(server, head(server, f"Content-Length: {len(body)}", "Connection: close"))
    for at in range(len(body)):
        connection.sendall(body[at : at + 1])
        time.sleep(0.02)

    assert b"201 Created" in until_closed(connection)
