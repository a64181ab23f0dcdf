"""Traces: spans with permitted attributes, sent to a collector, and nothing without one."""

import subprocess
import sys

import pytest
from collected import Collected, masked
from opentelemetry.trace import StatusCode

from lamplighter import telemetry

PARENT = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
COLLECTOR = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}


def test_span_continues_the_trace_of_the_caller(collected: Collected) -> None:
    with collected, telemetry.span("outer", parent=PARENT), telemetry.span("inner"):
        carried = telemetry.traceparent()

    outer, inner = collected.named("outer"), collected.named("inner")
    assert outer.parent is not None
    assert f"{outer.parent.span_id:016x}" == "b7ad6b7169203331"
    assert f"{inner.context.trace_id:032x}" == "0af7651916cd43dd8448eb211c80319c"
    assert inner.parent is not None
    assert inner.parent.span_id == outer.context.span_id
    assert carried["traceparent"].split("-")[2] == f"{inner.context.span_id:016x}"


@pytest.mark.parametrize("given", ["", "00-zz-zz-01", "00-" + "0" * 32 + "-" + "0" * 16 + "-01"])
def test_invalid_traceparent_begins_a_new_trace(collected: Collected, given: str) -> None:
    with collected, telemetry.span("alone", parent={"traceparent": given}):
        pass

    assert collected.named("alone").parent is None


def test_span_attributes_are_masked_and_none_values_omitted(collected: Collected) -> None:
    with collected, telemetry.span("it", {"a": "hunter2", "none": None, "number": 3}) as span:
        span.note({"b": "x" * 900, "c": "hunter2"})
        span.event("memory", {"title": "the hunter2 of it"})

    told = collected.named("it")
    assert told.attributes is not None
    assert dict(told.attributes) == {"a": "***", "number": 3, "b": "x" * 500, "c": "***"}
    [event] = told.events
    assert dict(event.attributes or {}) == {"title": "the *** of it"}


def test_span_records_the_error_type_without_its_message(collected: Collected) -> None:
    with pytest.raises(ValueError, match="hunter2"), collected, telemetry.span("it"):
        raise ValueError("hunter2 and more")

    told = collected.named("it")
    assert (told.status.status_code, told.status.description) == (StatusCode.ERROR, None)
    assert dict(told.attributes or {}) == {"error.type": "ValueError"}
    assert told.events == ()


def test_recorded_span_keeps_its_start_and_end_time(collected: Collected) -> None:
    with collected, telemetry.span("session"):
        telemetry.record_span("chat", {"gen_ai.operation.name": "chat"}, started=1_000, ended=5_000)

    chat = collected.named("chat")
    assert (chat.start_time, chat.end_time) == (1_000, 5_000)
    assert chat.parent is not None


def test_the_resource_names_the_process(collected: Collected) -> None:
    with collected, telemetry.span("it"):
        pass

    told = collected.named("it").resource.attributes
    assert told["service.name"] == "lamplighter"
    assert (told["service.version"], told["lamplighter.process"]) == ("1", "web")


def test_span_does_nothing_without_a_collector() -> None:
    with telemetry.tracing("web", "1", redact=masked, environ={}) as told:
        with telemetry.span("it", {"a": 1}) as span:
            span.note({"b": 2})
            span.event("c", {})
            span.named("d")
            span.failed("e")
        telemetry.record_span("f", {}, started=1, ended=2)

        assert (told, span, telemetry.traceparent()) == (False, telemetry.NO_SPAN, {})
        assert telemetry.trace_ids() == (None, None)


@pytest.mark.parametrize(
    ("environ", "wanted"),
    [
        ({}, False),
        (COLLECTOR, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:9/v1/traces"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "  "}, False),
        ({**COLLECTOR, "OTEL_SDK_DISABLED": "TRUE"}, False),
        ({**COLLECTOR, "OTEL_TRACES_EXPORTER": "none"}, False),
        ({**COLLECTOR, "OTEL_TRACES_EXPORTER": "otlp"}, True),
        ({**COLLECTOR, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, False),
        ({"OTEL_SERVICE_NAME": "mine"}, False),
    ],
)
def test_otel_variables_decide_whether_traces_are_sent(
    environ: dict[str, str], wanted: bool
) -> None:
    assert telemetry.tracing_requested(environ) is wanted


def test_opentelemetry_is_not_imported_without_a_collector() -> None:
    script = (
        "import sys\n"
        "from lamplighter import telemetry\n"
        "with telemetry.tracing('web', '1', redact=str, environ={}), telemetry.span('a'):\n"
        "    pass\n"
        "sys.exit(any(name.startswith(('opentelemetry', 'requests', 'google')) "
        "for name in sys.modules))\n"
    )

    assert subprocess.run([sys.executable, "-c", script], timeout=30, check=False).returncode == 0


def test_missing_otel_extra_is_reported_and_the_process_continues(
    caplog: pytest.LogCaptureFixture,
) -> None:
    hidden = "\n".join(
        (
            "import sys",
            "sys.modules['opentelemetry'] = None",
            "sys.modules['opentelemetry.sdk'] = None",
            "from lamplighter import telemetry",
            "telemetry.configure('info')",
            f"environ = {COLLECTOR!r}",
            "with telemetry.tracing('web', '1', redact=str, environ=environ) as told:",
            "    with telemetry.span('a'): pass",
            "sys.exit(told)",
        )
    )

    done = subprocess.run(
        [sys.executable, "-c", hidden], timeout=30, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (0, "")
    assert "the extra lamplighter[otel] is not installed" in done.stderr
