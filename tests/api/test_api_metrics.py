"""Metrics for Prometheus, and the id of each request."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
import pytest
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families
from route_requests import Asking

from check_results import store_results
from lamplighter import __version__
from lamplighter.domain.services.series import CheckRun, PointState
from living import Home, Server, lately


def figures(client: httpx2.Client) -> dict[str, Metric]:
    answer = client.get("/metrics")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/plain; version=")
    return {each.name: each for each in text_string_to_metric_families(answer.text)}


def value(found: dict[str, Metric], name: str, **labels: str) -> float | None:
    for family in found.values():
        for sample in family.samples:
            if sample.name == name and sample.labels == labels:
                return sample.value
    return None


@pytest.fixture
def json_server(tmp_path: Path) -> Iterator[Server]:
    started = Server(Home(tmp_path / "home", {"LAMPLIGHTER_LOG_FORMAT": "json"}))
    yield started
    started.kill()


def test_requests_are_counted_by_route_and_never_by_input(
    own_server: Server, own_client: httpx2.Client
) -> None:
    number = Asking(own_server.home, own_client).memory()
    for path in (f"/api/v1/memories/{number}", "/api/v1/memories/999", "/nowhere/at/all?a=b"):
        own_client.get(path)
    httpx2.get(f"{own_server.url}/api/v1/memories/5", timeout=9)  # by nobody
    own_client.request("PROPFIND", "/api/v1/memories/5")

    found = figures(own_client)

    route = "/api/v1/memories/{id}"
    name = "lamplighter_http_requests_total"
    assert value(found, name, method="GET", route=route, status="200") == 1
    assert value(found, name, method="GET", route=route, status="404") == 1
    assert value(found, name, method="GET", route=route, status="401") == 1
    assert value(found, name, method="unknown", route=route, status="405") == 1
    assert value(found, name, method="POST", route="/api/v1/memories", status="201") == 1
    took = "lamplighter_http_request_duration_seconds_count"
    assert value(found, took, method="GET", route=route) == 3
    routes = {
        sample.labels["route"]
        for sample in found["lamplighter_http_requests"].samples
        if "route" in sample.labels
    }
    assert "nowhere" not in str(routes)


def test_checks_have_latencies_and_certificates(
    own_server: Server, own_client: httpx2.Client
) -> None:
    home = own_server.home
    home.services.write_text("services:\n  web:\n    checks:\n      - tcp: 127.0.0.1:9\n")
    now = datetime.now(UTC)
    for at, latency, until in ((0, 4, 40), (1, 40, 40), (2, 20_000, 41)):
        run = CheckRun(
            service="web",
            check="tls",
            kind="tls",
            at=now - timedelta(minutes=9 - at),
            state=PointState.FAILED if at == 1 else PointState.PASSED,
            latency_ms=latency,
            detail=f"certificate valid until {now + timedelta(days=until):%Y-%m-%d}",
        )
        said = replace(run, check="script", kind="command", latency_ms=None)
        said = replace(said, detail=f"certificate valid until 2026-02-{30 + at}")
        store_results(home.path, [run, replace(run, service="undeclared"), said])

    found = figures(own_client)

    family = found["lamplighter_check_latency_seconds"]
    assert family.type == "histogram"
    assert {each.labels["service"] for each in family.samples} == {"web"}
    counts = {
        each.labels["le"]: each.value for each in family.samples if each.name.endswith("_bucket")
    }
    assert [counts[bound] for bound in ("0.005", "0.025", "0.05", "10.0", "+Inf")] == [
        1,
        1,
        2,
        2,
        3,
    ]
    name, labels = "lamplighter_check_latency_seconds", {"service": "web", "check": "tls"}
    assert value(found, f"{name}_count", **labels) == 3
    assert value(found, f"{name}_sum", **labels) == 20.044
    left = value(found, "lamplighter_certificate_expiry_seconds", **labels)
    assert left is not None
    assert 40 <= left / 86_400 <= 41
    own = {"service": "web", "check": "script"}
    assert value(found, "lamplighter_certificate_expiry_seconds", **own) is None
    assert value(found, "lamplighter_service_up", service="web") == 1


def test_rows_are_counted_by_state(own_server: Server, own_client: httpx2.Client) -> None:
    asking = Asking(own_server.home, own_client)
    asking.memory()
    asking.memory(observation="Needs the disk", category="dependency")
    own_server.home.write(
        "UPDATE memories SET active = 0, inactive_reason = 'deleted' WHERE category = 'dependency'"
    )
    asking.request()
    asking.review()

    found = figures(own_client)

    memories = "lamplighter_memories"
    assert value(found, memories, category="timing", state="active") == 3
    assert value(found, memories, category="dependency", state="deleted") == 1
    assert value(found, "lamplighter_reviews_open") == 1
    assert value(found, "lamplighter_verification_memories", state="verified") == 0
    assert value(found, "lamplighter_verification_memories", state="unverified") >= 1
    assert value(found, "lamplighter_requests_waiting") == 1
    assert value(found, "lamplighter_approvals_waiting") == 0
    assert value(found, "lamplighter_incidents", state="open", severity="critical") == 0
    assert value(found, "lamplighter_outbox_notices") == 0
    assert value(found, "lamplighter_database_up") == 1
    assert value(found, "lamplighter_supervisor_leading") == 0
    assert value(found, "lamplighter_halted") == 0
    assert (value(found, "lamplighter_database_size_bytes") or 0) > 4096
    assert (value(found, "lamplighter_feed_position") or 0) > 0
    assert value(found, "lamplighter_feed_clients") == 0
    assert "process_resident_memory_bytes" in found
    assert value(found, "lamplighter_build_info", version=__version__) == 1


def test_supervisor_figures_come_from_its_rows(
    own_server: Server, own_client: httpx2.Client
) -> None:
    own_server.home.says("Nothing to report", tier=2)
    own_server.home.write("UPDATE leases SET heartbeat_at = ?, pid = 9", lately())

    found = figures(own_client)

    assert value(found, "lamplighter_sessions", tier="2", status="completed") == 1
    age = value(found, "lamplighter_supervisor_heartbeat_age_seconds")
    assert age is not None
    assert 3_500 < age < 3_900
    assert value(found, "lamplighter_supervisor_leading") == 0
    assert (value(found, "lamplighter_prompt_contexts") or 0) >= 1


def test_row_counts_are_cached_between_scrapes(
    own_server: Server, own_client: httpx2.Client
) -> None:
    figures(own_client)
    Asking(own_server.home, own_client).memory()

    found = figures(own_client)

    assert value(found, "lamplighter_memories", category="timing", state="active") is None


def test_metrics_require_a_token_with_health_read(
    own_server: Server, own_client: httpx2.Client
) -> None:
    made = own_client.post("/api/v1/tokens", json={"scopes": ["health:read"]}).json()
    other = own_client.post("/api/v1/tokens", json={"scopes": ["events:read"]}).json()

    def asked(token: str) -> int:
        shown = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx2.get(f"{own_server.url}/metrics", headers=shown, timeout=9).status_code

    assert [asked(made["token"]), asked(other["token"]), asked("")] == [200, 403, 401]


@pytest.mark.parametrize(
    ("given", "kept"),
    [("abc-123.x:y_z", True), ("", False), ("a b", False), ("x" * 129, False), ("a\tb", False)],
)
def test_a_valid_request_id_is_used_and_an_invalid_one_replaced(
    client: httpx2.Client, given: str, kept: bool
) -> None:
    answers = [
        client.get(path, headers={"X-Request-ID": given})
        for path in ("/healthz", "/api/v1/memories/0", "/api/v1/supervisor")
    ]

    told = [answer.headers["x-request-id"] for answer in answers]

    assert all((each == given) is kept for each in told)
    assert kept or all(re.fullmatch(r"[0-9a-f]{32}", each) for each in told)
    assert kept or len(set(told)) == 3


def test_json_logs_include_the_request_id(json_server: Server) -> None:
    json_server.home.write("ALTER TABLE leases RENAME TO away")

    answer = httpx2.get(
        f"{json_server.url}/api/v1/supervisor",
        headers={**json_server.headers, "X-Request-ID": "look-here"},
        timeout=9,
    )

    assert answer.status_code >= 500
    logged = [line for line in json_server.log.splitlines() if not line.startswith("Log in: ")]
    lines = [json.loads(line) for line in logged]
    [said] = [each for each in lines if each.get("request_id") == "look-here"]
    assert said["logger"].startswith("lamplighter.")
    assert said["level"] in ("warning", "error")
    assert {"time", "message", "process"} <= said.keys()
