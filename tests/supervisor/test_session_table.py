"""The tools that the session server offers are those of the table; their hints are true."""

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from gates import EVERY_TIER, RESTART, opened
from test_tool_interfaces import by_mcp, called
from toolboxes import box

from lamplighter.domain.services.check import TcpCheck
from lamplighter.domain.services.service import Service, Services
from lamplighter.formats.tools import SESSION_TOOLS
from lamplighter.formats.tools.definition import READS, RECORDS, ToolHints
from lamplighter.repository import Database
from lamplighter.repository.store.tables import complete_metadata
from lamplighter.supervisor.tools.toolbox import Toolbox
from tool_hints import as_annotations

SHUT = TcpCheck(name="port", host="127.0.0.1", port=9, timeout=5.0, retries=0)
CHECKED = Service(name="Web", checks=(SHUT,))
SERVICES = Services((CHECKED, Service(name="other", actions=(RESTART,))))
SAVED = {"category": "timing", "observation": "Takes 60s to start", "service": "web"}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "look": {"service": "web"},
    "run_action": {"service": "other", "action": "restart", "reason": "Refuses connections"},
    "run_command": {"command": "uname -r", "reason": "Its kernel"},
    "mem_search": {"query": "start"},
    "read_memory": {"id": 1},
    "mem_save": SAVED | {"observation": "Needs the database"},
    "handoff": {"service": "web", "reason": "Still down"},
}


async def whole(db: Database, root: Path) -> Toolbox:
    """Return all tools."""
    session = await opened(db, tier=3)
    return box(db, session, roots=(root,), active=EVERY_TIER, services=SERVICES)


async def every_row(db: Database) -> dict[str, list[str]]:
    return {
        table.name: sorted(map(repr, map(tuple, await db.fetch_all(sa.select(table)))))
        for table in complete_metadata().sorted_tables
    }


async def test_session_server_lists_the_tools_of_the_table(db: Database, tmp_path: Path) -> None:
    async with by_mcp(await whole(db, tmp_path)) as client:
        listed = (await client.list_tools()).tools

    assert [(each.name, each.title, each.description, each.input_schema) for each in listed] == [
        (each.name, each.title, each.about, each.schema) for each in SESSION_TOOLS
    ]
    for each, declared in zip(listed, SESSION_TOOLS, strict=True):
        assert each.annotations is not None
        annotations = each.annotations.model_dump(by_alias=True, exclude_none=True)
        assert annotations == as_annotations(declared.hints)


@pytest.mark.parametrize("declared", SESSION_TOOLS, ids=lambda each: each.name)
async def test_only_tools_without_the_read_only_hint_write(
    db: Database, tmp_path: Path, declared: Any
) -> None:
    log = tmp_path / "main.log"
    log.write_text("Ended\n")
    given = ARGUMENTS.get(declared.name, {"path": str(log)})
    async with by_mcp(await whole(db, tmp_path)) as client:
        await called(client, "mem_save", SAVED)
        before = await every_row(db)
        _, failed, _ = await called(client, declared.name, given)
        after = await every_row(db)

    assert not failed
    assert (after == before) == declared.hints.read_only


async def test_tools_with_memory_recall_are_not_read_only(db: Database, tmp_path: Path) -> None:
    async def recall(tool: str, given: object) -> str:
        return ""

    tools = await whole(db, tmp_path)
    hints = {each.name: each.hints for each in tools.tools}
    recalls = Toolbox(gate=tools.gate, tools=tools.tools, recall=recall)

    assert hints["read_file"] == READS
    assert {each.name: each.hints for each in recalls.tools} == hints | {"read_file": RECORDS}
    assert hints["look"] == ToolHints(open_world=True)
