"""A child of the nursery behaves like a new Python: only its start is shorter."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

import nursery
from living import Home, Server


def runs(pid: int) -> bool:
    """Whether a process still runs: an ended process may be a zombie."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


FORKS = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere every process is started")


@pytest.mark.parametrize("words", ["settings --json", "context --no-such", "run --services ,", ""])
def test_forked_command_has_the_same_output_and_status_as_a_new_process(
    tmp_path: Path, words: str
) -> None:
    home = Home(tmp_path / "home", {"COLUMNS": "72", "TZ": "Asia/Tokyo"})

    forked = nursery.run(*words.split(), env=home.env, seconds=60)
    started = nursery.run(*words.split(), env=home.env | {"PYTHONUTF8": "1"}, seconds=60)

    assert (forked.returncode, forked.stdout) == (started.returncode, started.stdout)
    assert forked.stderr == started.stderr
    assert forked.stdout or forked.stderr


@pytest.mark.parametrize("code", ["print(sys.argv, input())", "sys.exit('no')", "1 / 0"])
@pytest.mark.parametrize("is_file", [False, True], ids=["text", "file"])
def test_forked_program_has_the_same_input_output_and_status(
    tmp_path: Path, code: str, *, is_file: bool
) -> None:
    program = tmp_path / "program.py"
    program.write_text(f"import sys; {code}")
    argv = (str(program),) if is_file else ("-c", program.read_text())

    forked = nursery.finish(*argv, "a", env={}, given="b\n")
    started = nursery.finish(*argv, "a", env={"PYTHONUTF8": "1"}, given="b\n")

    assert (forked.returncode, forked.stdout) == (started.returncode, started.stdout)
    assert forked.stderr.splitlines()[-1:] == started.stderr.splitlines()[-1:]


@FORKS
def test_nursery_child_is_isolated_and_can_be_stopped_and_awaited(tmp_path: Path) -> None:
    server = Server(Home(tmp_path / "home", {"LAMPLIGHTER_INTERVAL": "7h"}))
    child = server._process
    assert isinstance(child, nursery.Child)
    proc = Path(f"/proc/{child.pid}")
    open_files = []
    for each in (proc / "fd").iterdir():
        with suppress(FileNotFoundError):  # it opens and closes files while it starts
            open_files.append(os.readlink(each))

    assert os.getsid(child.pid) == child.pid != os.getsid(0)
    assert not [each for each in open_files if str(tmp_path) not in each and "/tmp" in each]
    assert child.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(0.01)
    child.terminate()
    assert child.wait(20) == -signal.SIGTERM  # uvicorn passes on what it was sent
    child.kill()  # nobody is there any more
    server.start()
    again = server._process
    assert again
    again.kill()
    assert (again.wait(20), again.poll()) == (-signal.SIGKILL, -signal.SIGKILL)


def test_concurrent_requests_get_their_own_children(tmp_path: Path) -> None:
    homes = [Home(tmp_path / f"home{number}") for number in range(6)]

    with ThreadPoolExecutor(6) as asking:
        found = list(asking.map(lambda home: home.ask("settings").stdout, homes))

    for home, shown in zip(homes, found, strict=True):
        assert str(home.path) in shown


@FORKS
def test_nursery_children_end_when_the_nursery_is_killed(tmp_path: Path) -> None:
    own = nursery._nursery.__wrapped__()
    home = Home(tmp_path / "home", {"LAMPLIGHTER_INTERVAL": "7h"})
    quiet = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    child = nursery.Child(["-m", "lamplighter", "web"], own, env=home.env, **quiet)

    own.process.kill()

    own.process.wait(20)
    deadline = time.monotonic() + 60
    while runs(child.pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not runs(child.pid)
