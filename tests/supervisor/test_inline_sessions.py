"""A session of a known fix is a task of the supervisor; its checks run in the check process."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from gates import opened

from lamplighter.config.settings import read_settings
from lamplighter.domain.errors import Conflict
from lamplighter.domain.services.check import HttpCheck, TcpCheck
from lamplighter.domain.services.service import Service
from lamplighter.engines import Command
from lamplighter.engines.probe.facts import CheckOutcome
from lamplighter.engines.probe.request import pack
from lamplighter.repository import Database
from lamplighter.serve.supervisor import build_supervisor
from lamplighter.supervisor.actions.checking import check_at_once
from lamplighter.supervisor.checks.process import CheckProcesses
from lamplighter.supervisor.run import inline
from living import give_database

WEB = Service(name="web", checks=(TcpCheck(name="tcp", host="127.0.0.1", port=1, retries=1),))


def request() -> Command:
    values = {"session": 7, "now": "2026-01-01T12:00:00Z", "services": [pack(WEB)]}
    return Command(argv=(), stdin=json.dumps(values).encode())


def last_line(path: Path) -> Any:
    return json.loads(path.read_text().splitlines()[-1])


async def test_inline_session_writes_a_result_line(tmp_path: Path) -> None:
    async def passes(check: TcpCheck, **how: object) -> CheckOutcome:
        return CheckOutcome(check=check, ok=True, latency_ms=1.0)

    run = inline.start(request(), tmp_path / "out", passes)
    assert (await run.wait(), run.ended, run.mark) == (0, True, "")
    last = last_line(tmp_path / "out")
    assert (last["subtype"], last["session_id"], last["num_turns"]) == ("success", "7", 1)


async def test_terminated_or_failed_inline_session_writes_an_error_result(tmp_path: Path) -> None:
    async def hangs(check: TcpCheck, **how: object) -> CheckOutcome:
        await asyncio.sleep(60)
        raise AssertionError

    async def breaks(check: TcpCheck, **how: object) -> CheckOutcome:
        raise RuntimeError("no process")

    run = inline.start(request(), tmp_path / "ended", hangs)
    await asyncio.sleep(0.05)
    run.terminate()
    assert (await run.wait(), last_line(tmp_path / "ended")["is_error"]) == (1, True)

    assert await inline.start(request(), tmp_path / "failed", breaks).wait() == 1
    assert "RuntimeError: no process" in last_line(tmp_path / "failed")["result"]


async def test_inline_session_reports_a_full_disk(tmp_path: Path) -> None:
    async def passes(check: TcpCheck, **how: object) -> CheckOutcome:
        return CheckOutcome(check=check, ok=True, latency_ms=1.0)

    (tmp_path / "full").symlink_to("/dev/full")
    run = inline.start(request(), tmp_path / "full", passes)
    assert (await run.wait(), run.disk_full) == (1, True)

    run = inline.start(request(), tmp_path / "out", passes)
    assert (await run.wait(), run.disk_full) == (0, False)


async def test_repeated_check_detects_flapping() -> None:
    statuses = [b"HTTP/1.0 200 OK\r\n\r\n", b"HTTP/1.0 503 Busy\r\n\r\n"]

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(statuses[0])
        statuses.reverse()
        writer.close()

    server, processes = await asyncio.start_server(answer, "127.0.0.1", 0), CheckProcesses()
    check = HttpCheck(name="http", url=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
    async with server:
        once = await processes.run_now(check)
        assert (once.ok, once.flapped, once.statuses) == (True, False, (200,))
        statuses.sort()
        again = await processes.run_now(check, look_again=True)
    assert (again.ok, again.flapped, again.failed, again.attempts) == (True, True, 1, 3)
    assert again.statuses == (200, 200)
    await processes.aclose()


async def test_check_at_once_runs_in_a_replaceable_check_process(db: Database) -> None:
    by, processes = await opened(db), CheckProcesses()
    [found] = await check_at_once(processes, by, WEB)
    assert (found.ok, found.answered, found.attempts) == (False, False, 2)
    assert found.detail == "connection refused at 127.0.0.1:1"

    once = await processes.run_now(WEB.checks[0], retry=False)
    assert (once.ok, once.attempts, once.check) == (False, 1, WEB.checks[0])
    assert processes._current is not None
    processes._current.kill()
    [found] = await check_at_once(processes, by, WEB)
    assert not found.ok, "another process runs it"
    await processes.aclose()


async def test_the_check_process_ends_with_its_supervisor(tmp_path: Path) -> None:
    give_database(tmp_path)
    settings = read_settings({"LAMPLIGHTER_HOME": str(tmp_path)})

    async with build_supervisor(settings) as here:
        processes = here.supervisor.context.checks
        assert processes is not None
        await processes.run_now(WEB.checks[0], retry=False)
        assert processes._current is not None
        process = processes._current.process

    assert process.returncode is not None


async def test_check_at_once_raises_if_checks_cannot_run(db: Database) -> None:
    class Broken(CheckProcesses):
        async def run_now(self, check: object, **how: object) -> CheckOutcome:
            raise OSError("no memory")

    words = "The checks of web failed to run: no memory."
    by = await opened(db)
    with pytest.raises(Conflict, match=words):
        await check_at_once(Broken(), by, WEB)
