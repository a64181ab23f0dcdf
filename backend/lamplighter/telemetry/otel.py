"""Spans by the OpenTelemetry library, which is loaded only with a collector.

An unreachable collector slows nothing down: spans wait in a bounded queue, a thread sends them, and
spans that do not fit are dropped.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Thread
from typing import Any, Final

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Span as SdkSpan
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from lamplighter.telemetry import Kind, Span, Value

NAME: Final = "lamplighter"
TEXT_CHARS: Final = 500
KINDS: Final[Mapping[Kind, SpanKind]] = {
    "internal": SpanKind.INTERNAL,
    "server": SpanKind.SERVER,
    "client": SpanKind.CLIENT,
}
_CARRIER: Final = TraceContextTextMapPropagator()

Redact = Callable[[str], str]


def tracer(
    part: str, version: str, *, redact: Redact, environ: Mapping[str, str], exporter: Any = None
) -> "OtelTracer":
    """Create a tracer, and instrument the libraries that we use."""
    if exporter is None:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        exporter = OTLPSpanExporter()
    provider = TracerProvider(resource=_resource(part, version, environ), shutdown_on_exit=False)
    provider.add_span_processor(_Masking(redact))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        trace.set_tracer_provider(provider)
    return OtelTracer(provider, redact, version)


class OtelTracer:
    """A factory of spans that a thread sends."""

    def __init__(self, provider: TracerProvider, redact: Redact, version: str) -> None:
        self._provider, self._redact = provider, redact
        self._tracer = provider.get_tracer(NAME, version)

    @contextmanager
    def span(
        self,
        name: str,
        attributes: Mapping[str, Value],
        *,
        kind: Kind,
        parent: Mapping[str, str] | None,
    ) -> Iterator[Span]:
        """Start a span; an exception in it is recorded by its type, without its message."""
        with self._tracer.start_as_current_span(
            name,
            context=_CARRIER.extract(parent) if parent else None,
            kind=KINDS[kind],
            attributes=_masked_attributes(attributes, self._redact),
            record_exception=False,
            set_status_on_exception=False,
        ) as begun:
            here = OtelSpan(begun, self._redact)
            try:
                yield here
            except BaseException as error:
                here.failed(type(error).__name__)
                raise

    def record(
        self, name: str, attributes: Mapping[str, Value], *, started: int, ended: int
    ) -> None:
        """Record a finished span."""
        masked = _masked_attributes(attributes, self._redact)
        self._tracer.start_span(
            name, kind=SpanKind.CLIENT, attributes=masked, start_time=started
        ).end(ended)

    def carried(self) -> dict[str, str]:
        """Return the headers that identify the current span to another process."""
        found: dict[str, str] = {}
        _CARRIER.inject(found)
        return found

    def ids(self) -> tuple[str | None, str | None]:
        """Return the IDs of the current trace and span."""
        at_work = trace.get_current_span().get_span_context()
        if not at_work.is_valid:
            return None, None
        return trace.format_trace_id(at_work.trace_id), trace.format_span_id(at_work.span_id)

    def close(self, seconds: float) -> None:
        """Send the waiting spans, within a time limit."""
        sending = Thread(target=self._provider.shutdown, daemon=True)
        sending.start()
        sending.join(seconds)


class OtelSpan(Span):
    """A span that is collected."""

    def __init__(self, span: trace.Span, redact: Redact) -> None:
        self._begun, self._redact = span, redact

    def note(self, attributes: Mapping[str, Value]) -> None:
        """Add attributes to the span."""
        self._begun.set_attributes(_masked_attributes(attributes, self._redact))

    def event(self, name: str, attributes: Mapping[str, Value]) -> None:
        """Add an event to the span."""
        self._begun.add_event(name, _masked_attributes(attributes, self._redact))

    def named(self, name: str) -> None:
        """Rename the span."""
        self._begun.update_name(name)

    def failed(self, kind: str) -> None:
        """Mark the span as failed."""
        self._begun.set_attribute("error.type", kind)
        self._begun.set_status(Status(StatusCode.ERROR))


class _Masking(SpanProcessor):
    """Masks our secrets in the spans of other libraries before the spans are sent."""

    def __init__(self, redact: Redact) -> None:
        self._redact = redact

    def _on_ending(self, span: SdkSpan) -> None:
        for name, value in (span.attributes or {}).items():
            if isinstance(value, str) and (masked := self._redact(value)) != value:
                span.set_attribute(name, masked)


def _resource(part: str, version: str, environ: Mapping[str, str]) -> Resource:
    attributes: dict[str, str | int] = {
        "service.name": NAME,
        "service.version": version,
        "process.pid": os.getpid(),
        "lamplighter.process": part,
    }
    given = Resource.create({})
    if environ.get("OTEL_SERVICE_NAME", "").strip() or "service.name=" in environ.get(
        "OTEL_RESOURCE_ATTRIBUTES", ""
    ):
        attributes.pop("service.name")
    return given.merge(Resource(attributes))


def _masked_attributes(attributes: Mapping[str, Value], redact: Redact) -> dict[str, Any]:
    return {
        name: redact(value)[:TEXT_CHARS] if isinstance(value, str) else value
        for name, value in attributes.items()
        if value is not None
    }
