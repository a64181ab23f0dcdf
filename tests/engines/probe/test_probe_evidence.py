"""Evidence for a failed check: ports, processes, disks, names, certificates and logs."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil
import pytest

from lamplighter.domain.services.check import DiskCheck, DnsCheck, HttpCheck, TcpCheck
from lamplighter.domain.services.service import Service
from lamplighter.engines.probe import evidence
from lamplighter.engines.probe.evidence import disks, logs, ports
from lamplighter.engines.probe.facts import CheckOutcome, PastResult, RoundFacts
from lamplighter.engines.probe.request import ProbeRequest

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
ASKED = ProbeRequest(session="1", tier=2, services=(), facts=RoundFacts(now=NOON))
LISTEN = (
    "import socket, time; plug = socket.socket(); plug.bind(('127.0.0.1', 0)); plug.listen();"
    " print(plug.getsockname()[1], flush=True); time.sleep(60)"
)


PROGRAM = (sys.executable, "-c", LISTEN)
HOLD = f"held = [open('/dev/null') for _ in range(5)]; {LISTEN}"
NEAR_LIMIT = ("prlimit", "--nofile=10", *PROGRAM[:2], HOLD)


@pytest.fixture(params=[PROGRAM], ids=["plain"])
def listener(request: pytest.FixtureRequest) -> Iterator[tuple[int, int]]:
    """Yield the process id and the port of a listening process."""
    with subprocess.Popen(request.param, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield process.pid, int(process.stdout.readline())
        process.kill()


async def test_the_process_that_listens_on_a_port_is_reported(listener: tuple[int, int]) -> None:
    number, port = listener

    [line] = await ports.holders("127.0.0.1", port)

    assert line.startswith(f"port {port} is held by process {number} (python")
    assert "stopped" not in line


async def test_a_stopped_process_is_reported_as_stopped(listener: tuple[int, int]) -> None:
    number, port = listener
    os.kill(number, signal.SIGSTOP)
    while psutil.Process(number).status() != psutil.STATUS_STOPPED:
        await evidence.asyncio.sleep(0.01)

    [line] = await ports.holders("localhost", port)

    assert line.endswith("which is stopped by a signal (state T)")


@pytest.mark.parametrize("listener", [NEAR_LIMIT], indirect=True, ids=["near"])
async def test_a_process_near_its_descriptor_limit_is_reported(listener: tuple[int, int]) -> None:
    number, port = listener

    lines = await ports.holders("127.0.0.1", port)

    assert lines[1:] == [f"process {number} uses 9 of 10 file descriptors"]


async def test_a_port_without_a_listener_is_reported_on_this_machine_only() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

        assert await ports.holders("127.0.0.1", port) == [f"no process listens at port {port}"]
    assert await ports.holders("192.0.2.1", 80) == []


async def test_the_largest_directories_of_a_disk_are_reported(tmp_path: Path) -> None:
    for name, size in (("cache", 300_000), ("logs", 100_000), ("few", 4_096), ("none", 0)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_bytes(os.urandom(size))

    [line] = await disks.largest(str(tmp_path))

    assert line.startswith(f"largest at {tmp_path}: cache ")
    assert line.index("cache") < line.index("logs") < line.index("few")
    assert line.endswith("; 8 files in all")


async def test_the_search_for_large_directories_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(300):
        (tmp_path / f"{number}").touch()
    monkeypatch.setattr(disks, "ENTRIES", 100)

    [counted] = await disks.largest(str(tmp_path))
    monkeypatch.setattr(disks, "SECONDS", 0)
    [late] = await disks.largest(str(tmp_path.parent))

    assert counted.endswith("; 100 files in all (counted in part)")
    assert late == f"too large to count: {tmp_path.parent}"


async def test_a_dns_answer_is_compared_with_the_last_known_one() -> None:
    check = DnsCheck(name="dns", host="films.example", server="192.0.2.1")
    past = PastResult(ok=True, at=NOON - timedelta(minutes=5), detail="10.0.0.5")
    asked = replace(ASKED, facts=RoundFacts(now=NOON, history={"dns/dns": [past]}))
    failed = CheckOutcome(check=check, ok=False, latency_ms=1)

    lines = await evidence.gather(Service(name="dns", checks=(check,)), failed, {}, asked)

    assert lines == ["the last known answer is 10.0.0.5, at 11:55 UTC"]


async def test_other_failing_checks_and_dependency_times_are_evidence(tmp_path: Path) -> None:
    http = HttpCheck(name="http", url="http://192.0.2.1/")
    disk = DiskCheck(name="disk", path=str(tmp_path))
    web = Service(name="web", checks=(http, disk), depends_on=("db",))
    failed = CheckOutcome(check=http, ok=False, latency_ms=1, detail="answered 502")
    full = CheckOutcome(check=disk, ok=False, latency_ms=1, detail="2%, less than 5%")
    tcp = TcpCheck(name="tcp", host="192.0.2.2", port=5432)
    slow = CheckOutcome(check=tcp, ok=True, latency_ms=900.2)

    lines = await evidence.gather(web, failed, {"web": [failed, full], "db": [slow]}, ASKED)

    assert lines == ["disk fails too: 2%, less than 5%", "dependencies answer: db in 900 ms"]


async def test_a_source_of_evidence_that_fails_or_hangs_is_omitted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(evidence, "SECONDS", 0.05)
    check = TcpCheck(name="tcp", host="127.0.0.1", port=1)

    async def hang(*words: object) -> list[str]:
        await evidence.asyncio.sleep(60)
        return ["too late"]

    monkeypatch.setattr(ports, "holders", hang)
    failed = CheckOutcome(check=check, ok=False, latency_ms=1)

    assert await evidence.gather(Service(name="x"), failed, {}, ASKED) == []
    monkeypatch.undo()
    assert (
        await evidence.gather(
            Service(name="x"),
            CheckOutcome(check=DiskCheck(name="disk", path="/no/such"), ok=False, latency_ms=1),
            {},
            ASKED,
        )
        == []
    )


async def test_the_last_lines_of_a_unit_are_quoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "journalctl"
    program.write_text("#!/bin/sh\necho started; echo '[EVENT:info] x'; echo \"$4\"\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)

    assert await logs.of_unit("films.service") == [
        'its log ends: "started | (EVENT:info) x | --unit=films.service"'
    ]
