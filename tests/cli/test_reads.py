"""Read-only commands: the output is the same from the web process and from the database."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from lamplighter.config.settings import read_settings
from lamplighter.serve.local import command_socket, run_directory
from living import Home, Server, lately

PROGRAM = """
import sys
from lamplighter.__main__ import main

loaded, sys.argv = sys.argv[1], ["lamplighter", *sys.argv[2:]]
try:
    main()
finally:
    ours = sorted(each for each in sys.modules if each.partition(".")[0] == "lamplighter")
    open(loaded, "w").write("\\n".join(ours))
"""
MAX_MODULES = 60
MAX_MODULES_ALONE = {
    "memory list": 44,
    "memory trash": 55,
    "memory history 1": 40,
    "memory show 1": 46,
    "memory why 1": 58,
    "reviews": 46,
    "approvals": 45,
    "approvals show 1": 53,
    "search nothing": 60,
    "context": 60,
    "audit jellyfin --all --json": 60,
    "token list": 56,
    "vectors status": 46,
    "sessions": 43,
    "events": 44,
    "incidents": 59,
    "services list": 110,
    "status": 110,
}
"""Without a web process: the figures may only fall."""

READS = (
    "memory list",
    "memory list --json --service jellyfin --limit 1",
    "memory list --q nothing",
    "memory trash",
    "memory trash --json",
    "memory show 1",
    "memory show 1 --json",
    "memory history 1",
    "memory history 1 --json",
    "memory why 1",
    "memory why 1 --json",
    "reviews",
    "reviews --json",
    "approvals",
    "approvals --all",
    "approvals --all --json",
    "approvals show 1",
    "approvals show 1 --json",
    "search start --why",
    "search start --json --layers memory,session,event",
    "search nothing",
    "context",
    "context --against now --without 1",
    "context --json",
    "audit jellyfin",
    "audit jellyfin --all --json",
    "token list",
    "token list --json",
    "vectors status",
    "vectors status --json",
    "sessions",
    "sessions --json --service jellyfin --tier 1 --since 1d",
    "events",
    "events --json --level info --q start --limit 1",
)
WRONG = (
    "memory history 99",
    "memory why 99",
    "memory list --as-of never",
    "approvals show 99",
    "replay 99",
    "context --without x",
    "search start --layers x",
)


@dataclass(frozen=True)
class Done:
    """The output of a command, its exit status, and the modules that it loaded."""

    stdout: bytes
    stderr: bytes
    status: int
    loaded: tuple[str, ...]

    @property
    def output(self) -> tuple[bytes, bytes, int]:
        return self.stdout, self.stderr, self.status

    @property
    def used_database(self) -> bool:
        return "lamplighter.repository" in self.loaded


def ask(home: Home, command: str) -> Done:
    """Run a command in a newly started Python."""
    loaded = home.path / "loaded"
    argv = [sys.executable, "-c", PROGRAM, str(loaded), *command.split()]
    done = subprocess.run(argv, env=home.env, capture_output=True, timeout=60, check=False)
    return Done(done.stdout, done.stderr, done.returncode, tuple(loaded.read_text().split()))


def directly(home: Home, command: str) -> tuple[bytes, bytes, int]:
    """Return a command's output and exit status if no web process answers it."""
    done = home.ask(*command.split())
    return done.stdout.encode(), done.stderr.encode(), done.returncode


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a home in which each command has output: each test has a copy."""
    home = Home(tmp_path_factory.mktemp("made") / "home")
    for words in (
        ("timing", "Takes 60s to start", "--service", "jellyfin", "--title", "Slow"),
        ("timing", "Takes 5s to start", "--service", "jellyfin"),
        ("behavior", "Answers 503 at night", "--service", "jellyfin", "--pin"),
        ("config", "The pool has 20 connections", "--project", "shop"),
    ):
        extra = words[:-1] if words[-1] == "--pin" else words
        assert home.ask("memory", "add", *extra).returncode == 0
    assert home.ask("memory", "edit", "1", "--confidence", "0.9", "--pin").returncode == 0
    assert home.ask("memory", "delete", "4", "--yes").returncode == 0
    session = home.says("[EVENT:info] jellyfin took 60s to start").id
    home.write(
        "INSERT INTO reviews (kind, state, old_id, new_id, category, reason, said, created_at)"
        " VALUES ('conflict', 'open', 1, 2, 'timing', '60s is not 5s', 'Takes 5s', ?)",
        lately(),
    )
    home.write(
        "INSERT INTO approvals (session_id, tier, service, action, name, argv, shown, directory,"
        " reason, memories, state, created_at, expires_at) VALUES (?, 3, 'jellyfin', 'restart',"
        """ 'restart', '["docker","restart"]', '["docker","restart"]', '/srv', 'It answers 503',"""
        " '[1]', 'denied', ?, ?)",
        session,
        lately(2),
        lately(1),
    )
    return home.path


@pytest.fixture
def home(made: Path, tmp_path: Path) -> Home:
    """Return a home of this test alone, in which each command has output."""
    return Home(shutil.copytree(made, tmp_path / "home"))


@pytest.fixture
def server(home: Home) -> Iterator[Server]:
    """Start the web process of the home."""
    server = Server(home, port=home.port)
    yield server
    server.kill()


def socket_of(home: Home) -> Path:
    """Return the socket on which a home's web process answers commands."""
    settings = read_settings(home.env)
    name = command_socket(settings)
    assert name is not None
    return run_directory(settings.home) / name


def test_the_web_process_returns_the_same_bytes_for_each_read(home: Home) -> None:
    server = Server(home, port=home.port)
    try:
        deadline = time.monotonic() + 30
        while home.value("SELECT count(*) FROM unindexed") and time.monotonic() < deadline:
            time.sleep(0.1)  # scores depend on all that is indexed
        beside = {command: ask(home, command) for command in (*READS, *WRONG)}
    finally:
        server.kill()
    without = {command: directly(home, command) for command in (*READS, *WRONG)}

    assert {each: without[each] for each in READS} == {each: beside[each].output for each in READS}
    assert {each: without[each] for each in WRONG} == {each: beside[each].output for each in WRONG}
    assert ask(home, "memory list").used_database
    assert {each: len(beside[each].loaded) for each in READS} == {
        each: min(len(beside[each].loaded), MAX_MODULES) for each in READS
    }
    assert not any(beside[each].used_database for each in READS)
    assert all(beside[each].status == 2 for each in WRONG)
    assert b"Takes 60s to start" in beside["memory list"].stdout
    assert b"restart of jellyfin, denied" in beside["approvals --all"].stdout


def test_a_read_without_a_web_process_imports_few_modules(home: Home) -> None:
    assert home.ask("login").returncode == 0  # a home that has its token

    done = {command: ask(home, command) for command in MAX_MODULES_ALONE}

    assert {each: len(done[each].loaded) for each in done} == {
        each: min(len(done[each].loaded), most) for each, most in MAX_MODULES_ALONE.items()
    }
    assert all(each.used_database for each in done.values())


def test_a_read_includes_a_change_made_just_before(home: Home, server: Server) -> None:
    added = home.ask("memory", "add", "timing", "Takes 90s at night", "--service", "nas")
    found = ask(home, "search night --layers memory")

    assert added.returncode == 0
    assert b"Takes 90s at night" in re.sub(rb"\x1b\[\d*m", b"", found.stdout)
    assert not found.used_database


def test_a_read_uses_the_database_if_the_web_process_was_killed(home: Home, server: Server) -> None:
    before = ask(home, "memory list")
    server.kill()

    after = ask(home, "memory list")

    assert socket_of(home).is_socket()
    assert after.used_database
    assert after.output == before.output
    server.start()
    assert not ask(home, "memory list").used_database


def test_a_web_process_removes_its_socket_when_it_ends(home: Home, server: Server) -> None:
    path = socket_of(home)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700

    assert server._process is not None
    server._process.send_signal(signal.SIGTERM)
    server._process.wait(20)

    assert not path.exists()


def test_a_read_uses_the_database_if_the_web_process_hangs(home: Home, server: Server) -> None:
    before = ask(home, "memory list")
    assert server._process is not None
    os.kill(server._process.pid, signal.SIGSTOP)
    began = time.monotonic()
    try:
        after = ask(home, "memory list")
    finally:
        os.kill(server._process.pid, signal.SIGCONT)

    assert time.monotonic() - began < 30
    assert after.used_database
    assert after.output == before.output
    assert not ask(home, "memory list").used_database
    assert "Traceback" not in server.log, "the command no longer waits for its answer"


def test_a_read_never_uses_the_web_process_of_another_home(
    home: Home, server: Server, tmp_path: Path
) -> None:
    other = Home(tmp_path / "other", port=home.port)
    elsewhere = ask(other, "memory list")

    home.path.rename(tmp_path / "moved")
    again = Home(home.path, port=home.port)
    replaced = ask(again, "memory list")

    for done in (elsewhere, replaced):
        assert done.used_database
        assert (done.stdout, done.stderr) == (b"", b"No memories match.\n")


def test_a_read_uses_the_database_if_the_web_process_has_other_settings(
    home: Home, server: Server
) -> None:
    usual = ask(home, "context")
    home.more["LAMPLIGHTER_MEMORY_BUDGET"] = "0"

    done = ask(home, "context")

    assert not usual.used_database
    assert done.used_database
    assert done.stdout != usual.stdout
