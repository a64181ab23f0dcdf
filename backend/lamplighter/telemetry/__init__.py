"""Telemetry of our processes: logs, metrics and traces.

A leaf module: it imports nothing above the domain. A log record is one line, whatever its message.
Traces are sent to a collector by OpenTelemetry: without the extra `lamplighter[otel]`, or without
an address in the standard variables (`OTEL_EXPORTER_OTLP_ENDPOINT`, …), a span does nothing and
costs nothing.
"""

import json
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final, Literal, Protocol

logger = logging.getLogger(__name__)

Kind = Literal["internal", "server", "client"]
Value = str | int | float | bool | tuple[str, ...] | None

FLUSH_SECONDS: Final = 2.0
REPEAT_SECONDS: Final = 60.0
ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
EXTRA: Final = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")
JSON: Final = "json"
_CONTROL: Final = {code: f"\\x{code:02x}" for code in (*range(32), 127)}
_REQUEST: Final[ContextVar[str | None]] = ContextVar("lamplighter_request", default=None)
_SESSION: Final[ContextVar[int | None]] = ContextVar("lamplighter_session", default=None)


@contextmanager
def about(*, request: str | None = None, session: int | None = None) -> Iterator[None]:
    """Attach a request or a session to the log records of this context."""
    request_token = None if request is None else _REQUEST.set(request)
    running = None if session is None else _SESSION.set(session)
    try:
        yield
    finally:
        if request_token is not None:
            _REQUEST.reset(request_token)
        if running is not None:
            _SESSION.reset(running)


def request_id() -> str | None:
    """Return the ID of the current request."""
    return _REQUEST.get()


def session_id() -> int | None:
    """Return the ID of the current session."""
    return _SESSION.get()


class OneLine(logging.Formatter):
    """Formats a record on one line; control characters cannot forge another line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record's line; a traceback follows on separate lines."""
        failure, record.exc_info, record.exc_text = record.exc_info, None, None
        line = super().format(record).translate(_CONTROL)
        if failure:
            line = f"{line}\n{self.formatException(failure)}"
        return line


class JsonLines(logging.Formatter):
    """Formats a record as one JSON object on one line, for a log collector."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record's line, without unknown fields."""
        trace, span_id = trace_ids()
        record_json: dict[str, Any] = {
            "time": f"{datetime.fromtimestamp(record.created, UTC):%Y-%m-%dT%H:%M:%S.%fZ}",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _format_message(record),
            "process": record.process,
            "request_id": request_id(),
            "session_id": session_id(),
            "trace_id": trace,
            "span_id": span_id,
            "exception": self.formatException(record.exc_info) if record.exc_info else None,
            "stack": record.stack_info,
        }
        return json.dumps({name: each for name, each in record_json.items() if each is not None})


class Repetitions(logging.Filter):
    """Shows a warning about the same error once a minute, with the number of those not shown.

    Everything that needs the database reports its failure twice a second while it is unavailable.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._now = now
        self._shown: dict[str, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is shown."""
        errors = (isinstance(each, BaseException) for each in record.args or ())
        if record.levelno != logging.WARNING or not any(errors):
            return True
        line, now = _format_message(record), self._now()
        at, hidden = self._shown.get(line, (now - REPEAT_SECONDS, 0))
        if now - at < REPEAT_SECONDS:
            self._shown[line] = at, hidden + 1
            return False
        self._shown = {
            key: each for key, each in self._shown.items() if now - each[0] < 2 * REPEAT_SECONDS
        }
        self._shown[line] = now, 0
        if hidden:
            record.msg, record.args = f"{line} ({hidden} more not shown)", ()
        return True


def configure(level: str, form: str = "text") -> None:
    """Log to standard error from `level` on, as text or as JSON; libraries from warning on.

    As JSON, nothing else is written there: a collector reads one object per line.
    """
    output = logging.StreamHandler(sys.stderr)
    usual = OneLine("%(asctime)s %(levelname)s %(message)s")
    output.addFilter(Repetitions())
    output.setFormatter(JsonLines() if form == JSON else usual)
    logging.basicConfig(level=logging.WARNING, handlers=[output], force=True)
    logging.getLogger("lamplighter").setLevel(level.upper())
    if form == JSON:
        logging.captureWarnings(True)
        sys.excepthook, threading.excepthook = _log_crash, _log_thread_crash
        sys.unraisablehook = _log_unraisable


def _format_message(record: logging.LogRecord) -> str:
    """Return the message; a message whose arguments do not match stays unformatted."""
    try:
        return record.getMessage()
    except (TypeError, ValueError, KeyError):
        return f"{record.msg} {record.args!r}"


def _log_crash(
    kind: type[BaseException], error: BaseException, where: TracebackType | None
) -> None:
    logger.critical("The process ended by %s.", kind.__name__, exc_info=(kind, error, where))


def _log_thread_crash(args: threading.ExceptHookArgs) -> None:
    if args.exc_value is not None and not isinstance(args.exc_value, SystemExit):
        logger.error("A thread ended by %s.", args.exc_type.__name__, exc_info=args.exc_value)


def _log_unraisable(args: Any) -> None:
    what = args.err_msg or "Nobody could be told of an error"
    logger.error("%s: %r", what, args.object, exc_info=args.exc_value)


class Span:
    """An operation with a duration. This class is used without a collector and records nothing."""

    def note(self, attributes: Mapping[str, Value]) -> None:
        """Add attributes to the span; None is left out."""

    def event(self, name: str, attributes: Mapping[str, Value]) -> None:
        """Add an event to the span."""

    def named(self, name: str) -> None:
        """Rename the span: its kind is known only at its end."""

    def failed(self, kind: str) -> None:
        """Mark the span as failed, with the kind of error."""

    def __enter__(self) -> "Span":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        """End the span; exceptions pass through."""


class Tracer(Protocol):
    """A factory of spans that are collected."""

    def span(
        self,
        name: str,
        attributes: Mapping[str, Value],
        *,
        kind: Kind,
        parent: Mapping[str, str] | None,
    ) -> AbstractContextManager[Span]:
        """Start a span within the current span, or within a span of another process."""

    def record(
        self, name: str, attributes: Mapping[str, Value], *, started: int, ended: int
    ) -> None:
        """Record a finished span; times in nanoseconds since the epoch."""

    def carried(self) -> dict[str, str]:
        """Return the headers that identify the current span: traceparent, tracestate."""

    def ids(self) -> tuple[str | None, str | None]:
        """Return the IDs of the current trace and span."""

    def close(self, seconds: float) -> None:
        """Send the waiting spans, within a time limit."""


NO_SPAN: Final = Span()
_tracer: Tracer | None = None


def span(
    name: str,
    attributes: Mapping[str, Value] | None = None,
    *,
    kind: Kind = "internal",
    parent: Mapping[str, str] | None = None,
) -> AbstractContextManager[Span]:
    """Start a span; `parent` are the headers (traceparent, tracestate) of the caller."""
    if _tracer is None:
        return NO_SPAN
    return _tracer.span(name, attributes or {}, kind=kind, parent=parent)


def record_span(name: str, attributes: Mapping[str, Value], *, started: int, ended: int) -> None:
    """Record a finished span; times in nanoseconds since the epoch."""
    if _tracer is not None:
        _tracer.record(name, attributes, started=started, ended=ended)


def traceparent() -> dict[str, str]:
    """Return the headers that identify the current span to another process; empty if none."""
    return {} if _tracer is None else _tracer.carried()


def trace_ids() -> tuple[str | None, str | None]:
    """Return the IDs of the current trace and span."""
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
    """Collect spans in this context, if the environment names a collector; yield whether it does.

    `part` is the name of this process. `exporter` replaces the exporter that the environment names.
    At the end, waiting spans are sent, for `FLUSH_SECONDS` at most.
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
    """Whether the environment requests traces in a supported way."""
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
