"""Engines behind their wardens: all processes that they start end with them."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import psutil
import pytest

from lamplighter.engines import Command
from lamplighter.engines.process import MARK, EngineProcess, start, sweep
from lamplighter.engines.tail import Tail

WAIT_SECONDS = 30
Start = Callable[..., "asyncio.Future[EngineProcess]"]
Program = subprocess.Popen[bytes]


def python(program: str, **more: object) -> Command:
    return Command(argv=(sys.executable, "-c", program), env=dict(os.environ), **more)  # type: ignore[arg-type]


@pytest.fixture
async def begin(tmp_path: Path) -> AsyncIterator[Start]:
    """Start an engine; its processes end with the test."""
    runs: list[EngineProcess] = []

    async def begin(command: Command, session_id: int = 7) -> EngineProcess:
        runs.append(
            await start(
                command,
                session_id=session_id,
                output=tmp_path / f"{session_id}.jsonl",
                scratch=tmp_path,
            )
        )
        return runs[-1]

    yield begin  # type: ignore[misc]
    for run in runs:
        if not run.ended:
            run.kill()
        await asyncio.wait_for(run.wait(), WAIT_SECONDS)


async def ended(run: EngineProcess) -> int:
    return await asyncio.wait_for(run.wait(), WAIT_SECONDS)


async def printed(path: Path, lines: int) -> list[str]:
    """Wait for this number of lines in a file."""
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        found = text(path).splitlines()
        if len(found) >= lines:
            return found
        await asyncio.sleep(0.01)
    raise AssertionError(f"{path} has no {lines} lines: {text(path)!r}")


def text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def gone(*pids: int) -> None:
    """Wait until none of these processes runs."""
    deadline = time.monotonic() + WAIT_SECONDS
    while any(map(alive, pids)):
        assert time.monotonic() < deadline, f"still alive: {[*filter(alive, pids)]}"
        await asyncio.sleep(0.01)


async def test_every_printed_line_of_an_engine_is_in_its_file(begin: Start, tmp_path: Path) -> None:
    run = await begin(python("for n in range(20000): print(f'line {n}')"))

    assert await ended(run) == 0
    tail = Tail(tmp_path / "7.jsonl")
    lines: list[bytes] = []
    while not tail.at_end:
        lines += [line.content for line in tail.read()]
    tail.close()
    assert lines == [f"line {n}".encode() for n in range(20_000)]
    assert run.ended
    assert run.last_words() == []


async def test_an_engine_has_its_input_directory_and_environment(
    begin: Start, tmp_path: Path
) -> None:
    program = "import os, sys; print(sys.stdin.read(), os.getcwd(), os.environ['A'])"
    run = await begin(Command(argv=(sys.executable, "-c", program), stdin=b"given", env={"A": "b"}))

    assert await ended(run) == 0
    assert text(tmp_path / "7.jsonl") == f"given {tmp_path} b\n"


async def test_an_engine_has_only_the_given_environment(
    begin: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUR_SECRET", "x")
    run = await begin(
        Command(argv=(sys.executable, "-c", "import os; print(sorted(os.environ))"), env={"A": "b"})
    )

    assert await ended(run) == 0
    assert "OUR_SECRET" not in text(tmp_path / "7.jsonl")
    assert MARK in text(tmp_path / "7.jsonl")


async def test_the_files_of_a_session_are_readable_only_by_the_owner(
    begin: Start, tmp_path: Path
) -> None:
    await ended(await begin(python("print(1)")))

    modes = {name: os.stat(tmp_path / name).st_mode & 0o777 for name in ("7.jsonl", "7.err")}
    assert modes == {"7.jsonl": 0o600, "7.err": 0o600}


async def test_a_second_run_appends_to_the_file(begin: Start, tmp_path: Path) -> None:
    await ended(await begin(python("print(1)")))
    await ended(await begin(python("print(2)")))

    assert text(tmp_path / "7.jsonl") == "1\n2\n"


@pytest.mark.parametrize("status", [0, 1, 3, 127, 255])
async def test_the_exit_status_is_passed_on(begin: Start, status: int) -> None:
    assert await ended(await begin(python(f"raise SystemExit({status})"))) == status


async def test_an_engine_ended_by_a_signal_has_the_exit_code_of_a_shell(begin: Start) -> None:
    run = await begin(python("import os, signal; os.kill(os.getpid(), signal.SIGTERM)"))

    assert await ended(run) == 128 + signal.SIGTERM


async def test_the_last_error_lines_are_returned(begin: Start) -> None:
    run = await begin(python("import sys\nfor n in range(30): print('no', n, file=sys.stderr)"))

    assert await ended(run) == 0
    assert run.last_words() == [f"no {n}" for n in range(10, 30)]


TELLS = """
import signal, sys, time
def say(number, frame):
    print(signal.Signals(number).name, flush=True)
    if number == signal.SIGTERM:
        sys.exit(5)
signal.signal(signal.SIGINT, say)
signal.signal(signal.SIGTERM, say)
print("ready", flush=True)
while True:
    time.sleep(0.05)
"""


async def test_an_engine_is_interrupted_then_terminated_then_killed(
    begin: Start, tmp_path: Path
) -> None:
    output = tmp_path / "7.jsonl"
    run = await begin(python(TELLS))
    await printed(output, 1)

    run.interrupt()
    assert await printed(output, 2) == ["ready", "SIGINT"]
    run.terminate()

    assert await ended(run) == 5
    assert await printed(output, 3) == ["ready", "SIGINT", "SIGTERM"]


async def test_an_engine_that_ignores_signals_is_killed(begin: Start, tmp_path: Path) -> None:
    deaf = TELLS.replace("sys.exit(5)", "pass")
    run = await begin(python(deaf))
    await printed(tmp_path / "7.jsonl", 1)

    run.terminate()
    await printed(tmp_path / "7.jsonl", 2)
    run.kill()

    assert await ended(run) == 128 + signal.SIGKILL


async def test_a_signal_after_the_end_is_no_error(begin: Start) -> None:
    run = await begin(python("pass"))
    await ended(run)

    run.interrupt()
    run.terminate()
    run.kill()


LEAVES = """
import os, subprocess, sys, time
child = subprocess.Popen(
    [sys.executable, "-c", "import time; time.sleep(300)"], start_new_session=True, env={}
)
print(os.getpid(), child.pid, flush=True)
"""


async def test_a_grandchild_in_a_session_of_its_own_ends_with_its_engine(
    begin: Start, tmp_path: Path
) -> None:
    run = await begin(python(LEAVES))

    assert await ended(run) == 0
    engine, child = map(int, text(tmp_path / "7.jsonl").split())
    await gone(engine, child)


async def test_killing_an_engine_ends_all_its_processes(begin: Start, tmp_path: Path) -> None:
    run = await begin(python(LEAVES + "time.sleep(300)"))
    pids = map(int, (await printed(tmp_path / "7.jsonl", 1))[0].split())

    run.kill()

    assert await ended(run) == 128 + signal.SIGKILL
    await gone(*pids)


async def test_a_missing_command_ends_with_127_and_a_message(begin: Start) -> None:
    run = await begin(Command(argv=("/no/such/engine",)))

    assert await ended(run) == 127
    assert run.last_words() == ["/no/such/engine: No such file or directory"]


async def test_a_command_without_permission_ends_with_127_and_a_message(
    begin: Start, tmp_path: Path
) -> None:
    (tmp_path / "engine").write_text("#!/bin/sh\n")
    run = await begin(Command(argv=(str(tmp_path / "engine"),)))

    assert await ended(run) == 127
    assert run.last_words() == [f"{tmp_path}/engine: Permission denied"]


def program(code: str, *arguments: str, env: dict[str, str] | None = None) -> Program:
    """Start a program that is not an engine."""
    argv = [sys.executable, "-c", code, *arguments]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, env=env)


STARTER = """
import asyncio, os, sys
from pathlib import Path
from lamplighter.engines import Command
from lamplighter.engines.process import start

async def main():
    command = Command(argv=(sys.executable, "-c", sys.argv[2]), env=dict(os.environ))
    run = await start(command, session_id=7, output=Path(sys.argv[1]), scratch=Path())
    print(run._process.pid, flush=True)
    await run.wait()

asyncio.run(main())
"""


@pytest.mark.parametrize(
    "engine",
    [
        LEAVES + "time.sleep(300)",
        "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + LEAVES + "time.sleep(300)",
    ],
    ids=["willing", "deaf"],
)
async def test_an_engine_and_its_children_do_not_outlive_a_killed_supervisor(
    tmp_path: Path, engine: str
) -> None:
    output = tmp_path / "7.jsonl"
    starter = program(STARTER, str(output), engine)
    try:
        assert starter.stdout is not None
        warden = int(await asyncio.to_thread(starter.stdout.readline))
        pids = [*map(int, (await printed(output, 1))[0].split())]
        assert all(map(alive, [warden, *pids]))
    finally:
        starter.kill()
        starter.communicate(timeout=WAIT_SECONDS)

    await gone(warden, *pids)


SWEEPS = 50


def marked(mark: str | None) -> Program:
    env = {name: value for name, value in os.environ.items() if name != MARK}
    sleeper = "print(flush=True); import time; time.sleep(300)"
    return program(sleeper, env=env if mark is None else {**env, MARK: mark})


async def test_the_sweep_ends_only_processes_of_a_dead_supervisor(begin: Start) -> None:
    run = await begin(python("import time; time.sleep(300)"))
    dead = program("")
    dead.communicate(timeout=WAIT_SECONDS)
    dead_marks = (f"1:{dead.pid}:123", f"2:{os.getpid()}:another-start")
    others = [marked(None), marked(run.mark), marked("not a mark")]
    orphans: list[Program] = []
    try:
        for each in others:
            assert each.stdout is not None
            each.stdout.readline()
        for _ in range(SWEEPS):  # a supervisor of another test may sweep them first
            orphans = [marked(each) for each in dead_marks]
            for each in orphans:
                assert each.stdout is not None
                each.stdout.readline()
            count = await sweep()
            assert [each.wait(timeout=WAIT_SECONDS) for each in orphans] == [-signal.SIGKILL] * 2
            for each in orphans:
                each.communicate(timeout=WAIT_SECONDS)
            if count >= len(orphans):
                break

        assert count >= len(orphans)
        assert [each.poll() for each in others] == [None] * 3
        assert not run.ended

        assert await sweep(run.mark) >= 2
        assert [each.poll() for each in others if each is not others[1]] == [None] * 2
        assert others[1].wait(timeout=WAIT_SECONDS) == -signal.SIGKILL
    finally:
        for each in (*orphans, *others):
            each.kill()
            each.communicate(timeout=WAIT_SECONDS)

    await ended(run)
    assert await sweep(run.mark) == 0
