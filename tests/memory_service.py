"""A real `lamplighter memory-service` process, beside the web process of the same home or alone."""

import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass

import httpx2

import nursery
from living import STARTING_SECONDS, Server


@dataclass
class MemoryService(Server):
    """A memory service on its own port."""

    words: tuple[str, ...] = ()

    @property
    def log(self) -> str:
        return (self.home.path / "memory.log").read_text()

    def start(self) -> None:
        with (self.home.path / "memory.log").open("ab") as log:
            env = self.home.env | {"LAMPLIGHTER_MEMORY_PORT": str(self.port)}
            words = ("memory-service", *self.words)
            self._process = nursery.start(*words, env=env, stdout=log, stderr=log)
        self._until_ready()

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process

    def _until_ready(self) -> None:
        deadline = time.monotonic() + STARTING_SECONDS
        while time.monotonic() < deadline:
            with suppress(httpx2.HTTPError):
                if httpx2.get(f"{self.url}/health", timeout=5).status_code == 200:
                    return
            time.sleep(0.05)
        raise AssertionError(f"the memory service did not start:\n{self.log}")
