"""Spans by OpenTelemetry's own library: loaded only with a collector.

A collector that is away slows nobody: spans wait in a bounded queue, a thread sends
them, and what does not fit is dropped.
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
    """Return a tracer, and instrument the libraries that we use."""
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
    """Makes spans that a thread sends on."""

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
        """Begin a span; what is raised in it is noted by its kind, not by its words."""
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
        """Return what tells another process which span is at work."""
        found: dict[str, str] = {}
        _CARRIER.inject(found)
        return found

    def ids(self) -> tuple[str | None, str | None]:
        """Return the trace and the span that are at work."""
        at_work = trace.get_current_span().get_span_context()
        if not at_work.is_valid:
            return None, None
        return trace.format_trace_id(at_work.trace_id), trace.format_span_id(at_work.span_id)

    def close(self, seconds: float) -> None:
        """Send what waits, within a bound."""
        sending = Thread(target=self._provider.shutdown, daemon=True)
        sending.start()
        sending.join(seconds)


class OtelSpan(Span):
    """A span that is collected."""

    def __init__(self, span: trace.Span, redact: Redact) -> None:
        self._begun, self._redact = span, redact

    def note(self, attributes: Mapping[str, Value]) -> None:
        """Note what is known of it."""
        self._begun.set_attributes(_masked_attributes(attributes, self._redact))

    def event(self, name: str, attributes: Mapping[str, Value]) -> None:
        """Note that something happened in it."""
        self._begun.add_event(name, _masked_attributes(attributes, self._redact))

    def named(self, name: str) -> None:
        """Call it so."""
        self._begun.update_name(name)

    def failed(self, kind: str) -> None:
        """Note that it failed."""
        self._begun.set_attribute("error.type", kind)
        self._begun.set_status(Status(StatusCode.ERROR))


class _Masking(SpanProcessor):
    """Masks our secrets in the spans of other libraries before they are sent."""

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
