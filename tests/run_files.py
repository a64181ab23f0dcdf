"""The runtime directory of a test process: the sockets of its homes, removed at its end."""

import os
import shutil
from pathlib import Path

import psutil

PREFIX = "lamp-run-"
VARIABLE = "XDG_RUNTIME_DIR"


def make() -> Path:
    """Create the directory, name it in the environment and remove those of killed test runs.

    Its path is short: the product puts sockets elsewhere when it has more than 32 bytes.
    """
    for left in Path("/tmp").glob(f"{PREFIX}*"):
        if not psutil.pid_exists(int(left.name.removeprefix(PREFIX))):
            shutil.rmtree(left, ignore_errors=True)
    path = Path(f"/tmp/{PREFIX}{os.getpid()}")
    path.mkdir(mode=0o700, exist_ok=True)
    os.environ[VARIABLE] = str(path)
    return path
