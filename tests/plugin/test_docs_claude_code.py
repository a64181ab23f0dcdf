"""docs/how-to/claude-code.md is accurate: its commands, tables, figures and example."""

import json
import re
import tomllib

from developer_project import PLUGIN, ROOT, Desk

from lamplighter.api.clients import hooks
from lamplighter.domain.clients.interactive_text import TEXT_CHARS
from lamplighter.domain.memory.corrections import MAX_CORRECTIONS, find_corrections
from lamplighter.domain.sessions.session import ProfileLimits
from lamplighter.hook import EVENTS
from lamplighter.usecases.clients import interactive
from lamplighter.usecases.clients import tool_hooks as captured
from living import Server

PAGE = (ROOT / "docs" / "how-to" / "claude-code.md").read_text()


def rows(heading: str) -> list[list[str]]:
    """Return the rows of the table below a heading."""
    part = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    found = [line.strip("| ").split(" | ") for line in part.splitlines() if line.startswith("|")]
    return found[2:]


def test_docs_list_exactly_the_supported_hook_events() -> None:
    told = [row[0].strip("`") for row in rows("Events")]
    assert set(told) == set(hooks.EVENTS) == {*EVENTS.values(), hooks.TRANSCRIPT}
    assert all(f"`{each}`" in PAGE for each in EVENTS)


def test_docs_examples_of_captured_prompts_get_the_stated_category() -> None:
    examples = rows("Captured prompts")
    assert len(examples) == 6
    for prompt, category in examples:
        assert [each.category for each in find_corrections(prompt)] == [category], prompt
    assert MAX_CORRECTIONS < captured.CAPTURES


def test_docs_figures_match_the_limits_in_the_code() -> None:
    told = ProfileLimits()
    for figure in (
        f"{TEXT_CHARS:,} characters",
        f"up to {told.procedures} memories",
        f"{told.project} memories of the project",
        f"up to {told.decisions} decisions of the last {told.decision_age.days} days",
        f"up to {interactive.MAX_INCLUDED} memories",
        f"{captured.CAPTURES} such memories",
        f"confidence {interactive.CONFIDENCE}",
    ):
        assert figure in " ".join(PAGE.split()), figure


def test_docs_commands_match_the_plugin_manifest(server: Server) -> None:
    shop = json.loads((PLUGIN.parent / ".claude-plugin" / "marketplace.json").read_text())
    plugin = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text())
    assert f"claude plugin install {plugin['name']}@{shop['name']} " in PAGE
    for each in plugin["userConfig"]:
        assert f"--config {each}=" in PAGE
    [command] = re.findall(r"^lamplighter (token create .*)$", PAGE, re.MULTILINE)
    assert command in plugin["userConfig"]["token"]["description"]
    assert server.home.ask(*command.split()).returncode == 0
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"].get("version")
    assert plugin["version"] == (version or "0.1.0")


def test_docs_settings_example_without_the_plugin_is_valid_for_claude_code(desk: Desk) -> None:
    [example] = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    given = json.loads(example)
    [start] = given["hooks"]["SessionStart"][0]["hooks"]
    assert [start["command"], *start["args"]] == ["lamplighter", "hook", "session-start"]
    assert all(
        hook["timeout"] <= 5
        for entries in given["hooks"].values()
        for entry in entries
        for hook in entry["hooks"]
    )
    plugin = desk.path / "plugin"
    (plugin / ".claude-plugin").mkdir(parents=True)
    (plugin / "hooks").mkdir()
    (plugin / ".claude-plugin" / "plugin.json").write_text('{"name": "example"}')
    (plugin / "hooks" / "hooks.json").write_text(json.dumps({"hooks": given["hooks"]}))
    valid = desk.claude("plugin", "validate", str(plugin))
    assert valid.status == 0
    assert "ignored at runtime" not in valid.out
