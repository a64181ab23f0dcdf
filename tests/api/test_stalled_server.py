"""A server that stalls, as on a busy machine, reads what has arrived before it closes."""

import socket
import threading
import time
from contextlib import closing

import pytest
import uvicorn

from lamplighter.api import connection
from lamplighter.api.connection import TimedConnection

HEAD_SECONDS = KEEP_SECONDS = 3
REQUEST = b"GET /plain HTTP/1.1\r\nHost: a\r\n\r\n"

LAST_CHUNK = b"0\r\n\r\n"


def whole_answer(connection: socket.socket) -> bytes:
    """One answer to its last chunk, in however many pieces, or what came before the end."""
    answer = b""
    while not answer.endswith(LAST_CHUNK) and (piece := connection.recv(1_000)):
        answer += piece
    return answer


def test_requests_that_arrive_during_a_stall_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "HEAD_SECONDS", HEAD_SECONDS)
    stalled, go_on = threading.Event(), threading.Event()

    class StallingConnection(TimedConnection):
        def data_received(self, data: bytes) -> None:
            if b"/stall" in data:
                stalled.set()
                go_on.wait()
            super().data_received(data)

    async def app(scope, receive, send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        app,
        http=StallingConnection,
        lifespan="off",
        log_config=None,
        timeout_keep_alive=KEEP_SECONDS,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        idle, half, first = (
            socket.create_connection(listening.getsockname(), timeout=60) for _ in range(3)
        )
        with closing(idle), closing(half), closing(first):
            idle.sendall(REQUEST)
            assert whole_answer(idle).startswith(b"HTTP/1.1 200")
            half.sendall(REQUEST[:20])
            first.sendall(REQUEST.replace(b"/plain", b"/stall"))
            assert stalled.wait(60)
            idle.sendall(REQUEST)
            half.sendall(REQUEST[20:])
            time.sleep(HEAD_SECONDS + 0.5)
            go_on.set()

            answers = [whole_answer(each) for each in (idle, half)]
    finally:
        go_on.set()
        server.should_exit = True
        thread.join(60)

    assert [each[:12] for each in answers] == [b"HTTP/1.1 200", b"HTTP/1.1 200"]
