"""A stand-in for the Messages API on loopback: scripted turns for real clients of the API.

    script = [uses("look", {"service": "caddy"}), says("Seen: {{tool_result}}")]
    with MessagesApi({"caddy": script}) as api:
        env["ANTHROPIC_BASE_URL"] = api.url("caddy")    # the scenario is the path's beginning
        ...
        api.requests("caddy")                           # every request, as received

A scenario is a list of turns, or a function from a request to a turn. The request itself selects
the turn of a list, by the number of its assistant messages. A repeated request therefore gets the
same turn, concurrent sessions do not disturb each other, and a client that continues after a crash
continues its script. After the last turn, the last turn without a tool is repeated; if each turn
uses a tool, the last one.

In any string of a block, `{{tool_result}}` is replaced by the last tool result, `{{system}}` by the
system prompt, and `{{user}}` by the last message of the user.
"""

import json
import re
import socket
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any, Self
from urllib.parse import urlsplit

from messages_turns import (
    Asked,
    Error,
    Script,
    Turn,
    deltas,
    fails,
    filled,
    flat,
    says,
    turn_of,
    usage,
    uses,
)

__all__ = ["Asked", "Error", "MessagesApi", "Script", "Turn", "fails", "flat", "says", "uses"]

SECRETS = ("x-api-key", "authorization")
IDLE_SECONDS = 60
DELAY_SECONDS = 60


class MessagesApi:
    """The stand-in: a server with its own threads, which runs while the context is open."""

    def __init__(self, scenarios: Mapping[str, Script] | None = None, *, key: str = "") -> None:
        """`key` is the only accepted key or token; without it any key is accepted."""
        self.scenarios: dict[str, Script] = {"default": [says("OK.")], **(scenarios or {})}
        self.key = key
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._asked: list[Asked] = []
        self._failed: dict[tuple[str, str, int], int] = {}
        self._numbers = count(1)
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.hang_up()
        self._server.server_close()
        self._thread.join(10)

    def url(self, scenario: str = "default") -> str:
        """Return the base URL of a scenario."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/s/{scenario}"

    def requests(self, scenario: str | None = None, path: str = "/v1/messages") -> list[Asked]:
        """Return the requests of a scenario (or all) for a path, oldest first."""
        with self._lock:
            return [a for a in self._asked if a.path == path and scenario in (None, a.scenario)]

    @property
    def everything(self) -> list[Asked]:
        """All requests, to any path and scenario."""
        with self._lock:
            return list(self._asked)

    def take(self, asked: Asked) -> None:
        """Record a request."""
        with self._lock:
            self._asked.append(asked)

    def answer(self, asked: Asked) -> Turn:
        """Return the turn that answers a request."""
        script = self.scenarios.get(asked.scenario)
        if script is None:
            return fails(404, f"no scenario {asked.scenario}")
        turn = script(asked) if callable(script) else turn_of(script, asked.turn)
        if turn.error is None or turn.error.times is None or turn.break_after is not None:
            return turn
        with self._lock:
            key = asked.scenario, asked.session, asked.turn
            self._failed[key] = self._failed.get(key, 0) + 1
            over = self._failed[key] > turn.error.times
        return says(flat(list(turn.blocks))) if over else turn

    def number(self, what: str) -> str:
        """Return a new id."""
        return f"{what}_{next(self._numbers):024d}"


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 256

    def __init__(self, api: MessagesApi) -> None:
        self.open: set[socket.socket] = set()
        handler = type("Handler", (_Answering,), {"api": api})
        super().__init__(("127.0.0.1", 0), handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def hang_up(self) -> None:
        """Close the connections that clients still hold open: no thread may be left."""
        for each in list(self.open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


class _Answering(BaseHTTPRequestHandler):
    api: MessagesApi
    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._ask()
        self._json(200, {})

    def do_GET(self) -> None:
        asked = self._ask()
        if asked.path == "/v1/models":
            self._json(200, {"data": [], "has_more": False, "first_id": None, "last_id": None})
        elif asked.path == "/":
            self._json(200, {"ok": True})
        else:
            self._error(Error(status=404, message=f"no {asked.path}"))

    def do_POST(self) -> None:
        asked = self._ask()
        given = self.headers.get("x-api-key") or self.headers.get("authorization") or ""
        if self.api.key and given.removeprefix("Bearer ") != self.api.key:
            self._error(Error(status=401, message="invalid x-api-key"))
        elif asked.path == "/v1/messages/count_tokens":
            self._json(200, {"input_tokens": max(1, len(json.dumps(asked.body)) // 4)})
        elif asked.path != "/v1/messages":
            self._error(Error(status=404, message=f"no {asked.path}"))
        else:
            with suppress(BrokenPipeError, ConnectionResetError):
                self._answer(asked, self.api.answer(asked))

    def _ask(self) -> Asked:
        path = urlsplit(self.path).path
        found = re.fullmatch(r"/s/([^/]+)(/.*)?", path)
        given = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            body = json.loads(given) if given else {}
        except ValueError:
            body = {"unreadable": given.decode("utf-8", "replace")}
        headers = {name.lower(): value for name, value in self.headers.items()}
        headers |= {name: "***" for name in SECRETS if name in headers}
        scenario, path = (found[1], found[2] or "/") if found else ("default", path)
        asked = Asked(scenario, self.command, path, headers, body)
        self.api.take(asked)
        return asked

    def _answer(self, asked: Asked, turn: Turn) -> None:
        if turn.delay and self.api.closing.wait(min(turn.delay, DELAY_SECONDS)):
            self.close_connection = True
            return
        if turn.error is not None and turn.break_after is None:
            self._error(turn.error)
            return
        blocks = [filled(block, asked) for block in turn.blocks]
        for block in blocks:
            if block["type"] == "tool_use":
                block.setdefault("id", self.api.number("toolu"))
        message = {
            "id": self.api.number("msg"),
            "type": "message",
            "role": "assistant",
            "model": asked.body.get("model", "stub"),
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage(asked, blocks, turn),
        }
        stop = turn.stop_reason or ("tool_use" if turn.has_tool else "end_turn")
        if asked.body.get("stream") and not turn.plain:
            self._stream(message, blocks, stop, turn)
        else:
            self._json(200, {**message, "content": blocks, "stop_reason": stop})

    def _stream(
        self, message: dict[str, Any], blocks: list[dict[str, Any]], stop: str, turn: Turn
    ) -> None:
        self._begin(turn.chunk_bytes)
        started = {**message, "usage": {**message["usage"], "output_tokens": 1}}
        self._event("message_start", message=started)
        left = count(0)
        for index, block in enumerate(blocks):
            empty, pieces = deltas(block, turn.delta_chars)
            self._event("content_block_start", index=index, content_block=empty)
            for delta in pieces:
                if self._goes_wrong(turn, next(left)):
                    return
                self._event("content_block_delta", index=index, delta=delta)
                if turn.delta_delay and self.api.closing.wait(turn.delta_delay):
                    self.close_connection = True
                    return
            self._event("content_block_stop", index=index)
        ending = {"stop_reason": stop, "stop_sequence": None}
        self._event("message_delta", delta=ending, usage=message["usage"])
        self._event("message_stop")
        self._ended()

    def _goes_wrong(self, turn: Turn, sent: int) -> bool:
        if turn.drop_after is not None and sent >= turn.drop_after:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return True
        if turn.break_after is not None and sent >= turn.break_after:
            error = turn.error or Error(status=529)
            self._event("error", error=error.content["error"])
            self._ended()
            return True
        return False

    def _begin(self, chunk_bytes: int) -> None:
        self.chunk_bytes = chunk_bytes
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("cache-control", "no-cache")
        self.send_header("transfer-encoding", "chunked")
        self.send_header("request-id", self.api.number("req"))
        self.end_headers()

    def _event(self, kind: str, **more: Any) -> None:
        data = json.dumps({"type": kind, **more}, ensure_ascii=False)
        told = f"event: {kind}\ndata: {data}\n\n".encode()
        size = self.chunk_bytes or len(told)
        for part in (told[at : at + size] for at in range(0, len(told), size)):
            self.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
            self.wfile.flush()

    def _ended(self) -> None:
        self.wfile.write(b"0\r\n\r\n")

    def _error(self, error: Error) -> None:
        self._json(error.status, error.content, error.headers)

    def _json(
        self, status: int, content: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> None:
        told = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(told)))
        self.send_header("request-id", self.api.number("req"))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(told)
