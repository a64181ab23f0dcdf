"""Traces of the real processes, ingested by a collector that supports OTLP over HTTP."""

import json
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from collected import Collected
from collector import Collector, collecting

from lamplighter.domain.sessions.session import Session, SessionPlan, Status, Trigger
from lamplighter.domain.sessions.transcript import Usage, UsageReport
from lamplighter.supervisor.run.tracing import TurnSpans, trace_session
from living import ENGINE, Home, Server, free_port, lately, result, text

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = {"traceparent": f"00-{TRACE}-b7ad6b7169203331-01"}
SECRET = "what-monitors-show"


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as here:
        yield here


def home(path: Path, url: str) -> Home:
    more = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": url,
        "OTEL_BSP_SCHEDULE_DELAY": "50",
        "OTEL_SERVICE_NAME": "mine",
        "LAMPLIGHTER_WEBHOOK_TOKEN": SECRET,
        "LAMPLIGHTER_LOG_FORMAT": "json",
    }
    return Home(path / "home", more)


def test_140_context_request_with_traceparent_records_one_event_per_memory(
    tmp_path: Path, collector: Collector
) -> None:
    server = Server(home(tmp_path, collector.url))
    try:
        with httpx2.Client(base_url=server.url, headers=server.headers, timeout=20) as client:
            for number in range(3):
                given = {
                    "category": "decision",
                    "observation": f"The quiet words of number {number}",
                    "title": f"Zeppelin {number} {SECRET}",
                    "project": "shelf",
                }
                assert client.post("/api/v1/memories", json=given).status_code == 201
            asked = {"project": "shelf", "query": "zeppelin", "limit": 2}
            answer = client.get("/agentops/context", params=asked, headers=PARENT)
            assert answer.status_code == 200, answer.text
        [inject] = collector.named("memory.inject")
        [asking] = collector.named("GET /agentops/context")
        [search] = collector.named("retrieval memories")
    finally:
        server.kill()

    assert (asking["trace"], inject["trace"], search["trace"]) == (TRACE,) * 3
    assert (asking["parent"], inject["parent"]) == ("b7ad6b7169203331", asking["id"])
    assert search["parent"] == inject["id"]
    assert [sorted(event) for event in inject["events"]] == [
        ["category", "id", "method", "name", "rank", "title"]
    ] * 2
    assert [event["rank"] for event in inject["events"]] == [1, 2]
    assert {event["method"] for event in inject["events"]} == {"words"}
    assert all(event["title"].startswith("Zeppelin ") for event in inject["events"])
    assert search["attributes"]["gen_ai.operation.name"] == "retrieval"
    assert asking["attributes"]["http.response.status_code"] == 200
    assert "quiet words" not in str(collector.spans)
    assert SECRET not in str(collector.spans)
    told = collector.resources[0]
    assert (told["service.name"], told["lamplighter.process"]) == ("mine", "web")
    lines = [json.loads(line) for line in server.log.splitlines() if line.startswith("{")]
    assert all(line["trace_id"] == TRACE for line in lines if "trace_id" in line)


@pytest.mark.parametrize("way", ["header", "_meta"])
def test_mcp_tool_call_continues_the_trace_of_its_caller(
    tmp_path: Path, collector: Collector, way: str
) -> None:
    server = Server(home(tmp_path, collector.url))
    params: dict[str, object] = {"name": "mem_context", "arguments": {"query": "x"}}
    shown = {**server.headers, "Accept": "application/json, text/event-stream"}
    if way == "header":
        shown |= PARENT
    else:
        params["_meta"] = PARENT
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    try:
        answer = httpx2.post(f"{server.url}/mcp", json=body, headers=shown, timeout=20)
        assert answer.status_code == 200, answer.text
        [used] = collector.named("execute_tool mem_context")
        [inject] = collector.named("memory.inject")
    finally:
        server.kill()

    assert (used["trace"], inject["trace"]) == (TRACE, TRACE)
    assert used["attributes"]["gen_ai.tool.name"] == "mem_context"
    assert not used["error"]


def test_a_session_passes_its_span_to_its_engine_and_records_its_end(
    tmp_path: Path, collector: Collector
) -> None:
    lines = [text("[MEMORY:timing:jellyfin] Takes 60s to start"), result()]
    script = tmp_path / "engine.py"
    script.write_text(
        "import json, os, pathlib, sys\n"
        "sys.stdin.read()\n"
        f"pathlib.Path({str(tmp_path / 'heard')!r}).write_text(os.environ['TRACEPARENT'])\n"
        f"for line in json.loads({json.dumps(lines)!r}): print(json.dumps(line))\n"
    )

    ran = home(tmp_path, collector.url).run(command=shlex.join([sys.executable, str(script)]))

    [session] = collector.named("invoke_agent tier1")
    [chain] = collector.named("invoke_workflow chain")
    _, trace, span, _ = (tmp_path / "heard").read_text().split("-")
    assert (trace, span) == (session["trace"], session["id"])
    assert session["parent"] == chain["id"]
    about = session["attributes"]
    assert about["gen_ai.operation.name"] == "invoke_agent"
    assert (about["gen_ai.agent.name"], about["gen_ai.provider.name"]) == ("tier1", "exec")
    assert about["gen_ai.conversation.id"] == str(ran.id)
    assert about["lamplighter.session.status"] == "completed"
    assert not session["error"]
    [kept] = collector.named("memory.remember")
    assert kept["trace"] == session["trace"]
    assert {each["lamplighter.process"] for each in collector.resources} == {"supervisor"}
    assert "Takes 60s" not in str(collector.spans)


def test_requested_session_continues_the_trace_of_its_request(
    tmp_path: Path, collector: Collector
) -> None:
    """Requested by a person or an alert; a session without a request begins a separate trace."""
    here = home(tmp_path, collector.url)
    script = here.path / "script.jsonl"
    script.write_text(json.dumps(result()) + "\n")
    here.more["LAMPLIGHTER_ENGINE"] = "exec"
    here.more["LAMPLIGHTER_EXEC_COMMAND"] = shlex.join([sys.executable, str(ENGINE), str(script)])
    server = Server(here)
    supervisor = subprocess.Popen(
        [sys.executable, "-m", "lamplighter", "supervisor"],
        env=here.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    asking = f"{server.url}/api/v1"
    try:
        [scheduled] = collector.named("invoke_agent tier1")
        asked = httpx2.post(
            f"{asking}/sessions", json={"tier": 2}, headers=server.headers | PARENT, timeout=20
        )
        told = httpx2.post(
            f"{asking}/webhooks/script",
            json={"title": "Disk 3 is failing"},
            headers={"X-Lamplighter-Token": SECRET} | PARENT,
            timeout=20,
        )
        assert (asked.status_code, told.status_code) == (202, 202), told.text
        [session] = collector.named("invoke_agent tier2")
        done = f"{asking}/requests"
        chains = collector.named("invoke_workflow chain", count=3)
        filed = {each["id"]: each["name"] for each in collector.spans if each["trace"] == TRACE}
        kept = httpx2.get(done, headers=server.headers, timeout=20).json()["items"]
    finally:
        supervisor.send_signal(signal.SIGTERM)
        supervisor.wait(20)
        server.kill()

    assert scheduled["trace"] != TRACE
    assert session["trace"] == TRACE
    wanted = [each for each in chains if each["trace"] == TRACE]
    parents = sorted(filed[each["parent"]] for each in wanted)
    assert parents == ["POST /api/v1/sessions", "POST /api/v1/webhooks/{source}"]
    assert session["parent"] in {each["id"] for each in wanted}
    assert "traceparent" not in kept[0]


def test_missing_collector_fails_no_request_and_does_not_delay_shutdown(tmp_path: Path) -> None:
    server = Server(home(tmp_path, f"http://127.0.0.1:{free_port()}"))
    try:
        with httpx2.Client(base_url=server.url, headers=server.headers, timeout=20) as client:
            answers = [client.get("/api/v1/memories").status_code for _ in range(50)]
        assert server._process is not None
        server._process.send_signal(signal.SIGTERM)
        server._process.wait(20)
    finally:
        server.kill()

    assert answers == [200] * 50


def session(**more: object) -> Session:
    given = {
        "id": 7,
        "tier": 2,
        "engine": "messages",
        "model": "claude-sonnet-4-5",
        "trigger": Trigger.SCHEDULED,
        "status": Status.RUNNING,
        "started_at": lately(),
    }
    return Session(**{**given, **more})  # type: ignore[arg-type]


async def test_each_turn_of_a_model_records_its_usage(collected: Collected) -> None:
    ended = session(
        status=Status.FAILED, input_tokens=30, output_tokens=9, cache_read_tokens=400, turns=2
    )

    async def work() -> Session:
        turns = TurnSpans(session())
        turns.take(UsageReport(1, Usage(uncached=10, output=4)))
        turns.take(UsageReport(1, Usage(uncached=10, output=4)))
        turns.take(UsageReport(2, Usage(uncached=30, output=9, cache_read=400)))
        return ended

    with collected:
        assert await trace_session(SessionPlan(tier=2, engine="messages"), work()) is ended

    first, second = [each for each in collected.exporter.spans if each.name.startswith("chat ")]
    agent = collected.named("invoke_agent tier2")
    name = "gen_ai.usage"
    used = [
        [
            (each.attributes or {})[f"{name}.{what}"]
            for what in ("input_tokens", "output_tokens", "cache_read.input_tokens")
        ]
        for each in (first, second, agent)
    ]
    assert used == [[10, 4, 0], [420, 5, 400], [430, 9, 400]]
    about = dict(second.attributes or {})
    assert about["gen_ai.operation.name"] == "chat"
    assert about["gen_ai.provider.name"] == "anthropic"
    assert about["gen_ai.request.model"] == "claude-sonnet-4-5"
    assert second.parent is not None
    assert second.parent.span_id == agent.context.span_id
    assert (agent.attributes or {})["error.type"] == "failed"
