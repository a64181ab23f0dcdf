"""The wheel contains only the product, and runs from an empty environment without Node."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from email import message_from_string
from pathlib import Path

import httpx2
import psutil
import pytest

from lamplighter import __version__
from living import free_port

ROOT = Path(__file__).parents[2]
DIST = ROOT / "frontend" / "dist"
UV = Path(sys.executable).with_name("uv")
PLACES = {
    "backend/lamplighter/": "lamplighter/",
    "migrations/": "lamplighter/_assets/migrations/",
    "prompts/": "lamplighter/_assets/prompts/",
}
INFO = f"lamplighter-{__version__}.dist-info/"
STRAY = ("migrations/__pycache__/env.cpython-311.pyc", "backend/lamplighter/__pycache__/x.pyc")


def tracked() -> list[str]:
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, timeout=30
        )
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"this is no checkout: {error}")
    return [name for name in listed.stdout.decode().split("\0") if name]


def built() -> list[str]:
    """Return the names of the files of the built app."""
    files = [path for path in DIST.rglob("*") if path.is_file()]
    return [str(path.relative_to(DIST)) for path in files if path.name != ".stamp"]


@pytest.fixture(scope="session")
def export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a clean export of the tracked files, with the built app and some stray files."""
    path = tmp_path_factory.mktemp("export")
    for name in tracked():
        if (ROOT / name).is_file():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, path / name)
    shutil.copytree(DIST, path / "frontend" / "dist")
    (path / "frontend" / "dist" / ".stamp").touch()
    for name in STRAY:
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_bytes(b"litter")
    return path


def build(export: Path, target: str, to: Path) -> Path:
    """Build a package of this kind, and return its file."""
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(to)],
        cwd=export,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    [found] = to.iterdir()
    return found


@pytest.fixture(scope="session")
def wheel(export: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(export, "wheel", tmp_path_factory.mktemp("wheel"))


def names_in(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as opened:
        return opened.namelist()


def placed(name: str) -> str | None:
    """Return the place of a tracked file in the wheel; None if it has none."""
    for here, there in PLACES.items():
        if name.startswith(here):
            return there + name.removeprefix(here)
    return None


def test_wheel_contains_only_tracked_files_and_the_built_app(wheel: Path) -> None:
    code = [there for name in tracked() if (there := placed(name)) and (ROOT / name).is_file()]
    app = [f"lamplighter/_assets/web/{name}" for name in built()]
    described = ("METADATA", "WHEEL", "entry_points.txt", "licenses/LICENSE", "RECORD")

    assert len(code) > 150
    assert "lamplighter/_assets/web/index.html" in app
    assert sorted(names_in(wheel)) == sorted([*code, *app, *(INFO + each for each in described)])


def test_wheel_metadata_states_name_version_license_and_dependencies(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        told = message_from_string(opened.read(INFO + "METADATA").decode())
        entries = opened.read(INFO + "entry_points.txt").decode()
        tag = message_from_string(opened.read(INFO + "WHEEL").decode())["Tag"]

    assert (told["Name"], told["Version"]) == ("lamplighter", __version__)
    assert told["License-Expression"] == "Apache-2.0"
    assert told["Requires-Python"] == ">=3.11"
    assert entries.split() == ["[console_scripts]", "lamplighter", "=", "lamplighter.__main__:main"]
    assert tag == "py3-none-any"
    required = [each for each in told.get_all("Requires-Dist", []) if "extra ==" not in each]
    wanted = {re.split(r"[\[<>=;]", each)[0] for each in required}
    pinned = (ROOT / "requirements" / "run.in").read_text()
    assert wanted == {re.split(r"[\[<>=;]", each)[0] for each in pinned.split("\n") if each}


def test_a_wheel_is_built_from_the_source_package_alone(
    export: Path, wheel: Path, tmp_path: Path
) -> None:
    source = build(export, "sdist", tmp_path / "sdist")
    with tarfile.open(source) as opened:
        names = [name.partition("/")[2] for name in opened.getnames()]
        opened.extraction_filter = getattr(tarfile, "data_filter", None)  # from Python 3.11.4 on
        opened.extractall(tmp_path / "unpacked")
    [unpacked] = (tmp_path / "unpacked").iterdir()

    assert {"pyproject.toml", "README.md", "LICENSE", "frontend/dist/index.html"} <= set(names)
    assert not [name for name in names if "__pycache__" in name or name.endswith(".stamp")]
    assert not [name for name in names if "node_modules" in name or name.startswith(".venv")]
    again = build(unpacked, "wheel", tmp_path / "wheel")
    assert sorted(names_in(again)) == sorted(names_in(wheel))


def test_wheel_build_fails_without_the_built_app(export: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    shutil.copytree(export, bare, ignore=shutil.ignore_patterns("dist"))

    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "out")],
        cwd=bare,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode != 0
    assert "The app is not built yet" in done.stderr


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel with its locked packages into an empty environment; return its bin."""
    place = tmp_path_factory.mktemp("installed") / "venv"
    env = {**os.environ, "VIRTUAL_ENV": str(place)}
    env.pop("PYTHONPATH", None)
    lock = str(ROOT / "requirements" / "run.lock")
    for words in (
        ("venv", "-q", "--python", sys.executable, str(place)),
        ("pip", "sync", "-q", "--require-hashes", lock),
        ("pip", "install", "-q", "--no-deps", str(wheel)),
    ):
        done = subprocess.run(
            [str(UV), *words], env=env, capture_output=True, text=True, timeout=110, check=False
        )
        assert done.returncode == 0, done.stderr
    return place / "bin"


@pytest.fixture
def env(installed: Path, tmp_path: Path) -> dict[str, str]:
    """Return an environment without Node, a checkout or a user's home."""
    (tmp_path / "nothing").mkdir()
    return {
        "PATH": f"{installed}:{tmp_path / 'nothing'}",
        "HOME": str(tmp_path),
        "LAMPLIGHTER_HOME": str(tmp_path / "home"),
        "LAMPLIGHTER_PORT": str(free_port()),
    }


def run(installed: Path, env: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(installed / "lamplighter"), *words],
        env=env,
        cwd=env["HOME"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_installed_command_migrates_passes_doctor_and_runs_a_session(
    installed: Path, env: dict[str, str]
) -> None:
    assert shutil.which("node", path=env["PATH"]) is None

    version = run(installed, env, "--version")
    migrated = run(installed, env, "migrate")
    again = run(installed, env, "migrate")
    looked = run(installed, env, "doctor")
    ran = run(installed, env, "run", "--tier", "1")

    assert version.stdout == f"lamplighter, version {__version__}\n"
    assert migrated.stdout.startswith("Migrated to revision "), migrated.stderr
    assert again.stdout.startswith("Already at revision "), again.stderr
    assert looked.returncode == 0, looked.stdout
    assert str(installed.parent) in looked.stdout, "the app is not the one of the wheel"
    assert "Session 1" in ran.stderr, ran.stderr


@pytest.fixture
def up(installed: Path, env: dict[str, str], tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [str(installed / "lamplighter"), "up"],
            env=env,
            cwd=tmp_path,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    yield process
    process.kill()
    process.wait()


def test_installed_up_serves_the_app_and_leaves_no_processes(
    up: subprocess.Popen[bytes], env: dict[str, str], tmp_path: Path
) -> None:
    url = f"http://127.0.0.1:{env['LAMPLIGHTER_PORT']}"
    until_ready(url, tmp_path / "log")
    token = (Path(env["LAMPLIGHTER_HOME"]) / "token").read_text().strip()
    page = httpx2.get(url, timeout=10, headers={"Authorization": f"Bearer {token}"})
    family = psutil.Process(up.pid).children(recursive=True)

    up.send_signal(signal.SIGTERM)

    assert up.wait(20) == 0
    assert page.status_code == 200, page.text
    assert "<title>Lamplighter</title>" in page.text
    assert len(family) >= 2
    _, living = psutil.wait_procs(family, timeout=10)
    assert living == []


def until_ready(url: str, log: Path) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with suppress(httpx2.HTTPError):
            if httpx2.get(f"{url}/readyz", timeout=5).status_code == 200:
                return
        time.sleep(0.05)
    raise AssertionError(log.read_text())
