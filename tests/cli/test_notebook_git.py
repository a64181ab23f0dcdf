"""The notebook in git: each change is a commit whose message names the learned fact."""

import os
import subprocess
from pathlib import Path

import pytest

from lamplighter.domain.notebook.page import PageLine
from lamplighter.notebook.git import GitError, GitHistory, message_of
from living import Home

PAGE = "services/jellyfin.md"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home", {"LAMPLIGHTER_NOTEBOOK_GIT": "yes"})


def learn(home: Home, text: str) -> None:
    words = ("memory", "add", text, "--category", "timing", "--service", "jellyfin")
    assert home.ask(*words).returncode == 0
    assert home.ask("notebook", "sync").returncode == 0


def git(home: Home, *words: str) -> str:
    directory = str(home.path / "notebook")
    done = subprocess.run(["git", "-C", directory, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_new_memory_and_an_edited_page_each_create_a_commit(home: Home) -> None:
    learn(home, "Takes 60s to start")
    assert git(home, "log", "--format=%s|%an").splitlines() == ["Takes 60s to start|Lamplighter"]

    page = home.path / "notebook" / PAGE
    page.write_text(page.read_text().replace("60s", "75s"))
    assert home.ask("notebook", "sync").returncode == 0

    [newest, _] = git(home, "log", "--format=%s").splitlines()
    assert newest == "Takes 75s to start"
    assert "- Takes 60s to start" in git(home, "log", "-1", "--format=%b")
    assert git(home, "status", "--porcelain") == ""
    assert home.ask("notebook", "sync").returncode == 0
    assert len(git(home, "log", "--format=%h").splitlines()) == 2, "nothing changed"

    page.write_text(page.read_text().replace("- [timing] Takes 75s", "*  [timing] Takes\n   75s"))
    page.rename(page.with_name("media.md"))
    assert home.ask("notebook", "sync").returncode == 0
    assert git(home, "log", "-1", "--format=%s") == "Update pages\n", "it states the same"


def test_commits_run_no_git_hooks_and_exclude_unrelated_files(home: Home) -> None:
    learn(home, "Takes 60s to start")
    hook = home.path / "notebook" / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    (home.path / "notebook" / "draft.txt").write_text("mine")

    learn(home, "Needs the disk first")

    assert len(git(home, "log", "--format=%h").splitlines()) == 2
    assert "draft.txt" not in git(home, "ls-files")


def test_a_failed_commit_is_included_in_the_next_commit(home: Home) -> None:
    learn(home, "Takes 60s to start")
    lock = home.path / "notebook" / ".git" / "index.lock"
    lock.touch()
    words = ("memory", "add", "Needs the disk", "--category", "timing", "--service", "jellyfin")
    assert home.ask(*words).returncode == 0

    failed = home.ask("notebook", "sync")
    assert failed.returncode == 0
    assert "not committed" in failed.stderr

    lock.unlink()
    learn(home, "Needs the network")
    body = git(home, "log", "-1", "--format=%b")
    assert "+ Needs the disk" in body
    assert "+ Needs the network" in body


def test_a_missing_git_program_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.devnull)

    with pytest.raises(GitError, match="git is not installed"):
        GitHistory(tmp_path).commit()


def line(number: int, text: str) -> PageLine:
    return PageLine(number, "decision", text)


def test_a_commit_message_has_a_subject_line_and_a_list_of_facts() -> None:
    subject, blank, *listed = message_of([], [line(n, f"Fact {n}") for n in range(1, 31)]).split(
        "\n"
    )

    assert (subject, blank) == ("Fact 1 (and 29 more)", "")
    assert (listed[0], listed[-1]) == ("+ Fact 1", "and 10 more")
    assert message_of([line(1, "Takes 5s")], []).startswith("Remove Takes 5s\n")
    assert message_of([line(1, "Takes 5s to start")], [line(1, "Takes 5s\nto start")]) == (
        "Update pages"
    )
    titled = [line(4, "**Database**\nUse PostgreSQL 16"), line(5, "Other")]
    assert message_of([], titled).splitlines()[2:] == ["+ Database: Use PostgreSQL 16", "+ Other"]
    assert len(message_of([], [line(1, "x" * 300)]).splitlines()[0]) == 72
