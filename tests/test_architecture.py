"""The rings hold: each contract passes on the tree, and fails if broken on purpose."""

import ast
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from cells import walk

ROOT = Path(__file__).parents[1]
BACKEND = ROOT / "backend" / "lamplighter"
LINT_IMPORTS = Path(sys.executable).with_name("lint-imports")
FILES = sorted(BACKEND.rglob("*.py"))
MAX_FILE_LINES = 500
MAX_FOLDER_FILES = 15
MAX_FUNCTION_LINES = 50


def contracts() -> dict[str, str]:
    """Return the contracts by their ids."""
    read = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return {each["id"]: each["name"] for each in read["tool"]["importlinter"]["contracts"]}


def lint(directory: Path) -> tuple[int, str]:
    """Check the contracts of a tree and return the status and the output."""
    ended = subprocess.run(
        [LINT_IMPORTS, "--no-logo", "--no-cache"],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env={"PYTHONPATH": str(directory), "PATH": "/usr/bin:/bin", "COLUMNS": "200"},
    )
    return ended.returncode, ended.stdout + ended.stderr


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with a copy of the package and its contracts."""
    directory = tmp_path_factory.mktemp("copied")
    shutil.copy(ROOT / "pyproject.toml", directory)
    ignored = shutil.ignore_patterns("__pycache__", "_assets")
    shutil.copytree(BACKEND, directory / "lamplighter", ignore=ignored)
    return directory


def test_import_contracts_pass_on_the_tree(copied: Path) -> None:
    status, words = lint(copied)

    assert status == 0, words
    assert f"Contracts: {len(contracts())} kept, 0 broken." in words


BROKEN = [
    ("rings", "domain/text.py", "import lamplighter.usecases.memory.lookup"),
    ("rings", "repository/memories.py", "import lamplighter.engines.stream"),
    ("rings", "usecases/recall.py", "import lamplighter.supervisor.lease"),
    ("rings", "api/app.py", "import lamplighter.supervisor.daemon"),
    ("rings", "engines/tail.py", "import lamplighter.repository"),
    ("rings", "mcp/door.py", "import lamplighter.supervisor.actions.gate"),
    ("rings", "newcomer.py", "import lamplighter.domain.text"),
    ("pure", "domain/text.py", "import os"),
    ("pure", "domain/sessions/context.py", "import lamplighter.clock"),
    ("pure", "domain/sessions/markers.py", "import sqlalchemy"),
    ("sql", "usecases/memory/lookup.py", "import sqlalchemy"),
    ("sql", "api/system/state.py", "import databases"),
    ("http", "usecases/memory/lookup.py", "import starlette.requests"),
    ("http", "repository/feed/signals.py", "import uvicorn"),
    ("edge", "usecases/memory/lookup.py", "import lamplighter.config.settings"),
    ("edge", "engines/exec.py", "import lamplighter.config.settings"),
    ("leaves", "clock.py", "import lamplighter.repository"),
    ("leaves", "config/settings.py", "import lamplighter.supervisor.lease"),
    ("rooms-domain", "domain/access/access.py", "import lamplighter.domain.memory.memory"),
    ("rooms-domain", "domain/memory/memory.py", "import lamplighter.domain.sessions.session"),
    ("rooms-domain", "domain/newcomer.py", "import lamplighter.domain.text"),
    ("rooms-domain", "domain/clients/agent.py", "import lamplighter.domain.configuration"),
    ("rooms-repository", "repository/store/tables.py", "import lamplighter.repository.feed"),
    (
        "rooms-repository",
        "repository/feed/indexing.py",
        "import lamplighter.repository.access.tokens",
    ),
    ("rooms-domain", "domain/graph/names.py", "import lamplighter.domain.search.query"),
    ("rooms-repository", "repository/graph/rows.py", "import lamplighter.repository.search.index"),
    ("rooms-usecases", "usecases/graph/view.py", "import lamplighter.usecases.search.find"),
    ("rooms-api", "api/graph/graph.py", "import lamplighter.api.system.state"),
    ("rooms-repository", "repository/memory/links.py", "import lamplighter.repository.search"),
    ("rooms-usecases", "usecases/memory/lookup.py", "import lamplighter.usecases.search.find"),
    ("rooms-usecases", "usecases/clients/imports.py", "import lamplighter.usecases.system.vitals"),
    ("rooms-usecases", "usecases/context.py", "import lamplighter.usecases.memory.lookup"),
    ("rooms-api", "api/memory/memories.py", "import lamplighter.api.sessions.sessions"),
    ("rooms-api", "api/access/login.py", "import lamplighter.api.agentops.rows"),
]


def section(report: str, contract: str) -> str:
    """Return the section of a report on a broken contract."""
    name = contracts()[contract]
    head = f"\n{name}\n{'-' * len(name)}\n"
    assert head in report, f"{name} is kept"
    rest = report.partition(head)[2]
    return re.split(r"\n[^\n]+\n-{9,}\n", rest)[0]


def named(module: str, statement: str) -> str:
    """Return how a report names an import, or a module without a layer."""
    path = ".".join(("lamplighter", *Path(module).with_suffix("").parts))
    imported = statement.removeprefix("import ")
    if path.endswith("newcomer"):
        return path
    ours = imported.startswith("lamplighter")
    return f"{path} -> {imported if ours else imported.partition('.')[0]} (l."


def test_forbidden_import_breaks_its_contract(copied: Path, tmp_path: Path) -> None:
    tree = shutil.copytree(copied, tmp_path / "broken")
    for _, module, statement in BROKEN:
        with (tree / "lamplighter" / module).open("a", encoding="utf-8") as file:
            file.write(f"\n{statement}\n")

    status, report = lint(tree)

    assert status == 1, report
    permitted = [each for each in BROKEN if named(*each[1:]) not in section(report, each[0])]
    assert permitted == [], report


def test_every_contract_has_a_forbidden_import_in_the_tests() -> None:
    assert {contract for contract, _, _ in BROKEN} == set(contracts())


@walk("path", FILES, ids=lambda path: str(path.relative_to(BACKEND)))
def test_files_and_functions_are_within_the_length_limits(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    functions = [
        f"{node.name}: {(node.end_lineno or 0) - node.lineno + 1} lines"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno + 1 > MAX_FUNCTION_LINES
    ]
    assert functions == []
    assert len(text.splitlines()) <= MAX_FILE_LINES


def test_folders_are_within_the_file_limit() -> None:
    folders = {path.parent for path in FILES}

    assert {
        str(folder.relative_to(BACKEND)): len(list(folder.glob("*.py")))
        for folder in folders
        if len(list(folder.glob("*.py"))) > MAX_FOLDER_FILES
    } == {}


def test_median_function_length_is_at_most_eight_lines() -> None:
    lengths = sorted(
        (node.end_lineno or 0) - node.lineno + 1
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    assert lengths[len(lengths) // 2] <= 8


def test_no_group_of_a_pattern_is_possessive() -> None:
    """Python before 3.11.5 finds nothing where such a group can match in several ways."""
    possessive = re.compile(r"(?<!\\)\)(?:[*?+]\+(?!,)|\{[\d,{}]*\}\+)|\(\?>")
    texts = {path: path.read_text(encoding="utf-8") for path in FILES}

    assert [path.name for path, text in texts.items() if possessive.search(text)] == []


def test_sqlite_library_is_imported_in_one_module() -> None:
    choosing = [
        str(path.relative_to(BACKEND))
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import)
        and any(re.fullmatch("py?sqlite3?|sqlite3", name.name) for name in node.names)
    ]
    assert set(choosing) == {"repository/store/driver.py"}


@pytest.mark.parametrize("name", ["run.lock", "dev.lock"])
def test_python_lock_files_have_hashes_and_no_hosts(name: str) -> None:
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")

    assert "://" not in text
    assert "@ " not in text
    pinned = re.findall(r"^[a-zA-Z0-9][^\n]*==[^\n]*(?:\n[ ]+[^\n]*)*", text, re.MULTILINE)
    assert len(pinned) > 10
    assert [each for each in pinned if "--hash=sha256:" not in each] == []


def test_frontend_lock_file_has_hashes_and_no_hosts() -> None:
    lock = json.loads((ROOT / "frontend" / "package-lock.json").read_text(encoding="utf-8"))
    packages: dict[str, dict[str, Any]] = {
        name: package for name, package in lock["packages"].items() if name
    }

    assert len(packages) > 5
    assert [name for name, package in packages.items() if "resolved" in package] == []
    assert [name for name, package in packages.items() if "integrity" not in package] == []
