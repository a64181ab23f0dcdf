"""The loop of the web server idles without work, and stops at once."""

import asyncio
import signal
from typing import Any

import pytest
import uvicorn
from gates import until

from lamplighter.api import connection
from lamplighter.api.connection import WebServer


async def _nothing(scope: Any, receive: Any, send: Any) -> None:
    raise AssertionError("nobody asks")


@pytest.fixture
def server() -> WebServer:
    config = uvicorn.Config(_nothing, lifespan="off", interface="asgi3")
    config.load()
    return WebServer(config)


async def test_a_signal_ends_the_server_at_once(
    server: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "TICK_SECONDS", 600.0)
    running = asyncio.create_task(server.main_loop())
    await asyncio.sleep(0.05)
    assert not running.done()

    server.handle_exit(signal.SIGTERM, None)

    await asyncio.wait_for(running, 60)


async def test_a_signal_before_the_server_serves_ends_it(server: WebServer) -> None:
    server.handle_exit(signal.SIGTERM, None)

    await asyncio.wait_for(server.main_loop(), 60)


async def test_the_date_header_of_responses_advances(
    server: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "TICK_SECONDS", 0.01)
    running = asyncio.create_task(server.main_loop())
    await asyncio.sleep(0)
    first = dict(server.server_state.default_headers)[b"date"]
    await until(lambda: dict(server.server_state.default_headers)[b"date"] != first)
    server.handle_exit(signal.SIGTERM, None)
    await running
