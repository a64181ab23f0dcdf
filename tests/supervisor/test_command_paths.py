"""The paths of a command are opened before it runs: they cannot be replaced in between."""

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from gates import EVERY_TIER, SERVICES, gate, opened, told

from lamplighter.domain.services.service import Services
from lamplighter.repository import Database
from lamplighter.supervisor.tools.readable import Readable
from lamplighter.supervisor.tools.shell import run_command
from lamplighter.usecases.sessions.toolbox import ToolOutput

SECRET = "do not tell"
TRIES = 40
GIT = pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")


class Giving:
    """A new session for each command: earlier refusals never block a command."""

    def __init__(self, db: Database, root: Path, *declared: tuple[str, ...]) -> None:
        self.db, self.services = db, Services(SERVICES.items, shell=declared)
        self.readable = Readable(roots=(root,), private=(root.parent / "home",))

    async def says(self, command: str) -> ToolOutput:
        by = await opened(self.db)
        return await run_command(
            gate(self.db, by, services=self.services, active=EVERY_TIER), self.readable, command
        )


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a root of readable files, next to a home whose files are private."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "token").write_text(SECRET)
    root = tmp_path / "root"
    root.mkdir()
    return root


@contextmanager
def meanwhile(swap: Callable[[], None]) -> Iterator[None]:
    """Repeat an action in another thread during the test."""
    over = threading.Event()

    def again() -> None:
        while not over.is_set():
            swap()

    thread = threading.Thread(target=again)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.mark.parametrize("name", ["y.log", "z.log"])
async def test_wildcard_follows_no_link_out_of_its_directory(
    db: Database, root: Path, name: str
) -> None:
    logs = root / "logs"
    logs.mkdir()
    (root.parent / "outside").write_text(SECRET)
    (logs / "y.log").symlink_to(root.parent / "outside")
    (logs / "z.log").symlink_to(root.parent / "home" / "token")
    (logs / "a.log").write_text("one\ntwo\n")
    (logs / "b.log").symlink_to(logs / "a.log")
    by = Giving(db, root, ("tail", "-n", "1", f"{logs}/*.log"), ("cat", f"{root}/*/*.log"))

    for command in ("tail -n 1", "cat"):
        answer = await by.says(f"{command} {logs}/{name}")
        assert answer.is_error
        assert "is outside " in answer.text
        assert SECRET not in answer.text
    assert (await by.says(f"tail -n 1 {logs}/a.log")).text == "exit 0\ntwo"
    assert (await by.says(f"tail -n 1 {logs}/b.log")).text == "exit 0\ntwo"


async def test_wildcard_reads_no_files_of_lamplighter(db: Database, root: Path) -> None:
    (root / "log").write_text("tell")
    (root / "own").symlink_to(root.parent / "home" / "token")
    by = Giving(db, root, ("cat", "*"))

    own = [await by.says(f"cat {path}") for path in (root / "own", root.parent / "home" / "token")]

    assert all("belongs to Lamplighter" in answer.text for answer in own)
    assert not any(SECRET in answer.text for answer in own)
    assert (await by.says(f"cat {root}/log")).text == "exit 0\ntell"


async def test_second_name_of_a_file_of_lamplighter_is_not_read(db: Database, root: Path) -> None:
    (root / "own").hardlink_to(root.parent / "home" / "token")

    answer = await Giving(db, root).says(f"cat {root}/own")

    by = Giving(db, root, ("tac", f"{root}/*"))  # a program that gets the path itself
    assert (await by.says(f"tac {root}/own")).text.endswith("own' belongs to Lamplighter.")
    refused = "The file belongs to Lamplighter. Sessions cannot read it"
    assert answer.text == f"Not run: {refused}."
    assert (await told(db))[0][-1].endswith(f": {refused}.")


async def test_directory_replaced_with_a_link_is_not_followed(db: Database, root: Path) -> None:
    (root / "real").mkdir()
    (root / "real" / "token").write_text("harmless")
    place, link = root / "place", root / "link"

    def swap() -> None:
        for target in (root / "real", root.parent / "home"):
            link.symlink_to(target)
            link.rename(place)

    by = Giving(db, root)
    swap()
    with meanwhile(swap):
        answers = [await by.says(f"cat {place}/token") for _ in range(TRIES)]

    assert not [answer.text for answer in answers if SECRET in answer.text]


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("ls {}", "a b"),
        ("ls -l {}/a", "{}/a"),
        ("ls -d {}", "{}"),
        ("find {} -name a", "{}/a"),
        ("find {}/a -size -9", "{}/a"),
        ("grep -r one {}", "{}/a:one"),
        ("grep -c one {}/a {}/b", "{}/a:1 {}/b:0"),
        ("wc -l {}/a", "1 {}/a"),
        ("stat -c '%F %n %s' {}/a", "regular file {}/a 4"),
        ("du -s {}", "{}"),
        ("md5sum {}/a", "5bbf5a52328e7439ae6e719dfe712200 {}/a"),
        ("readlink -f {}/a", "{}/a"),
        ("realpath {}", "{}"),
        ("diff {}/a {}/b", "1c1 < one --- > two"),
        ("diff -q {} {}", ""),
        ("head -n 1 {}/a {}/b", "==> {}/a <== one ==> {}/b <== two"),
        ("cat {}", "cat: {}: Is a directory"),
    ],
)
async def test_command_output_shows_the_requested_paths(
    db: Database, root: Path, command: str, shown: str
) -> None:
    place = root / "place"
    place.mkdir()
    (place / "a").write_text("one\n")
    (place / "b").write_text("two\n")

    answer = await Giving(db, root).says(command.replace("{}", str(place)))

    words = " ".join(" ".join(answer.text.split("\n")[1:]).split())
    assert words.removeprefix("On standard error: ").endswith(shown.replace("{}", str(place)))
    assert "/proc/self" not in answer.text


def run_git(top: Path, *words: str) -> None:
    known = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgSign=false")
    env = {"PATH": os.environ["PATH"], "HOME": str(top), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *known, *words], cwd=top, check=True, env=env)


@pytest.fixture
def repository(root: Path) -> Path:
    """Return a repository with two commits, a branch, a tag and an uncommitted change."""
    top = root / "repository"
    top.mkdir()
    run_git(top, "init", "-q", "-b", "main", ".")
    for text in ("one", "two"):
        (top / "file").write_text(f"{text}\n")
        run_git(top, "add", "file")
        run_git(top, "commit", "-q", "-m", f"Say {text}")
    run_git(top, "branch", "side", "HEAD^")
    run_git(top, "tag", "v1", "HEAD^")
    run_git(top, "pack-refs", "--all")
    (top / "file").write_text("three\n")
    (top / "new").write_text("")
    return top


@GIT
@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("log --format=%s", "Say two\nSay one"),
        ("log --oneline -n 1 --format=%s side", "Say one"),
        ("show --format=%s HEAD:file", "two"),
        ("status -s", "M file\n?? new"),
        ("branch -a", "* main\n  side"),
        ("describe --tags", "v1-1-g"),
        ("diff --numstat", "1 1 file"),
        ("rev-parse --abbrev-ref HEAD", "main"),
    ],
)
async def test_git_commands_show_the_repository_contents(
    db: Database, root: Path, repository: Path, words: str, shown: str
) -> None:
    answer = await Giving(db, root).says(f"git -C {repository} {words}")

    assert answer.text.startswith("exit 0\n"), answer.text
    assert answer.text.partition("\n")[2].strip().startswith(shown)


@GIT
async def test_repository_with_replaced_settings_runs_no_program(
    db: Database, root: Path, repository: Path
) -> None:
    ran, program = root / "ran", root / "program"
    program.write_text(f"#!{sys.executable}\nopen({str(ran)!r}, 'w')\n")
    program.chmod(0o755)
    inside = repository / ".git"
    good = (inside / "config").read_text()
    bad = f'{good}[filter "x"]\n\tclean = {program}\n[core]\n\tfsmonitor = {program}\n'
    (repository / ".gitattributes").write_text("file filter=x\n")

    def swap() -> None:
        for text in (bad, good):
            (inside / "next").write_text(text)
            (inside / "next").rename(inside / "config")

    by = Giving(db, root)
    with meanwhile(swap):
        answers = [await by.says(f"git -C {repository} status -s") for _ in range(TRIES)]

    assert any(not answer.is_error for answer in answers), "some are let run"
    assert not ran.exists()


@GIT
@pytest.mark.parametrize("name", ["objects", "refs", "objects/part", "refs/heads/theirs"])
async def test_repository_with_a_link_to_another_one_is_not_read(
    db: Database, root: Path, repository: Path, name: str
) -> None:
    other = root.parent / "other"
    shutil.copytree(repository / ".git", other)
    place = repository / ".git" / name
    if place.exists():
        shutil.rmtree(place)
    theirs = other / name if (other / name).exists() else other / "HEAD"
    place.symlink_to(theirs)

    answer = await Giving(db, root).says(f"git -C {repository} log --format=%s")

    assert answer.is_error
    assert answer.text.endswith("has parts outside its directory.")


@GIT
@pytest.mark.parametrize("name", ["HEAD", "index", "packed-refs", "shallow"])
async def test_repository_with_a_link_as_a_file_is_refused(
    db: Database, root: Path, repository: Path, name: str
) -> None:
    place = repository / ".git" / name
    place.unlink(missing_ok=True)
    place.symlink_to(root.parent / "home" / "token")

    answer = await Giving(db, root).says(f"git -C {repository} log --format=%s")

    assert answer.is_error
    assert "cannot be read: Too many levels of symbolic links" in answer.text
