"""Programs that act as another process, run by the interpreter of the tests."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import nursery

Spawn = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def spawn(tmp_path: Path) -> Iterator[Spawn]:
    """Start a small program in another process, which is killed at the end of the test."""
    started: list[subprocess.Popen[str]] = []

    def start(program: str, *arguments: str) -> "subprocess.Popen[str]":
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        env = {**os.environ, "LAMPLIGHTER_HOME": str(tmp_path)}
        process = nursery.python("-c", program, *arguments, **pipes, text=True, env=env)
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=30)
