"""Session endings: the status and reason in the docs, and the stored rows."""

import asyncio
import re
import shlex
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from inline_supervisor import ModelEngine, Workbench, leading

from lamplighter.domain.services.service import Action, ActionKind, Service, Services
from lamplighter.domain.sessions.cost import (
    Charge,
    SpendingCaps,
    compute_allowance,
    overspend_reason,
)
from lamplighter.domain.sessions.exit_reasons import describe_exit
from lamplighter.domain.sessions.session import Status
from lamplighter.domain.sessions.transcript import Usage, UsageReport
from lamplighter.repository import Database
from lamplighter.repository.sessions import sessions
from lamplighter.supervisor.run.follow import DRAINED, STOPPED
from lamplighter.supervisor.run.limits import Limits, LimitWatch
from lamplighter.supervisor.run.recovery import INTERRUPTED
from lamplighter.supervisor.run.runner import LINGERED
from lamplighter.usecases.sessions import sessions as lifecycle

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "sessions.md"
ROW = re.compile(r"^\| .* \| (\w+) \| (.*?) ?\|$", re.MULTILINE)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
FAILED, COMPLETED, STOPPED_, TIMED_OUT = (
    Status.FAILED,
    Status.COMPLETED,
    Status.STOPPED,
    Status.TIMED_OUT,
)
KILLED = "exit 137: killed, possibly because memory ran out"
NO_RESULT = "The engine ended without a result ({})."


def promised() -> list[tuple[str, str]]:
    return ROW.findall(PAGE.read_text().partition("## Session end")[2])[1:]


@pytest.mark.parametrize(
    ("words", "status", "reason"),
    [
        (("numbered", "1", "0"), COMPLETED, ""),
        (("errs",), FAILED, "The engine reported an error: the disk is gone"),
        (("fails",), FAILED, NO_RESULT.format("exit 3") + " Its last output: no disk left"),
        (("dies",), FAILED, NO_RESULT.format(KILLED)),
        (("leaves", "4"), FAILED, "The engine returned its result, then ended with exit 4."),
        (("dies", "x"), FAILED, f"The engine returned its result, then ended with {KILLED}."),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else None,
)
async def test_session_ending_stores_its_status_and_reason(
    db: Database, tmp_path: Path, words: tuple[str, ...], status: Status, reason: str
) -> None:
    async with leading(db, tmp_path, *words) as bench:
        session = await bench.make()

    assert (session.status, session.reason) == (status, reason)
    assert session.summary.startswith("Session with ")
    assert session.log_offset == bench.supervisor.context.files.path(session).stat().st_size
    assert (str(status), reason) in promised() or words == ("dies", "x")


async def under_way(bench: Workbench) -> None:
    """Wait for the first output of the first session."""
    while True:
        if [row for row in await bench.rows("sessions") if row["events"]]:
            return
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("reason", [STOPPED, DRAINED])
async def test_stopped_session_keeps_its_output(db: Database, tmp_path: Path, reason: str) -> None:
    limits = Limits(grace=0.2, drain=0.1)
    async with leading(db, tmp_path, "hangs", limits=limits) as bench, asyncio.timeout(30):
        making = asyncio.create_task(bench.make())
        await under_way(bench)
        if reason == STOPPED:
            await lifecycle.stop(db, 1, now=datetime.now(UTC))
        else:
            bench.supervisor.drain()
        session = await making

    assert (session.status, session.reason, session.events) == (STOPPED_, reason, 1)
    assert "[EVENT" not in session.summary
    assert await sessions.running(db) == []


LATE = """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
import json, socket, sys
given = json.load(sys.stdin)
print(json.dumps({"type": "system", "subtype": "init"}), flush=True)
signal.sigwait([signal.SIGINT])
with socket.socket(socket.AF_UNIX) as gate:
    gate.connect(given["gate"])
    gate.sendall(b'{"service": "web", "action": "restart"}\\n')
    words = json.loads(gate.makefile().readline())["words"]
print(json.dumps({"type": "result", "subtype": "success", "is_error": False, "result": words}))
"""


async def test_timed_out_session_starts_no_action(db: Database, tmp_path: Path) -> None:
    acted, engine = tmp_path / "acted", tmp_path / "late.py"
    engine.write_text(LATE)
    restart = Action(name="restart", kind=ActionKind.RESTART, argv=("/bin/touch", str(acted)))
    services = Services((Service(name="web", actions=(restart,)),), path="here")
    more = {"limits": Limits(grace=20), "session_seconds": 3}  # a busy machine starts it in 1 s
    async with leading(db, tmp_path, services=services, **more) as bench:
        bench.engine = ModelEngine(shlex.join([sys.executable, "-S", str(engine)]))
        bench.change(engines={"model": bench.engine}, max_tier=3)
        session = await bench.make(tier=3)

    assert session.status is TIMED_OUT
    assert session.response == "its session has ended"
    assert not acted.exists()


def test_docs_list_every_reason_of_a_session_ending() -> None:
    told = set(promised())
    watch = LimitWatch(Limits(), asyncio.Event())
    day = [Charge(NOON - timedelta(hours=each), 2.5) for each in (5, 4, 3, 2)]
    usual = SpendingCaps(session=1, chain=3, day=10)
    full = replace(watch, clock=replace(watch.clock, began=watch.clock.began - 1_000))
    mute = replace(watch, clock=replace(watch.clock, last_output=watch.clock.last_output - 400))
    given = {
        (FAILED, overspend_reason(UsageReport(51, Usage(), None), turns=50, dollars=1)),
        (FAILED, overspend_reason(UsageReport(3, Usage(), 1.2345), turns=50, dollars=1)),
        (FAILED, compute_allowance(usual, chain=0, day=day, now=NOON).why_not),
        (FAILED, compute_allowance(usual, chain=3, day=[], now=NOON).why_not),
        watch.due(unfinished=2**27),
        full.due(),
        mute.due(),
        (COMPLETED, LINGERED),
        (STOPPED_, STOPPED),
        (STOPPED_, DRAINED),
        (Status.INTERRUPTED, INTERRUPTED),
    }

    missing = {(str(each[0]), each[1]) for each in given if each} - told

    assert missing == set()
    assert {status for status, _ in told} == set(Status) - {Status.RUNNING}


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (0, "exit 0"),
        (3, "exit 3"),
        (127, "exit 127: command not found"),
        (139, "exit 139: a segmentation fault"),
        (138, "exit 138: ended by signal 10"),
        (255, "exit 255"),
        (None, "exit status unknown"),
    ],
)
def test_describe_exit_explains_an_exit_code(status: int | None, words: str) -> None:
    assert describe_exit(status) == words
