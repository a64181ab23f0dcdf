"""Traces: what took how long, sent to a collector by OpenTelemetry.

Without the extra `lamplighter[otel]`, or without an address in the standard variables
(`OTEL_EXPORTER_OTLP_ENDPOINT`, …), a span is nothing and costs nothing.
"""

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType
from typing import Any, Final, Literal, Protocol

logger = logging.getLogger(__name__)

Kind = Literal["internal", "server", "client"]
Value = str | int | float | bool | tuple[str, ...] | None

FLUSH_SECONDS: Final = 2.0
ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
EXTRA: Final = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")


class Span:
    """An operation with a duration. This one records nothing: there is no collector."""

    def note(self, attributes: Mapping[str, Value]) -> None:
        """Note what is known of it; None is left out."""

    def event(self, name: str, attributes: Mapping[str, Value]) -> None:
        """Note that something happened in it."""

    def named(self, name: str) -> None:
        """Rename it: its kind is known only at its end."""

    def failed(self, kind: str) -> None:
        """Note that it failed, and by which kind of error."""

    def __enter__(self) -> "Span":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        """End it; exceptions pass through."""


class Tracer(Protocol):
    """What makes spans that are collected."""

    def span(
        self,
        name: str,
        attributes: Mapping[str, Value],
        *,
        kind: Kind,
        parent: Mapping[str, str] | None,
    ) -> AbstractContextManager[Span]:
        """Begin a span in the one that is at work, or in the one of another process."""

    def record(
        self, name: str, attributes: Mapping[str, Value], *, started: int, ended: int
    ) -> None:
        """Record a finished span; times in nanoseconds since the epoch."""

    def carried(self) -> dict[str, str]:
        """Return what tells another process which span is at work: traceparent, tracestate."""

    def ids(self) -> tuple[str | None, str | None]:
        """Return the trace and the span that are at work."""

    def close(self, seconds: float) -> None:
        """Send what waits, within a bound."""


NO_SPAN: Final = Span()
_tracer: Tracer | None = None


def span(
    name: str,
    attributes: Mapping[str, Value] | None = None,
    *,
    kind: Kind = "internal",
    parent: Mapping[str, str] | None = None,
) -> AbstractContextManager[Span]:
    """Begin a span; `parent` are the headers (traceparent, tracestate) of the caller."""
    if _tracer is None:
        return NO_SPAN
    return _tracer.span(name, attributes or {}, kind=kind, parent=parent)


def record_span(name: str, attributes: Mapping[str, Value], *, started: int, ended: int) -> None:
    """Record a finished span; times in nanoseconds since the epoch."""
    if _tracer is not None:
        _tracer.record(name, attributes, started=started, ended=ended)


def traceparent() -> dict[str, str]:
    """Return what tells another process which span is at work; nothing where none is."""
    return {} if _tracer is None else _tracer.carried()


def trace_ids() -> tuple[str | None, str | None]:
    """Return the trace and the span that are at work."""
    return (None, None) if _tracer is None else _tracer.ids()


@contextmanager
def tracing(
    part: str,
    version: str,
    *,
    redact: Callable[[str], str],
    environ: Mapping[str, str] = os.environ,
    exporter: Any = None,
) -> Iterator[bool]:
    """Collect spans meanwhile, if the environment names a collector; return whether it does.

    `part` is which process of ours it is. `exporter` takes them in the place of the one
    that the environment names. At the end what waits is sent, for `FLUSH_SECONDS` at most.
    """
    global _tracer
    if not (exporter or tracing_requested(environ)):
        yield False
        return
    from lamplighter.telemetry import otel

    made = otel.tracer(part, version, redact=redact, environ=environ, exporter=exporter)
    _tracer = made
    try:
        yield True
    finally:
        _tracer = None
        made.close(FLUSH_SECONDS)


def tracing_requested(environ: Mapping[str, str]) -> bool:
    """Whether the environment asks for traces in a way that can be had."""
    variables = {name: value.strip() for name, value in environ.items() if name.startswith("OTEL_")}
    if not any(variables.get(name) for name in ENDPOINTS):
        return False
    off = variables.get("OTEL_SDK_DISABLED", "").lower() == "true"
    if off or variables.get("OTEL_TRACES_EXPORTER", "otlp").lower() not in ("", "otlp"):
        return False
    protocol = next((variables[name] for name in PROTOCOLS if variables.get(name)), "http/protobuf")
    if protocol != "http/protobuf":
        logger.warning("Traces are sent by http/protobuf only, not by %s: none are.", protocol)
        return False
    if not _installed():
        logger.warning(
            "OTEL_* asks for traces, but the extra lamplighter[otel] is not installed: none are."
        )
        return False
    return True


def _installed() -> bool:
    try:
        from importlib.util import find_spec

        return all(find_spec(name) is not None for name in EXTRA)
    except ModuleNotFoundError:
        return False
