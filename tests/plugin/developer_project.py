"""A developer's project: the plugin with its settings, the real CLI, and failing servers."""

import json
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from lamplighter.engines.claude import ClaudeEngine

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "plugins" / "claude-code"
HOOK = PLUGIN / "scripts" / "hook.sh"
KEY = "sk-ant-stub-key-0123456789"
CLI_SECONDS = 60


def cli() -> str:
    """Return the path of the real CLI; the test fails without it."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    found = ClaudeEngine(environ={**kept, "ANTHROPIC_API_KEY": KEY}).installed()
    assert found is not None
    return found.path


@dataclass(frozen=True)
class Done:
    """The outcome of a command, and its duration."""

    status: int
    out: str
    err: str
    seconds: float

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def answer(self) -> str:
        """The final text of the model."""
        results = [line for line in self.lines if line["type"] == "result"]
        assert len(results) == 1, self
        return str(results[0]["result"])

    @property
    def context(self) -> str:
        """The context that a hook adds to the session."""
        told: str = json.loads(self.out)["hookSpecificOutput"]["additionalContext"]
        return told


@dataclass
class Desk:
    """A project in a separate directory, and the settings of its developer."""

    path: Path
    url: str = "http://127.0.0.1:9"
    token: str = "lamp_1_nothing-that-anybody-knows"
    name: str = "lantern"
    more: dict[str, str] = field(default_factory=dict)
    transcripts: bool = False

    def __post_init__(self) -> None:
        (self.project / ".git").mkdir(parents=True)
        (self.path / "claude").mkdir()

    @property
    def project(self) -> Path:
        return self.path / self.name

    @property
    def state(self) -> Path:
        return self.path / "state"

    @property
    def session(self) -> str:
        """The id of the project's session, unique to it."""
        return f"{self.path.parent.name}-{self.name}"

    def hook(self, event: str, *, cwd: Path | None = None, **given: Any) -> Done:
        """Run the plugin's hook like the CLI."""
        where = cwd or self.project
        told = {"session_id": self.session, "cwd": str(where), "hook_event_name": event, **given}
        env = {
            "CLAUDE_PLUGIN_OPTION_SERVER_URL": self.url,
            "CLAUDE_PLUGIN_OPTION_TOKEN": self.token,
            "CLAUDE_PLUGIN_DATA": str(self.state),
            "CLAUDE_PROJECT_DIR": str(where),
        }
        return self._run(["sh", str(HOOK), event], env, json.dumps(told), cwd=where)

    def configure(self, plugin: str = "lamplighter@inline") -> None:
        """Store the plugin's settings in the format of the CLI."""
        options = {"server_url": self.url, "transcripts": self.transcripts}
        settings = {"pluginConfigs": {plugin: {"options": options}}}
        secrets = {"pluginSecrets": {plugin: {"token": self.token}}}
        (self.path / "claude" / "settings.json").write_text(json.dumps(settings))
        (self.path / "claude" / ".credentials.json").write_text(json.dumps(secrets))

    def claude(
        self, *words: str, prompt: str = "", api: str = "http://127.0.0.1:9", **more: str
    ) -> Done:
        """Run the CLI in the project."""
        env = {
            "CLAUDE_CONFIG_DIR": str(self.path / "claude"),
            "CLAUDE_CODE_TMPDIR": str(self.path),
            "ANTHROPIC_BASE_URL": api,
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_MAX_RETRIES": "0",
            **more,
        }
        return self._run([cli(), *words], env, prompt, cwd=self.project)

    def asks(self, prompt: str, *words: str, api: str, plugin: bool = True, **more: str) -> Done:
        """Run one session of the CLI, by default with the plugin."""
        flags = ["-p", "--output-format", "stream-json", "--verbose", *words]
        if plugin:
            flags = ["--plugin-dir", str(PLUGIN), *flags]
        return self.claude(*flags, prompt=prompt, api=api, **more)

    def _run(self, argv: list[str], env: dict[str, str], given: str, *, cwd: Path) -> Done:
        base = {"PATH": os.environ["PATH"], "HOME": str(self.path), "LANG": "C.UTF-8"}
        full = {**base, **env, **self.more}
        if not any(shutil.which(name, path=full["PATH"]) for name in ("curl", "lamplighter")):
            pytest.skip("the plugin's script needs curl, which could not be installed here")
        began = time.monotonic()
        ended = subprocess.run(
            argv,
            input=given,
            env=full,
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=CLI_SECONDS,
            check=False,
        )
        seconds = time.monotonic() - began
        while [*self.path.rglob("heads.*")] and time.monotonic() < began + CLI_SECONDS:
            time.sleep(0.02)  # what is sent in the background
        return Done(ended.returncode, ended.stdout, ended.stderr, seconds)


Answer = Callable[[socket.socket], None]


def says(content: bytes, status: str = "200 OK") -> Answer:
    """Return a server that always sends this response."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\n"

    def answer(peer: socket.socket) -> None:
        read_request(peer)
        peer.sendall(f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content)

    return answer


def slow(answer: Answer, seconds: float) -> Answer:
    """Return a server that responds after a delay."""

    def later(peer: socket.socket) -> None:
        time.sleep(seconds)
        answer(peer)

    return later


def hangs(peer: socket.socket) -> None:
    """Read everything and never respond."""
    while peer.recv(65_536):
        pass


def hangs_up(peer: socket.socket) -> None:
    """Close the connection in the middle of a response."""
    read_request(peer)
    peer.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{"hookSpecificOutput":{')


def read_request(peer: socket.socket) -> bytes:
    """Read a complete request and return its body."""
    read = b""
    while b"\r\n\r\n" not in read:
        read += peer.recv(65_536)
    head, _, body = read.partition(b"\r\n\r\n")
    fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
    while len(body) < int(fields.get(b"content-length", b"0")):
        body += peer.recv(65_536)
    return body


@dataclass
class Bad:
    """A server with a scripted response, and the number of its requests."""

    url: str
    asked: int = 0


@contextmanager
def bad(answer: Answer) -> Iterator[Bad]:
    """Serve on loopback, with a thread for each connection."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        found = Bad(f"http://127.0.0.1:{listening.getsockname()[1]}")
        peers: list[socket.socket] = []
        threads: list[threading.Thread] = []

        def serve(peer: socket.socket) -> None:
            with peer, suppress(OSError):
                answer(peer)

        def accept() -> None:
            with suppress(OSError):
                while True:
                    peer, _ = listening.accept()
                    found.asked += 1
                    peers.append(peer)
                    threads.append(threading.Thread(target=serve, args=(peer,)))
                    threads[-1].start()

        accepting = threading.Thread(target=accept)
        accepting.start()
        try:
            yield found
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            for peer in peers:
                with suppress(OSError):
                    peer.shutdown(socket.SHUT_RDWR)
            for thread in (accepting, *threads):
                thread.join(10)
