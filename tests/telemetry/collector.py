"""A collector of traces on loopback: ingests OTLP over HTTP as real collectors do."""

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class Collector:
    """The received spans, as JSON-like values; `named` waits for spans by name."""

    def __init__(self) -> None:
        self.spans: list[dict[str, Any]] = []
        self.resources: list[dict[str, Any]] = []
        self.url = ""
        self._more = threading.Condition()

    def take(self, content: bytes) -> None:
        sent = ExportTraceServiceRequest.FromString(content)
        with self._more:
            for resource in sent.resource_spans:
                self.resources.append(_values(resource.resource.attributes))
                for scope in resource.scope_spans:
                    self.spans += map(_span, scope.spans)
            self._more.notify_all()

    def named(self, name: str, *, count: int = 1) -> list[dict[str, Any]]:
        """Return the spans with a name, once there are `count` of them."""

        def found() -> list[dict[str, Any]]:
            return [each for each in self.spans if each["name"] == name]

        with self._more:
            assert self._more.wait_for(lambda: len(found()) >= count, 20), self.names
            return found()

    @property
    def names(self) -> list[str]:
        return sorted(each["name"] for each in self.spans)


@contextmanager
def collecting() -> Iterator[Collector]:
    """Serve a collector on a free port of loopback."""
    here = Collector()

    class Taking(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                content = gzip.decompress(content)
            here.take(content)
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *given: Any) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Taking)
    here.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield here
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()


def _span(span: Any) -> dict[str, Any]:
    return {
        "name": span.name,
        "trace": span.trace_id.hex(),
        "id": span.span_id.hex(),
        "parent": span.parent_span_id.hex(),
        "attributes": _values(span.attributes),
        "events": [{"name": each.name, **_values(each.attributes)} for each in span.events],
        "error": span.status.code == 2,
    }


def _values(attributes: Any) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in attributes}
