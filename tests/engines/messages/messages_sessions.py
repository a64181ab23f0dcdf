"""Sessions of the engine `messages` against the stand-in of its API, and a gate for them."""

import json
import os
import socketserver
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

import nursery
from lamplighter.domain.sessions.cost import Price
from lamplighter.domain.sessions.transcript import TranscriptItem
from lamplighter.engines import stream
from lamplighter.engines.messages import checkpoint
from lamplighter.engines.messages.asking import GateClient
from lamplighter.engines.messages.model import Model
from lamplighter.engines.messages.request import MessagesRequest
from lamplighter.engines.messages.turns import TurnLoop

PROMPT = "Find out what is wrong with caddy."
CHEAP = Price(input=1.0, output=5.0, cache_read=0.1, cache_write=1.25)
LOOK = {"name": "look", "about": "Looks.", "schema": {"type": "object", "properties": {}}}

Use = Callable[[str, Mapping[str, Any]], dict[str, Any]]


def seen(_: str, given: Mapping[str, Any]) -> dict[str, Any]:
    return {"text": f"{given.get('service', 'all')} is up", "is_error": False, "found": None}


@dataclass
class Desk:
    """The server at the gate: its tools, the prompt updates in order, and the recorded requests."""

    path: str
    use: Use = seen
    told: list[str] = field(default_factory=lambda: ["## Environment\n"])
    asked: list[dict[str, Any]] = field(default_factory=list)

    def answer(self, question: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(question)
        match question:
            case {"tools": True}:
                return {"tools": [LOOK]}
            case {"context": _}:
                text = self.told.pop(0) if len(self.told) > 1 else self.told[0]
                return {"text": text, "handoffs": [{"service": "caddy"}], "approvals": []}
            case {"tool": name, "input": given}:
                return self.use(name, given)
        return {"text": "?", "is_error": True}

    @property
    def used(self) -> list[tuple[str, Any]]:
        return [(each["tool"], each["input"]) for each in self.asked if "tool" in each]

    @property
    def queries(self) -> list[str]:
        return [each["context"]["query"] for each in self.asked if "context" in each]


@contextmanager
def desk(directory: Path, **more: Any) -> Iterator[Desk]:
    """Answer at a gate of this directory while the context lasts."""
    here = Desk(str(directory / "gate.sock"), **more)

    class Answering(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            for line in self.rfile:
                self.wfile.write(json.dumps(here.answer(json.loads(line))).encode() + b"\n")

    with socketserver.ThreadingUnixStreamServer(here.path, Answering) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield here
        finally:
            server.shutdown()
            thread.join(10)


@dataclass
class Session:
    """One session: its task, its model's address, and the lines it printed."""

    url: str
    directory: Path
    gate: str
    asked: dict[str, Any] = field(default_factory=dict)
    lines: list[dict[str, Any]] = field(default_factory=list)

    @property
    def request(self) -> MessagesRequest:
        given: dict[str, Any] = {
            "session": 7,
            "model": "claude-haiku-4-5",
            "system": "You investigate.",
            "injected": "## Environment\n",
            "prompt": PROMPT,
            "gate": self.gate,
            "chain": {"tier": 2, "parent": 6},
            "price": CHEAP,
        }
        return MessagesRequest(**{**given, **self.asked})

    def turns(self, **more: Any) -> TurnLoop:
        """Run the session as in a separate process."""
        asked = self.request
        state = checkpoint.Checkpoint(session=7, chain=asked.chain, model=asked.model)
        environ = {"ANTHROPIC_BASE_URL": self.url, "ANTHROPIC_API_KEY": "sk-ant-test"}
        return TurnLoop(
            request=asked,
            state=more.get("state") or state,
            model=Model(asked.model, environ),
            gate=GateClient(self.gate),
            directory=self.directory,
            write=self.lines.append,
        )

    async def run(self, **more: Any) -> None:
        turns = self.turns(**more)
        await turns.run()
        await turns.model.close()

    def start(self) -> subprocess.Popen[bytes]:
        """Start the session as a process that appends to its file."""
        env = {"PATH": os.environ["PATH"], "ANTHROPIC_BASE_URL": self.url}
        with self.file.open("ab") as out, (self.directory / "err").open("ab") as err:
            streams = {"stdin": subprocess.PIPE, "stdout": out, "stderr": err}
            argv = ("-m", "lamplighter.engines.messages")
            process = nursery.python(*argv, env=env, cwd=self.directory, **streams)
        assert process.stdin is not None
        process.stdin.write(msgspec.json.encode(self.request))
        process.stdin.close()
        return process

    @property
    def file(self) -> Path:
        return self.directory / "7.jsonl"

    @property
    def printed(self) -> list[dict[str, Any]]:
        """The lines of its file."""
        return [json.loads(line) for line in self.file.read_bytes().splitlines() if line.strip()]

    @property
    def items(self) -> list[TranscriptItem]:
        """The session's output, as the supervisor reads it."""
        lines = self.lines or self.printed
        return [item for line in lines for item in stream.parse(json.dumps(line).encode())]
