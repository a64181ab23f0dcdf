"""The app reads the API by types and values made from its declarations."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_generated_files_of_the_app_are_up_to_date() -> None:
    ended = subprocess.run(
        [sys.executable, ROOT / "frontend" / "build" / "api.py", "--check"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert ended.returncode == 0, ended.stderr
