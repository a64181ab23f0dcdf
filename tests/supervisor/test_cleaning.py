"""Masking large output: the next session does not wait for it, and every start resumes it."""

import shlex
import signal
import sys
from pathlib import Path

import pytest
from homes import Home

MEBIBYTES = 12
"""Of secrets only: masking them takes far longer than detecting the end of the session."""
SECRET = "DB_PASSWORD=" + "hunter-2-hunter"
PRINTS = f"""
import json, sys
line = ("Nov 23 10:00:00 nas app[1]: " + {SECRET!r} + " is not a thing to log\\n") * 100
for _ in range({MEBIBYTES} * 2**20 // len(line)):
    sys.stderr.write(line)
print(json.dumps({{"type": "result", "subtype": "success", "is_error": False, "result": "Done"}}))
"""


@pytest.fixture
def noisy(home: Home, tmp_path: Path) -> Home:
    """Return a home whose engine writes large output with a password to standard error."""
    script = tmp_path / "prints.py"
    script.write_text(PRINTS)
    home.env["LAMPLIGHTER_ENGINE"] = "exec"
    home.env["LAMPLIGHTER_EXEC_COMMAND"] = shlex.join([sys.executable, str(script)])
    return home


def errors(home: Home, session: int) -> Path:
    [found] = home.outputs(session, ".err")
    return found


def is_masked(path: Path) -> bool:
    return SECRET.encode() not in path.read_bytes()


def own_directory(home: Home, session: int) -> Path:
    return home.output(session).with_suffix("")


def test_next_session_completes_while_earlier_output_is_masked(noisy: Home) -> None:
    noisy.env["LAMPLIGHTER_INTERVAL"] = "10s"
    noisy.start("supervisor")

    noisy.until(lambda: noisy.value("SELECT 1 FROM sessions WHERE id = 1 AND status = 'completed'"))
    assert not is_masked(errors(noisy, 1)), "it is masked in the background"
    noisy.env["LAMPLIGHTER_EXEC_COMMAND"] = shlex.join([sys.executable, "-c", "pass"])
    assert noisy.run("run").returncode in (0, 1)
    noisy.until(lambda: not own_directory(noisy, 1).exists())

    assert is_masked(errors(noisy, 1))
    assert errors(noisy, 1).stat().st_size > MEBIBYTES * 2**20 * 0.9


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_next_start_masks_output_left_unmasked(noisy: Home, how: signal.Signals) -> None:
    first = noisy.start("supervisor")
    noisy.until(lambda: noisy.value("SELECT 1 FROM sessions WHERE id = 1 AND status = 'completed'"))
    first.send_signal(how)
    first.wait(60)
    assert not is_masked(errors(noisy, 1))

    noisy.start("supervisor")
    noisy.until(lambda: not own_directory(noisy, 1).exists())

    assert is_masked(errors(noisy, 1))
    assert not noisy.outputs(1, ".masked")


def test_manual_run_ends_after_masking_its_output(noisy: Home) -> None:
    done = noisy.run("run", seconds=200)

    assert done.returncode == 0, done.stderr
    assert is_masked(errors(noisy, 1))
    assert not own_directory(noisy, 1).exists()
