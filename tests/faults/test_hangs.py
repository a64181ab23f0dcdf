"""Engines that do not end: each is killed with its child processes, and its output is stored."""

import asyncio
import os
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from inline_supervisor import ModelEngine, Workbench, command, leading

from lamplighter.domain.sessions.session import Session, SessionPlan, Status
from lamplighter.repository import Database
from lamplighter.supervisor.run import runner
from lamplighter.supervisor.run.follow import STOP_POLL_SECONDS
from lamplighter.supervisor.run.limits import Limits, LimitWatch
from lamplighter.supervisor.run.runner import LINGERED, MARGIN_BYTES

DEADLINE_SECONDS = 2.0
ENDED_WITHIN_SECONDS = 6.0
LATE = "The session ran longer than 2 s."
MUTE = "The session printed nothing for 2 s."
HANGING = '{"type": "assistant", "message": {"content": [{"type": "text", "text": "[EVENT:info]'
DEADLINE = {"session_seconds": DEADLINE_SECONDS, "idle_seconds": 60}
IDLE = {"session_seconds": 60, "idle_seconds": DEADLINE_SECONDS}
TIMED_OUT, COMPLETED = Status.TIMED_OUT, Status.COMPLETED
MODES = {
    "silent": (TIMED_OUT, "", 0),
    "hangs": (TIMED_OUT, "", 1),
    "ignores_interrupts": (TIMED_OUT, "", 1),
    "ignores_signals": (TIMED_OUT, "", 1),
    "leaves_children": (COMPLETED, "", 1),
    "lingers": (COMPLETED, LINGERED, 1),
    "endless": (TIMED_OUT, "", 1),
    "daemons": (TIMED_OUT, "", 1),
}


def left_over(word: str) -> list[list[str]]:
    """Return the command lines with this word, except those of zombies."""
    found = []
    for each in psutil.process_iter(["cmdline", "status"]):
        line = each.info["cmdline"] or []
        if any(word in part for part in line) and each.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(line)
    return found


def is_left(name: str) -> bool:
    """Whether a name is that of a socket or of a session's own directory."""
    return name.endswith(".sock") or name.isdigit()


async def run(bench: Workbench, mode: str, mark: str) -> Session:
    """Run one session of an engine that does not end; it is killed in time."""
    engine = ModelEngine(command(mode, mark))
    here = replace(bench.supervisor.context, engines={mode: engine})
    plan = SessionPlan(engine=mode)
    async with asyncio.timeout(DEADLINE_SECONDS + ENDED_WITHIN_SECONDS):
        return await runner.run(here, plan, bench.supervisor.load())


# it waits for real deadlines: all eight at once
@pytest.mark.parametrize(("times", "why"), [(DEADLINE, LATE), (IDLE, MUTE)], ids=["late", "mute"])
async def test_an_engine_that_does_not_end_is_killed_and_its_output_stored(
    db: Database, tmp_path: Path, times: dict[str, float], why: str
) -> None:
    mark, limits = f"--mark={tmp_path}", Limits(grace=0.3)
    async with leading(db, tmp_path, limits=limits, **times) as bench:
        ended = await asyncio.gather(*(run(bench, mode, mark) for mode in MODES))

        kept = {each.id: bench.supervisor.context.files.path(each).read_text() for each in ended}
    expected = {
        mode: (status, reason or (why if status is TIMED_OUT else ""), events)
        for mode, (status, reason, events) in MODES.items()
    }
    assert {
        mode: (session.status, session.reason, session.events)
        for mode, session in zip(MODES, ended, strict=True)
    } == expected
    for mode, session in zip(MODES, ended, strict=True):
        said = mode != "silent"
        assert kept[session.id].startswith(HANGING) == said
        assert session.summary.startswith("Session with ")
    assert left_over(mark) == []
    assert not any(map(is_left, os.listdir(tmp_path)))
    assert not any(map(is_left, os.listdir(tmp_path / "sessions")))


async def test_an_endless_line_fails_the_session_before_the_disk_is_full(
    db: Database, tmp_path: Path
) -> None:
    limits = Limits(grace=0.3, endless=2**16)
    async with leading(db, tmp_path, limits=limits) as bench:
        session = await run(bench, "endless", f"--mark={tmp_path}")

    assert session.status is Status.FAILED
    assert session.reason == "The session printed a line longer than 0.0625 MB."
    assert session.events == 1
    assert left_over(f"--mark={tmp_path}") == []


@pytest.mark.parametrize(("mode", "ending"), [("floods", ".jsonl"), ("floods_errors", ".err")])
async def test_an_output_flood_is_ended_before_the_disk_is_full(
    db: Database, tmp_path: Path, mode: str, ending: str
) -> None:
    limits = Limits(most=2**20, rest=2**18)
    mark = f"--mark={tmp_path}"
    async with leading(db, tmp_path, mode, "", mark, limits=limits) as bench:
        async with asyncio.timeout(DEADLINE_SECONDS + ENDED_WITHIN_SECONDS):
            session = await bench.make()
        told = [str(row["text"]) for row in await bench.rows("events")]
        path = bench.supervisor.context.files.path(session).with_suffix(ending)
        size = path.stat().st_size

    assert (session.status, session.reason) == (
        Status.FAILED,
        "The session printed more than 1 MB.",
    )
    assert "looked" in told
    assert limits.most < size <= limits.most + MARGIN_BYTES
    assert left_over(mark) == []


def test_after_a_stop_only_a_bounded_rest_of_the_output_is_read() -> None:
    running = LimitWatch(Limits(rest=1_000), asyncio.Event())
    stopped = LimitWatch(Limits(rest=1_000), asyncio.Event(), status=Status.TIMED_OUT)

    assert not running.enough(5_000)
    assert [stopped.enough(at) for at in (5_000, 5_999, 6_000)] == [False, False, True]


def test_the_steps_of_a_stop_fit_in_six_seconds() -> None:
    usual = Limits()

    assert STOP_POLL_SECONDS * 3 + usual.grace * 2 <= ENDED_WITHIN_SECONDS - 1
