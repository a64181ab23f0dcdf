"""The processes of an engine end: when its warden is killed, and whatever their state."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from lamplighter.engines import Command
from lamplighter.engines.bounded import run_bounded
from lamplighter.engines.process import start, start_server

CHILDREN = 20
WAIT_SECONDS = 60
WITHOUT_MAIN_THREAD = """
import ctypes, subprocess, sys, threading, time
if sys.argv[1:]:
    threading.Thread(target=time.sleep, args=(300,)).start()
    print("ready", flush=True)
    ctypes.CDLL(None).pthread_exit(None)
command = [sys.executable, __file__, "child"]
child = subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE)
child.stdout.readline()
while open(f"/proc/{child.pid}/stat").read().rsplit(")", 1)[1].split()[0] != "Z":
    time.sleep(0.01)
"""
PROGRAM = """
import subprocess, sys, time
for _ in range({children}):
    subprocess.Popen(["setsid", "env", "-i", "sleep", "{seconds}"])
print("ready", flush=True)
time.sleep(300)
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="subreapers are of Linux")


def sleeping(seconds: str) -> list[psutil.Process]:
    found = []
    for each in psutil.process_iter(["cmdline"]):
        if each.info["cmdline"] == ["sleep", seconds]:
            found.append(each)
    return found


async def until(what: object, message: str) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not what():  # type: ignore[operator]
        assert time.monotonic() < deadline, message
        await asyncio.sleep(0.05)


def only_child() -> psutil.Process:
    """Return the warden that this test started."""
    mine = psutil.Process().children()
    found = [each for each in mine if any("warden.py" in word for word in each.cmdline())]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize("case", ["engine", "others", "server"])
def test_the_processes_of_a_killed_warden_end_and_others_continue(
    case: str, tmp_path: Path
) -> None:
    run_case(case, tmp_path)


def test_warden_ends_a_process_whose_main_thread_has_ended(tmp_path: Path) -> None:
    run_case("threads", tmp_path)


def test_an_engine_that_stops_its_warden_is_killed(tmp_path: Path) -> None:
    run_case("stopped", tmp_path)


def run_case(case: str, tmp_path: Path) -> None:
    """Run a case in a separate process, whose children belong to this case alone."""
    done = subprocess.run(
        [sys.executable, __file__, case, tmp_path], capture_output=True, text=True, timeout=110
    )
    assert done.returncode == 0, done.stderr


async def engine(tmp_path: Path) -> None:
    seconds = f"300.{os.getpid()}1"
    program = PROGRAM.format(children=CHILDREN, seconds=seconds)
    command = Command(argv=(sys.executable, "-c", program), env=dict(os.environ))
    run = await start(command, session_id=7, output=tmp_path / "7.jsonl", scratch=tmp_path)
    await until(lambda: len(sleeping(seconds)) == CHILDREN, "the children did not start")

    only_child().send_signal(signal.SIGKILL)
    status = await asyncio.wait_for(run.wait(), WAIT_SECONDS)

    assert status == 128 + signal.SIGKILL
    assert sleeping(seconds) == []
    assert psutil.Process().children() == []


async def others(tmp_path: Path) -> None:
    kept_up, seconds = f"300.{os.getpid()}2", f"300.{os.getpid()}3"
    kept = asyncio.create_task(program_of(kept_up))
    await until(lambda: len(sleeping(kept_up)) == CHILDREN, "the children did not start")
    first = only_child()
    killed = asyncio.create_task(program_of(seconds))
    await until(lambda: len(sleeping(seconds)) == CHILDREN, "the children did not start")
    second = next(each for each in psutil.Process().children() if each.pid != first.pid)

    second.send_signal(signal.SIGKILL)
    await asyncio.wait_for(killed, WAIT_SECONDS)

    assert sleeping(seconds) == []
    assert len(sleeping(kept_up)) == CHILDREN
    kept.cancel()
    await asyncio.wait({kept}, timeout=WAIT_SECONDS)
    assert sleeping(kept_up) == []


async def server(_: Path) -> None:
    """A server of ours, as the one that checks services, has no warden."""
    words = "import sys; print('ready', flush=True); sys.stdin.read()"
    kept = await start_server([sys.executable, "-c", words], dict(os.environ))
    assert kept.stdout is not None
    assert kept.stdin is not None
    await kept.stdout.readline()
    seconds = f"300.{os.getpid()}4"
    killed = asyncio.create_task(program_of(seconds))
    await until(lambda: len(sleeping(seconds)) == CHILDREN, "the children did not start")

    only_child().send_signal(signal.SIGKILL)
    await asyncio.wait_for(killed, WAIT_SECONDS)

    assert sleeping(seconds) == []
    kept.stdin.close()
    assert await asyncio.wait_for(kept.wait(), WAIT_SECONDS) == 0


async def threads(tmp_path: Path) -> None:
    (tmp_path / "engine.py").write_text(WITHOUT_MAIN_THREAD)
    argv = [sys.executable, str(tmp_path / "engine.py")]

    done = await run_bounded(argv, timeout=60, output_bytes=1000, env=dict(os.environ))

    assert done.exit_code == 0, done.errors
    assert psutil.Process().children() == []


async def stopped(tmp_path: Path) -> None:
    argv = ("/bin/sh", "-c", "kill -STOP $PPID; echo ready; sleep 300")
    output = tmp_path / "7.jsonl"
    run = await start(Command(argv=argv), session_id=7, output=output, scratch=tmp_path)
    await until(lambda: output.stat().st_size, "the engine did not start")
    run.kill()
    program = run_bounded(argv, timeout=0.5, output_bytes=100, env={})

    status, done = await asyncio.gather(run.wait(), program)

    assert status == 128 + signal.SIGKILL
    assert done.timed_out
    assert psutil.Process().children() == []


async def program_of(seconds: str) -> None:
    program = PROGRAM.format(children=CHILDREN, seconds=seconds)
    argv = [sys.executable, "-c", program]
    await run_bounded(argv, timeout=300, output_bytes=100, env=dict(os.environ))


if __name__ == "__main__":
    known = (engine, others, server, threads, stopped)
    cases = {each.__name__: each for each in known}
    asyncio.run(cases[sys.argv[1]](Path(sys.argv[2])))
