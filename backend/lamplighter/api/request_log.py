"""Request logging: id, trace span, status and duration."""

import re
from collections.abc import Mapping
from random import getrandbits
from time import perf_counter
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.routing import Mount
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lamplighter import telemetry
from lamplighter.api.routes import ops_at
from lamplighter.telemetry import counts

ID: Final = "X-Request-ID"
REQUEST: Final = "lamplighter.request_id"
PAGE: Final = "page"
UNKNOWN: Final = "unknown"
STREAM: Final = "text/event-stream"
METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_VALID_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")
_TRACE_HEADERS: Final = ("traceparent", "tracestate")


class RequestLog:
    """Outermost middleware: assigns an id to each request and counts it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, and log the request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given = headers.get(ID, "")
        request_id = given if _VALID_ID.fullmatch(given) else f"{getrandbits(128):032x}"
        scope.setdefault("state", {})[REQUEST] = request_id
        method = scope["method"] if scope["method"] in METHODS else UNKNOWN
        with (
            telemetry.about(request=request_id),
            telemetry.span(method, kind="server", parent=_trace_context(headers)) as span,
        ):
            answered = RequestRecord(scope, method, span, request_id)
            try:
                await self._app(scope, receive, answered.sending(send))
            except BaseException:
                answered.status = answered.status or 500
                raise
            finally:
                answered.over()


class RequestRecord:
    """How one request is answered; a stream counts as answered when it begins."""

    def __init__(self, scope: Scope, method: str, span: telemetry.Span, known_paths: str) -> None:
        self.status = 0
        self._scope, self._method, self._span, self._known = scope, method, span, known_paths
        self._began, self._told = perf_counter(), False

    def sending(self, send: Send) -> Send:
        """Return a `send` that inspects the messages it passes on."""

        async def looked_at(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.status = message["status"]
                headers = MutableHeaders(scope=message)
                headers[ID] = self._known
                if headers.get("content-type", "").startswith(STREAM):
                    self.over()
            await send(message)

        return looked_at

    def over(self) -> None:
        """Log the request once; a client that left before the answer counts as 499."""
        if self._told:
            return
        self._told = True
        route, status = route_of(self._scope), self.status or 499
        counts.REQUESTS.add(self._method, route, str(status))
        counts.REQUEST_SECONDS.took(perf_counter() - self._began, self._method, route)
        self._span.named(f"{self._method} {route}")
        self._span.note(
            {
                "http.request.method": self._method,
                "http.route": route,
                "http.response.status_code": status,
                "lamplighter.request_id": self._known,
            }
        )
        if status >= 500:
            self._span.failed(str(status))


def route_of(scope: Scope) -> str:
    """Return the route template of a request, never user input."""
    route = scope.get("route")
    if route is None:  # answered by the guard, before routing
        ops = ops_at(scope["path"])
        return _route_template(next(iter(ops.values())).path) if ops else UNKNOWN
    if isinstance(route, Mount):
        return route.path
    if getattr(route, "name", "") == PAGE:
        return PAGE
    return _route_template(f"{scope.get('root_path', '')}{getattr(route, 'path', UNKNOWN)}")


def _route_template(path: str) -> str:
    return path.replace(":int}", "}").replace(":path}", "}")


def _trace_context(headers: Headers) -> Mapping[str, str] | None:
    found = {name: headers[name] for name in _TRACE_HEADERS if name in headers}
    return found if "traceparent" in found else None
