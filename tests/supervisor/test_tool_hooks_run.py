"""Tool hooks in the supervisor: on the output of engines, and at the socket of a session."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from gates import gate, opened
from homes import Home
from inline_supervisor import leading

from contexts import OPEN, context
from lamplighter import clock
from lamplighter.domain.clients.tool_hooks import Hooks, InjectRule, SaveRule
from lamplighter.domain.memory.memory import Candidate, Category
from lamplighter.domain.services.service import Services
from lamplighter.repository import Database
from lamplighter.repository.sessions import sessions
from lamplighter.repository.store import driver, tables
from lamplighter.supervisor.run import follow
from lamplighter.supervisor.tools import gateway
from lamplighter.supervisor.tools.toolbox import Toolbox
from lamplighter.usecases.clients import tool_hooks
from lamplighter.usecases.ingest import session_lines
from lamplighter.usecases.memory import curate
from lamplighter.usecases.sessions.toolbox import Tool, ToolOutput

ERRORS = Hooks(save=(SaveRule(tool="bash", category=Category.BUGFIX, match_output="error|fatal"),))
LOOKS = Hooks(inject=(InjectRule(tool="look"),))
RULE = '\n[[save_rules]]\ntool = "bash"\ntype = "bugfix"\nmatch_output = "error|panic|fatal"\n'


def test_save_rule_stores_the_output_of_a_tool(home: Home) -> None:
    (home.path / "lamplighter.toml").write_text(RULE)
    home.engine("tool", "Bash", "fatal: no route")

    done = home.run("run")

    assert done.returncode == 0, done.stderr
    columns = "category, title, observation, kind, trust, confidence, source, source_ref"
    [row] = home.rows(f"SELECT {columns} FROM memories")
    assert row[:3] == ("bugfix", "bash: fatal: no route", '{"command": "ping db"}\nfatal: no route')
    assert row[3:7] == ("episodic", "unverified", 0.6, "captured")
    assert str(row[7]).startswith("session 1, byte ")


def test_invalid_rule_pattern_is_refused_with_its_line(home: Home) -> None:
    (home.path / "lamplighter.toml").write_text(RULE.replace("panic|", "(?!panic)"))

    done = home.run("run")

    assert done.returncode == 2
    assert "lamplighter.toml:5: save_rules 1, match_output:" in done.stderr
    assert "Traceback" not in done.stderr


async def test_tool_result_ingested_after_a_restart_is_matched_with_its_use(
    db: Database, tmp_path: Path
) -> None:
    async with leading(db, tmp_path, "tool", "Bash", "fatal: x", hooks=ERRORS) as bench:
        session = await bench.make(engine="exec")
        here, [kept] = bench.supervisor.context, await bench.rows("memories")
        [lines] = here.files.lines(session)
        half = replace(session, log_offset=lines[0].end)

        ingest = follow.session_ingest(here, half, Services())
        await session_lines.ingest(ingest, lines[1:], now=clock.now())

        [again] = await bench.rows("memories")
    assert (kept["duplicate_count"], again["duplicate_count"]) == (1, 2)


async def ask(path: Path, tool: str, **given: Any) -> dict[str, Any]:
    reader, writer = await asyncio.open_unix_connection(path)
    writer.write(json.dumps({"tool": tool, "input": given}).encode() + b"\n")
    await writer.drain()
    found: dict[str, Any] = json.loads(await asyncio.wait_for(reader.readline(), 10))
    writer.close()
    return found


@pytest.mark.parametrize(("rules", "told"), [(LOOKS, True), (Hooks(), False), (ERRORS, False)])
async def test_inject_rule_adds_memories_to_a_tool_result(
    db: Database, tmp_path: Path, rules: Hooks, told: bool
) -> None:
    session = await opened(db)
    known = Candidate(
        category=Category.TIMING, service="web", observation="Slow", tier=0, session_id=None
    )
    await curate.create(context(db, clock.now()), known)
    searched: list[int] = []

    async def look(given: Mapping[str, Any]) -> ToolOutput:
        rows = await db.fetch_all(tables.searches.select())
        searched.append(len(rows))
        return ToolOutput(text=f"{given['service']} is up")

    async def recall(tool: str, given: Mapping[str, Any]) -> str:
        now = clock.now()
        return await tool_hooks.tool_context(
            context(db, now), rules, session, tool, given, clean=OPEN
        )

    tool = Tool(name="look", about="Looks.", schema={}, use=look)
    box = Toolbox(gate=gate(db, session), tools=(tool,), recall=recall)
    async with gateway.serve_gate(box, tmp_path / "gate.sock") as path:
        answer = await ask(path, "look", service="web")

    assert answer["text"].startswith("web is up")
    assert ("- [timing] Slow (confidence: 0.7)" in answer["text"]) == told
    assert searched == [int(told)]  # before the tool ran


async def test_tool_result_is_returned_if_the_recall_fails(db: Database, tmp_path: Path) -> None:
    async def use(given: Mapping[str, Any]) -> ToolOutput:
        return ToolOutput(text="up")

    async def recall(tool: str, given: Mapping[str, Any]) -> str:
        raise driver.OperationalError("database is locked")

    tool = Tool(name="look", about="Looks.", schema={}, use=use)
    box = Toolbox(gate=gate(db, await opened(db)), tools=(tool,), recall=recall)

    assert await box.use("look", {}) == ToolOutput(text="up")
    assert await sessions.running(db)
