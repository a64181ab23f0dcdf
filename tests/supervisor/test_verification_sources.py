"""Verification sources answer from real files and repositories, including hostile ones."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from lamplighter.config.settings import read_settings
from lamplighter.domain.services.check import HttpCheck, PostgresCheck, TcpCheck
from lamplighter.domain.services.service import Service, Services
from lamplighter.domain.verify.claims import TextClaim, claims_of
from lamplighter.domain.verify.verdict import Answer, AnswerState
from lamplighter.serve.services_file import ServicesFile
from lamplighter.serve.verify.tools import VerificationTools, build_tools
from lamplighter.supervisor.sources.files import FILE_BYTES, Roots
from lamplighter.supervisor.sources.truth import GroundTruth
from lamplighter.supervisor.tools.readable import Readable

CONFIRMED, REFUTED = AnswerState.CONFIRMED, AnswerState.REFUTED
SERVICES = Services(
    (
        Service(name="media", checks=(HttpCheck(name="http", url="http://localhost:8096/web"),)),
        Service(
            name="blog",
            checks=(TcpCheck(name="tcp", host="localhost", port=8000),),
            depends_on=("media",),
        ),
        Service(name="store", checks=(PostgresCheck(name="sql", host="localhost", port=5434),)),
    ),
    path="services.yaml",
)
PYPROJECT = """
[project]
name = "shop"
version = "2.1.0"
dependencies = ["starlette==1.2.0", "httpx>=0.27"]
"""
COMPOSE = """
services:
  db:
    image: postgres:16.4
    ports: ["5433:5432"]
    environment: [POSTGRES_DB=shop]
"""


def git(place: Path, *words: str) -> str:
    env = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "HOME": str(place)}
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    ran = subprocess.run(
        ("git", *who, *words), cwd=place, env=env, check=True, capture_output=True, text=True
    )
    return ran.stdout.strip()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a root with a repository, files and manifests."""
    top = tmp_path / "shop"
    (top / "src").mkdir(parents=True)
    (top / "src/app.py").write_text("x = 1\n")
    (top / "pyproject.toml").write_text(PYPROJECT)
    (top / "compose.yaml").write_text(COMPOSE)
    (top / "package.json").write_text('{"dependencies": {"alpinejs": "3.14.1", "vite": "^7.0.0"}}')
    (top / "go.mod").write_text("module shop\nrequire github.com/spf13/cobra v1.8.1\n")
    (top / "Cargo.toml").write_text('[dependencies]\nserde = "=1.0.210"\nrand = "0.8"\n')
    git(top, "init", "-q", "-b", "main")
    git(top, "add", ".")
    git(top, "commit", "-q", "-m", "first")
    git(top, "tag", "v2.1.0")
    return top


def truth(*roots: Path, names: Sequence[str] = ()) -> GroundTruth:
    readable = Readable(roots=roots)
    return GroundTruth(Roots(readable), lambda: SERVICES, frozenset(names))


async def answers(source: GroundTruth, text: str, project: str = "ops") -> dict[TextClaim, Answer]:
    return await source.answer(claims_of(text), project=project)


async def state(source: GroundTruth, text: str, project: str = "ops") -> AnswerState | None:
    claims = claims_of(text)
    assert claims
    found = await source.answer(claims, project=project)
    states = {each.state for each in found.values()}
    return states.pop() if states else None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The entry point is src/app.py", CONFIRMED),
        ("The settings are in src/settings.py", REFUTED),
        ("The settings are in elsewhere/settings.py", None),
        ("The settings are in settings.py", None),
        ("Sources are in the directory `src/`", CONFIRMED),
        ("Sources are in the directory `src/app.py`", REFUTED),
        ("starlette is pinned to 1.2.0", CONFIRMED),
        ("starlette is pinned to 1.2", CONFIRMED),
        ("starlette is pinned to 1.1.0", REFUTED),
        ("httpx is pinned to 0.27.0", None),
        ("alpinejs is at version 3.14.1", CONFIRMED),
        ("vite is at version 7.0.0", None),
        ("cobra is at version 1.8.1", CONFIRMED),
        ("serde is at version 1.0.209", REFUTED),
        ("rand is at version 0.8", None),
        ("postgres is at version 16.4", CONFIRMED),
        ("flask is at version 3.0", None),
        ("The default branch is main", CONFIRMED),
        ("The default branch is trunk", REFUTED),
        ("The release is tag v2.1.0", CONFIRMED),
        ("The release is tag v9.9.9", REFUTED),
        ("The fix is in commit abc1234def", REFUTED),
        ("media listens on port 8096", CONFIRMED),
        ("media listens on port 8097", REFUTED),
        ("media also listens on port 8920", None),
        ("store listens on port 5434", CONFIRMED),
        ("db listens on port 5432", CONFIRMED),
        ("mail listens on port 25", None),
        ("blog depends on media", CONFIRMED),
        ("media depends on blog", None),
        ("blog is declared in services.yaml", CONFIRMED),
        ("mail is declared in services.yaml", REFUTED),
        ("POSTGRES_DB is set for the database", CONFIRMED),
        ("SHOP_TOKEN is set for the worker", CONFIRMED),
        ("SHOP_SECRET is set for the worker", None),
        ("`git` is installed", CONFIRMED),
        ("`zzz-program` is installed", REFUTED),
    ],
)
async def test_claims_are_tested_against_files_and_repositories(
    root: Path, text: str, expected: AnswerState | None
) -> None:
    assert await state(truth(root, names=["SHOP_TOKEN"]), text) is expected


async def test_commit_is_found_by_its_abbreviated_hash(root: Path) -> None:
    commit, tree = git(root, "rev-parse", "HEAD"), git(root, "rev-parse", "HEAD^{tree}")
    assert await state(truth(root), f"The fix is in commit {commit[:39]}") is CONFIRMED
    assert await state(truth(root), f"The fix is in commit {tree}") is REFUTED


async def test_missing_file_refutes_only_if_one_root_applies(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "src").mkdir(parents=True)
    both = truth(root, other)
    missing = "The settings are in src/settings.py"

    assert await state(both, missing) is None
    assert await state(both, missing, project="shop") is REFUTED
    assert await state(both, "The entry point is src/app.py") is CONFIRMED
    assert await state(both, "The default branch is trunk") is None


async def test_links_out_of_a_root_confirm_nothing(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("secret")
    (root / "link").symlink_to(outside)
    (root / "src/secret.txt").symlink_to(outside / "secret.txt")
    (root / "requirements.txt").symlink_to(outside / "secret.txt")

    for text in (
        "It is in link/secret.txt",
        "It is in src/secret.txt",
        f"It is in {root}/link/secret.txt",
        f"It is in {outside}/secret.txt",
        "It is in src/../../outside/secret.txt",
    ):
        assert all(
            each.state is not CONFIRMED for each in (await answers(truth(root), text)).values()
        ), text


async def test_directory_swapped_with_a_link_confirms_nothing(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "only-outside.txt").write_text("secret")
    source, place = truth(root), root / "swapped"
    for turn in range(200):
        if turn % 2:
            place.rmdir()
            place.symlink_to(outside)
        else:
            place.unlink(missing_ok=True)
            place.mkdir()
        found = await answers(source, "It is in swapped/only-outside.txt")
        assert all(each.state is not CONFIRMED for each in found.values())


async def test_pipes_large_and_binary_files_are_not_read(root: Path) -> None:
    os.mkfifo(root / "src/queue.conf")
    os.mkfifo(root / "requirements-pipe.txt")
    (root / "requirements-large.txt").write_bytes(b"flask==3.0\n" * (FILE_BYTES // 10))
    (root / "requirements-binary.txt").write_bytes(b"flask==3.0\n\0\n")
    (root / "requirements-broken.txt").write_bytes(b"\xff\xfe flask==3.0")

    assert await state(truth(root), "The queue is src/queue.conf") is None
    assert await state(truth(root), "flask is at version 3.0") is None


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("pyproject.toml", "project = 3"),
        ("package.json", "[1, 2]"),
        ("package.json", "[" * 100_000),
        ("compose.yaml", "services: [a, b]"),
        ("compose.yaml", "a: &a [x]\nb: *missing"),
        ("compose.yaml", "services: !!bool x"),
        ("Cargo.toml", "[dependencies"),
    ],
)
async def test_invalid_manifest_declares_nothing(root: Path, name: str, content: str) -> None:
    (root / name).write_text(content)
    assert await state(truth(root), "flask is at version 3.0") is None


async def test_repository_that_could_run_a_program_is_not_queried(root: Path) -> None:
    flag = root / "ran"
    with (root / ".git/config").open("a") as file:
        file.write(f"[core]\n\tfsmonitor = touch {flag}\n[alias]\n\trev-parse = !touch {flag}\n")

    [found] = (await answers(truth(root), "The default branch is main")).values()

    assert found.state is AnswerState.UNKNOWN
    assert "could run a program" in found.detail
    assert not flag.exists()


async def test_evidence_states_that_git_is_missing(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lamplighter.supervisor.tools.opened.PATH", str(root))

    [found] = (await answers(truth(root), "The default branch is main")).values()

    assert (found.state, found.detail) == (AnswerState.UNKNOWN, "git is not on this machine")


def tools(root: Path, home: Path) -> VerificationTools:
    environ = {"LAMPLIGHTER_HOME": str(home), "LAMPLIGHTER_VERIFY_ROOTS": str(root)}
    settings = read_settings(environ)
    return build_tools(settings, ServicesFile(settings.services))


async def test_read_only_command_confirms_or_refutes(root: Path, tmp_path: Path) -> None:
    kit = tools(root, tmp_path / "home")
    passed = await kit.run_command(f"grep -q starlette {root}/pyproject.toml")
    failed = await kit.run_command(f"grep -q flask {root}/pyproject.toml")
    assert (passed.state, failed.state) == (CONFIRMED, REFUTED)


@pytest.mark.parametrize(
    "command",
    ["rm -rf {root}", "cat /etc/shadow", "sh -c id", "cat {root}/a; id", "systemctl restart x"],
)
def test_other_commands_are_refused(root: Path, tmp_path: Path, command: str) -> None:
    assert tools(root, tmp_path / "home").refusal(command.format(root=root))
    assert root.exists()
