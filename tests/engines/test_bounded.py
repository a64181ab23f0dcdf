"""Programs within limits: they always end, and leave no process behind."""

import asyncio
import os
import resource
import sys
import time
from pathlib import Path

import psutil
import pytest

from lamplighter.engines.bounded import END_BYTES, ProgramResult, run_bounded
from lamplighter.engines.process import MARK, process_mark

WAIT_SECONDS = 30


async def run(*argv: str, **more) -> ProgramResult:
    given = {"timeout": WAIT_SECONDS, "output_bytes": 1000, "env": {"PATH": os.environ["PATH"]}}
    return await asyncio.wait_for(run_bounded(argv, **(given | more)), 2 * WAIT_SECONDS)


async def python(program: str, *argv: str, **more) -> ProgramResult:
    return await run(sys.executable, "-c", program, *argv, **more)


def running(word: str) -> list[psutil.Process]:
    """Return the processes whose command line has this word."""
    return [
        each
        for each in psutil.process_iter(["cmdline", "status"])
        if word in (each.info["cmdline"] or []) and each.info["status"] != psutil.STATUS_ZOMBIE
    ]


def there(path: Path) -> bool:
    return path.exists()


async def appeared(path: Path) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not there(path):
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


async def test_the_output_and_the_exit_code_of_a_program_are_returned(tmp_path: Path) -> None:
    program = "import os, sys; print(os.getcwd(), sys.stdin.read()); sys.exit('no')"

    ended = await python(program, directory=str(tmp_path))

    assert ended == ProgramResult(exit_code=1, output=f"{tmp_path} \n".encode(), errors=b"no\n")


async def test_a_program_reads_only_the_given_input() -> None:
    program = "import sys; print(len(sys.stdin.read()))"

    assert (await python(program)).output == b"0\n"
    assert (await python(program, stdin=b"x" * 300_000)).output == b"300000\n"


async def test_a_program_has_only_the_given_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUR_SECRET", "x")

    ended = await python("import os; print(os.getcwd(), *sorted(os.environ))", env={"A": "b"})

    assert {b"A", MARK.encode()} <= set(ended.output.split())
    assert b"OUR_SECRET" not in ended.output
    assert ended.output.startswith(b"/ ")


# of this very process: any supervisor may end what a dead one has left
@pytest.mark.parametrize("mark", [process_mark("7"), None], ids=["of a session", "none"])
async def test_a_program_has_the_mark_of_its_session(monkeypatch, mark: str | None) -> None:
    if mark:
        monkeypatch.setenv(MARK, mark)

    ended = await python(f"import os; print(os.environ[{MARK!r}])")

    assert ended.output.decode().strip() == (mark or process_mark("run"))


LEAVES = """
import os, signal, subprocess, sys, time
path, word = sys.argv[1:]
wait = "import time, sys; open(sys.argv[1], 'w').close(); time.sleep(600)"
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv(sys.executable, [sys.executable, "-c", wait, path, word])
    os._exit(0)
os.wait()
while not os.path.exists(path):
    time.sleep(0.01)
print("done", flush=True)
"""
DEAF = """
import signal
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
"""
STAYS = "\ntime.sleep(600)"


async def test_a_daemon_left_by_a_program_ends_with_it(tmp_path: Path) -> None:
    ended = await python(LEAVES, str(tmp_path / "up"), "left-behind-1")

    assert ended == ProgramResult(exit_code=0, output=b"done\n")
    assert running("left-behind-1") == []


async def test_a_timed_out_program_ends_with_children_that_ignore_signals(tmp_path: Path) -> None:
    program = DEAF + LEAVES + STAYS

    ended = await python(program, str(tmp_path / "up"), "left-behind-2", timeout=4)

    assert ended == ProgramResult(output=b"done\n", timed_out=True)
    assert running("left-behind-2") == []


async def test_a_timed_out_program_can_handle_sigterm(tmp_path: Path) -> None:
    program = """
import signal, sys, time
def bye(*_):
    open(sys.argv[1], "w").write("bye")
    sys.exit(0)
signal.signal(signal.SIGTERM, bye)
time.sleep(600)
"""
    ended = await python(program, str(tmp_path / "last"), timeout=2)

    assert ended == ProgramResult(timed_out=True)
    assert (tmp_path / "last").read_text() == "bye"


@pytest.mark.parametrize("times", [1, 2])
async def test_cancelling_the_caller_leaves_no_process(tmp_path: Path, times: int) -> None:
    word = f"left-behind-by-cancelling-{times}"
    task = asyncio.create_task(python(DEAF + LEAVES + STAYS, str(tmp_path / "up"), word))
    await appeared(tmp_path / "up")

    for _ in range(times):
        task.cancel()
        await asyncio.sleep(0.05)
    with pytest.raises(asyncio.CancelledError):
        await task

    deadline = time.monotonic() + WAIT_SECONDS
    while times == 2 and running(word):  # cancelled twice, nobody waits for the warden's end
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)
    assert running(word) == []


async def test_output_beyond_the_limit_is_read_and_discarded() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    program = "import os\nfor n in range(1024): os.write(1, b'x' * (1 << 20))"

    ended = await python(program)

    assert ended == ProgramResult(exit_code=0, output=b"x" * 1000, output_end=b"x" * END_BYTES)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024


async def test_an_endless_output_still_times_out() -> None:
    ended = await python("while True: print('x' * 1000)", timeout=1)

    assert (ended.timed_out, ended.exit_code, len(ended.output)) == (True, None, 1000)


async def test_a_start_failure_is_explained(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("neither a program nor a script")
    odd = tmp_path / "odd"
    odd.write_bytes(b"\x00\x01 no program")
    odd.chmod(0o700)
    gone = str(tmp_path / "gone")
    script = tmp_path / "script"
    script.write_text("#!/no/interpreter\n")
    script.chmod(0o700)

    words = [
        (await run("no-such-program")).error,
        (await run(gone)).error,
        (await run(str(plain))).error,
        (await run(str(odd))).error,
        (await run(str(script))).error,
        (await run("true", directory=gone)).error,
        (await run("true", directory=str(plain))).error,
        (await run("true", "a\0b")).error,
        (await run("true", "x" * 200_000)).error,
    ]

    assert words == [
        "program not found: no-such-program",
        f"program not found: {gone}",
        f"program not executable: {plain}",
        f"not an executable: {odd}",
        f"interpreter not found: {script}",
        f"no such directory: {gone}",
        f"no such directory: {plain}",
        "program cannot be run: true: embedded null byte",
        "too many or too long arguments: true",
    ]


async def test_exit_code_127_of_a_started_program_is_not_a_start_failure() -> None:
    ended = await run("env", "no-such-program")

    assert (ended.exit_code, ended.error) == (127, "")
    assert b"no-such-program" in ended.errors


async def test_no_descriptor_is_left_open() -> None:
    await run("true")
    before = psutil.Process().num_fds()

    for _ in range(5):
        await run("true")
        await run("no-such-program")
        await run("sleep", "600", timeout=0.05)
    await asyncio.sleep(0.01)  # a closed transport is gone one turn later

    assert psutil.Process().num_fds() == before


def test_programs_run_in_the_event_loop_uvloop() -> None:
    uvloop = pytest.importorskip("uvloop")

    async def both() -> tuple[ProgramResult, ProgramResult, ProgramResult]:
        return (
            await run("echo", "here"),
            await run("sleep", "600", timeout=0.2),
            await run("true", directory="/no/such/place"),
        )

    assert uvloop.run(both()) == (
        ProgramResult(exit_code=0, output=b"here\n"),
        ProgramResult(timed_out=True),
        ProgramResult(error="no such directory: /no/such/place"),
    )
