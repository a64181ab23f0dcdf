"""Write what the app takes from the API: the types of its answers.

`python frontend/build/api.py` writes the files; `--check` fails if one is out of date.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from lamplighter.api.openapi import openapi

FRONTEND = Path(__file__).parents[1]
GENERATED = FRONTEND / "generated"
NODE = FRONTEND.parent / ".venv" / "node" / "bin"


def types() -> str:
    """Return the shapes of the API as TypeScript; the paths have no reader."""
    options = ["--empty-objects-unknown", "--default-non-nullable", "false"]
    return subprocess.run(
        [FRONTEND / "node_modules" / ".bin" / "openapi-typescript", *options],
        input=json.dumps({**openapi(), "paths": {}}),
        env={**os.environ, "PATH": f"{NODE}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout


def stale() -> list[Path]:
    """Return the files that differ from the API, and write nothing."""
    return [path for path, text in generated().items() if _read(path) != text]


def generated() -> dict[Path, str]:
    """Return each generated file and its text."""
    return {GENERATED / "api.d.ts": types()}


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


if __name__ == "__main__":
    if "--check" in sys.argv:
        outdated = [path.name for path in stale()]
        sys.exit(f"Run `make types`: {', '.join(outdated)}" if outdated else 0)
    for path, text in generated().items():
        path.write_text(text, encoding="utf-8")
