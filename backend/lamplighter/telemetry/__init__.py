"""Telemetry of our processes: logs, metrics and traces.

A leaf: it knows nothing above the domain. Nothing heavy is loaded before it is needed,
and where no traces are wanted none is loaded at all.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lamplighter.telemetry.logs import about as about
from lamplighter.telemetry.logs import configure as configure
from lamplighter.telemetry.logs import request_id as request_id
from lamplighter.telemetry.logs import session_id as session_id

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
