"""Ctrl-C and SIGTERM to a backup and a restore: nothing unfinished stays, and the status is 2."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from lamplighter.cli import main
from lamplighter.config import settings
from lamplighter.serve import file_replacement
from lamplighter.serve.backup import create, restore

SIGNALS = pytest.mark.parametrize("signal_sent", [signal.SIGINT, signal.SIGTERM])


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LAMPLIGHTER_HOME", str(tmp_path / "home"))
    assert run("memory", "add", "timing", "Takes 60s").exit_code == 0
    return tmp_path / "home"


def run(*words: str) -> Result:
    return CliRunner().invoke(main, words)


def interrupt_at(patch: pytest.MonkeyPatch, where: Any, name: str, number: signal.Signals) -> None:
    """Send a signal to this process instead of one step of its work."""

    def interrupted(*_: object) -> None:
        os.kill(os.getpid(), number)

    patch.setattr(where, name, interrupted)


@SIGNALS
def test_interrupted_backup_leaves_no_files(
    home: Path, monkeypatch: pytest.MonkeyPatch, signal_sent: signal.Signals
) -> None:
    interrupt_at(monkeypatch, create, "_copy_written", signal_sent)

    done = run("backup")

    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == f"lamplighter: {create.INTERRUPTED}\n"
    assert not (home / "backups").exists()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.mark.parametrize("words", ["backup", "restore .", "status", "import x.json"])
def test_a_command_whose_status_1_is_an_outcome_exits_with_2_after_an_early_interrupt(
    home: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    interrupt_at(monkeypatch, settings, "read_settings", signal.SIGINT)

    done = run(*words.split())

    assert (done.exit_code, done.output) == (2, "lamplighter: Interrupted.\n")


@SIGNALS
def test_a_backup_is_reported_if_the_removal_of_an_older_one_is_interrupted(
    home: Path, monkeypatch: pytest.MonkeyPatch, signal_sent: signal.Signals
) -> None:
    older = run("backup").stdout.strip()
    remove = create._remove

    def interrupted(backups: list[Path]) -> dict[Path, str]:
        if backups:
            os.kill(os.getpid(), signal_sent)
        return remove(backups)

    monkeypatch.setattr(create, "_remove", interrupted)
    done = run("backup", "--keep", "1")

    assert done.exit_code == 1
    assert Path(done.stdout.strip()).is_dir()
    assert f"{older} cannot be removed: {create.REMOVAL_INTERRUPTED}." in done.stderr


@SIGNALS
def test_interrupted_restore_changes_nothing_and_leaves_no_files(
    home: Path, monkeypatch: pytest.MonkeyPatch, signal_sent: signal.Signals
) -> None:
    backup = run("backup").stdout.strip()
    before = sorted(home.iterdir())
    interrupt_at(monkeypatch, restore, "_copy_directory", signal_sent)

    done = run("restore", "--replace", backup)

    assert done.exit_code == 2
    assert done.stderr.endswith(f"lamplighter: {restore.STOPPED}\n")
    assert [each for each in sorted(home.iterdir()) if each.name == ".restore"] == []
    assert set(before) <= set(home.iterdir())


@SIGNALS
def test_restore_interrupted_between_its_files_is_settled_by_the_next_command(
    home: Path, monkeypatch: pytest.MonkeyPatch, signal_sent: signal.Signals
) -> None:
    backup = run("backup").stdout.strip()
    assert run("memory", "add", "timing", "Later").exit_code == 0
    with monkeypatch.context() as patch:
        interrupt_at(patch, file_replacement, "finish", signal_sent)
        done = run("restore", "--replace", backup)

    assert done.exit_code == 2
    assert done.stderr.endswith(f"lamplighter: {restore.STOPPED_HALFWAY}\n")
    listed = run("memory", "list")
    assert listed.exit_code == 0, listed.stderr
    assert "Takes 60s" in listed.stdout
