"""Telemetry of our processes: logs, metrics and traces.

A leaf: it knows nothing above the domain. Nothing heavy is loaded before it is needed,
and where no traces are wanted none is loaded at all. A log line is one line, whatever a
message holds.
"""

import json
import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from importlib import import_module
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from lamplighter.telemetry.traces import Span as Span
    from lamplighter.telemetry.traces import record_span as record_span
    from lamplighter.telemetry.traces import span as span
    from lamplighter.telemetry.traces import traceparent as traceparent
    from lamplighter.telemetry.traces import tracing as tracing
else:

    def __getattr__(name: str) -> Any:
        """Load the traces when the first is recorded: most commands record none."""
        if name not in ("Span", "record_span", "span", "traceparent", "tracing"):
            raise AttributeError(name)
        return getattr(import_module("lamplighter.telemetry.traces"), name)


logger = logging.getLogger(__name__)

JSON: Final = "json"
_CONTROL: Final = {code: f"\\x{code:02x}" for code in (*range(32), 127)}
_REQUEST: Final[ContextVar[str | None]] = ContextVar("lamplighter_request", default=None)
_SESSION: Final[ContextVar[int | None]] = ContextVar("lamplighter_session", default=None)


@contextmanager
def about(*, request: str | None = None, session: int | None = None) -> Iterator[None]:
    """Let what is logged meanwhile be about a request or a session."""
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
    """Return the id of the request that is answered now."""
    return _REQUEST.get()


def session_id() -> int | None:
    """Return the number of the session that is at work now."""
    return _SESSION.get()


class OneLine(logging.Formatter):
    """Writes a record on one line; control characters cannot forge another one."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record's line; a traceback follows on lines of its own."""
        failure, record.exc_info, record.exc_text = record.exc_info, None, None
        line = super().format(record).translate(_CONTROL)
        if failure:
            line = f"{line}\n{self.formatException(failure)}"
        return line


class JsonLines(logging.Formatter):
    """Writes a record as one object on one line, for a log collector."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record's line; what is not known is not in it."""
        from lamplighter.telemetry import traces

        trace, span = traces.trace_ids()
        record_json: dict[str, Any] = {
            "time": f"{datetime.fromtimestamp(record.created, UTC):%Y-%m-%dT%H:%M:%S.%fZ}",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _format_message(record),
            "process": record.process,
            "request_id": request_id(),
            "session_id": session_id(),
            "trace_id": trace,
            "span_id": span,
            "exception": self.formatException(record.exc_info) if record.exc_info else None,
            "stack": record.stack_info,
        }
        return json.dumps({name: each for name, each in record_json.items() if each is not None})


def configure(level: str, form: str = "text") -> None:
    """Log to standard error from `level` on, as text or as JSON; libraries from warning on.

    As JSON nothing else is written there: a collector reads one object a line.
    """
    output = logging.StreamHandler(sys.stderr)
    usual = OneLine("%(asctime)s %(levelname)s %(message)s")
    output.setFormatter(JsonLines() if form == JSON else usual)
    logging.basicConfig(level=logging.WARNING, handlers=[output], force=True)
    logging.getLogger("lamplighter").setLevel(level.upper())
    if form == JSON:
        logging.captureWarnings(True)
        sys.excepthook, threading.excepthook = _log_crash, _log_thread_crash
        sys.unraisablehook = _log_unraisable


def _format_message(record: logging.LogRecord) -> str:
    """Return the message; one whose arguments do not match stays unformatted."""
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
