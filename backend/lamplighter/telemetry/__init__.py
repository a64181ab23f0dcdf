"""Telemetry of our processes: logs, metrics and traces.

A leaf: it knows nothing above the domain. Nothing heavy is loaded before it is needed,
and where no traces are wanted none is loaded at all.
"""

from lamplighter.telemetry.about import about as about
from lamplighter.telemetry.about import request_id as request_id
from lamplighter.telemetry.about import session_id as session_id
from lamplighter.telemetry.logs import configure as configure
from lamplighter.telemetry.traces import Span as Span
from lamplighter.telemetry.traces import record_span as record_span
from lamplighter.telemetry.traces import span as span
from lamplighter.telemetry.traces import traceparent as traceparent
from lamplighter.telemetry.traces import tracing as tracing
