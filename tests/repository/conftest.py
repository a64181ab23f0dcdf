"""A small database, and programs that act as another process."""

import os
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from counting import empty, make

import nursery
from lamplighter.repository import Database

Spawn = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
async def plain(tmp_path: Path) -> AsyncIterator[Database]:
    """Open a database with a counter at 0 and an empty table of things."""
    async with Database(empty(tmp_path / "plain.db")) as db:
        await make(db)
        yield db


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
