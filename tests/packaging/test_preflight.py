"""The setup checks its requirements first, and advises how to install missing ones."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OLD_PYTHON = "#!/bin/sh\ncase $2 in *exit*) exit 1;; *) echo 3.9.2;; esac\n"


def preflight(python: str, path: str = os.environ["PATH"]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "requirements/preflight.sh", python],
        cwd=ROOT,
        env={"PATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def program(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_preflight_prints_one_ok_line_per_met_requirement() -> None:
    ran = preflight(sys.executable)

    assert (ran.returncode, ran.stderr) == (0, "")
    assert [line.split()[0] for line in ran.stdout.splitlines()] == ["ok"] * 5


def test_preflight_reports_missing_python_and_builds_nothing() -> None:
    ran = preflight("no-such-python")

    assert ran.returncode == 1
    assert "missing  Python 3.11 or newer: install it" in ran.stderr
    assert ran.stderr.endswith("Nothing was built. Install what is missing, then run make again.\n")


def test_preflight_reports_the_version_of_an_old_python(tmp_path: Path) -> None:
    ran = preflight(str(program(tmp_path / "python3", OLD_PYTHON)))

    assert ran.returncode == 1
    assert "python3 is 3.9.2. Name a newer one: make PYTHON=python3.12" in ran.stderr


def test_preflight_announces_node_as_a_python_package_if_none_is_installed(tmp_path: Path) -> None:
    for name in ("df", "awk"):
        found = next(
            Path(folder, name)
            for folder in os.environ["PATH"].split(":")
            if Path(folder, name).exists()
        )
        (tmp_path / name).symlink_to(found)

    ran = preflight(sys.executable, str(tmp_path))

    assert ran.returncode == 0
    assert "Node: none here, it comes as a Python package" in ran.stdout


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_preflight_reports_missing_write_permission(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    ran = subprocess.run(
        ["/bin/sh", str(ROOT / "requirements/preflight.sh"), sys.executable],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "missing  write permission" in ran.stderr
