"""A session of an engine with tools: its prompt describes them, and it uses them."""

import json
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest
from inline_supervisor import leading

from lamplighter.config.settings import read_settings
from lamplighter.domain.errors import LamplighterError
from lamplighter.domain.services.service import Service, Services
from lamplighter.domain.sessions.context import MemoryBlock
from lamplighter.domain.sessions.session import SessionPlan
from lamplighter.engines import Command, EngineInput, ToolEndpoint, Trait
from lamplighter.engines.exec import ExecEngine
from lamplighter.mcp.session_server import SessionServer
from lamplighter.repository import Database
from lamplighter.repository.memory import exposures, memories
from lamplighter.repository.memory.memories import MemoryFilter, Sort
from lamplighter.repository.sessions import escalations
from lamplighter.serve import home, supervisor
from lamplighter.serve.verify import tools
from lamplighter.supervisor.tools.readable import Readable
from lamplighter.usecases.sessions.prompts import prompt_of, system_prompt

USER = Path(__file__).parents[1] / "fakes" / "tool_user.py"
SERVICES = Services((Service(name="Web"),), path="here")


class ToolEngine(ExecEngine):
    """An engine with tools, over the socket and over MCP."""

    name = "model"
    traits = frozenset({Trait.TOOLS, Trait.MCP})
    door: ToolEndpoint | None = None

    def command(self, task: EngineInput) -> Command:
        command, self.door = super().command(task), task.tools
        assert self.door is not None
        found = {"DOOR_URL": self.door.url, "DOOR_TOKEN": self.door.token}
        return replace(command, env={**command.env, **found})


async def test_session_tools_work_only_while_the_session_runs(db: Database, tmp_path: Path) -> None:
    engine = ToolEngine(shlex.join([sys.executable, "-S", str(USER)]))
    async with (
        SessionServer() as doors,
        leading(db, tmp_path, services=SERVICES, open_tools=doors.open) as bench,
    ):
        bench.change(engines={"model": engine}, readable=Readable(roots=(tmp_path,)), max_tier=2)
        session = await bench.make(tier=2)
        assert engine.door is not None
        shown = {"Authorization": f"Bearer {engine.door.token}"}
        async with httpx2.AsyncClient(trust_env=False) as http:
            late = await http.post(engine.door.url, json={}, headers=shown)

    prompt = await exposures.prompt(db, session.id)
    assert prompt is not None
    names = ["look", "read_file", "mem_search", "read_memory", "mem_save", "handoff"]
    assert prompt.system == system_prompt(2, names)
    assert "run_action" not in prompt.system.partition("## Tools")[2]
    (held,) = (await memories.page(db, MemoryFilter(), sort=Sort.CREATED, limit=9)).items
    source = f"session {session.id}, mem_save"
    assert (held.session_id, held.tier, held.source_ref) == (session.id, 2, source)
    (handed,) = await escalations.of_sessions(db, [session.id])
    assert (handed.service, handed.tier) == ("Web", 3)
    assert late.status_code == 401
    said = json.loads((tmp_path / "sessions" / f"{session.id}.jsonl").read_text().splitlines()[1])
    told = json.loads(said["message"]["content"][0]["text"])
    assert told == [
        names,
        f"Learned: memory {held.id}, no similar memory.",
        "Web will be escalated to a person at once.",
    ]


async def test_prompt_of_an_engine_without_tools_lists_none(db: Database, tmp_path: Path) -> None:
    async with leading(db, tmp_path, "lines", "All is well") as bench:
        session = await bench.make(tier=1)

    prompt = await exposures.prompt(db, session.id)
    assert prompt is not None
    assert prompt.system == system_prompt(1)


def test_preview_lists_the_tools_of_the_engine_of_a_tier(tmp_path: Path) -> None:
    environ = {
        "LAMPLIGHTER_HOME": str(tmp_path),
        "LAMPLIGHTER_ENGINE_TIER2": "claude",
        "LAMPLIGHTER_ENGINE_TIER3": "messages",
        "LAMPLIGHTER_SHELL_TIERS": "3",
    }
    found = home.tools(read_settings(environ))

    common = ("mem_search", "read_memory", "mem_save", "handoff")
    assert found == {
        1: (),
        2: ("look", *common),
        3: ("look", "run_action", "run_command", *common),
    }
    asked = prompt_of(SessionPlan(tier=2, tools=found[2]), MemoryBlock(), "", budget=0)
    assert asked.system == system_prompt(2, found[2])


def test_files_and_secrets_of_lamplighter_are_never_readable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = {"LAMPLIGHTER_HOME": str(tmp_path / "home"), "LAMPLIGHTER_READ_ROOTS": str(tmp_path)}
    settings = read_settings(environ)
    settings.home.mkdir()
    database, mounted = tmp_path / "elsewhere.db", tmp_path / "secrets"
    monkeypatch.setattr(tools, "MOUNTED_SECRETS", mounted)
    mounted.mkdir()
    wal, secret = Path(f"{database}-wal"), mounted / "key"
    for path in (settings.home / "token", settings.services, database, wal, secret):
        path.touch()
    settings = replace(settings, database_url=f"sqlite:///{database}")

    readable = supervisor.readable(settings)

    assert readable.roots == (tmp_path,)
    for path in (settings.home / "token", settings.services, database, wal, secret):
        with pytest.raises(LamplighterError, match="belongs to Lamplighter"):
            readable.read(str(path), offset=0, limit=10)
