"""Conformance, tool hooks: the effect of a file's rule on the output of a tool.

The ends of the names are the numbers of the cases.
"""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from lamplighter.config.settings import read_settings
from lamplighter.domain.clients.tool_hooks import Hooks, ToolCall, build_candidate, match_rules
from lamplighter.domain.errors import Invalid
from lamplighter.domain.memory.memory import Category, Trust
from lamplighter.domain.sessions.session import Session, Status, Trigger

RULE = """
[[save_rules]]
tool = "bash"
match_output = "error|panic|fatal"
type = "bugfix"
scope = "project"
"""
SESSION = Session(
    id=7,
    tier=1,
    engine="claude",
    trigger=Trigger.SCHEDULED,
    status=Status.RUNNING,
    started_at=datetime(2026, 1, 1, tzinfo=UTC),
)
USED = ToolCall("Bash", '{"command": "ping db"}')


def rules(home: Path, text: str) -> Hooks:
    (home / "lamplighter.toml").write_text(text)
    return read_settings({"LAMPLIGHTER_HOME": str(home)}).hooks


def test_matching_output_is_saved_with_the_category_of_the_rule_136(tmp_path: Path) -> None:
    output = "PING db\nfatal: no route " + "x" * 5_000

    [hit] = match_rules(rules(tmp_path, RULE).save, USED, output)

    kept = build_candidate(hit, USED, output, SESSION, at=0)
    assert (kept.category, kept.trust, kept.scope) == (
        Category.BUGFIX,
        Trust.UNVERIFIED,
        "project",
    )
    assert kept.title == "bash: " + ("fatal: no route " + "x" * 80)[:80]
    assert kept.observation.startswith('{"command": "ping db"}\nPING db\nfatal: no route')
    assert len(kept.observation) == 2_000


def test_output_without_a_match_saves_nothing_136(tmp_path: Path) -> None:
    assert match_rules(rules(tmp_path, RULE).save, USED, "ok") == []


def test_every_matching_rule_runs_136(tmp_path: Path) -> None:
    second = RULE.replace("bugfix", "discovery").replace("error|panic|fatal", "route")

    found = match_rules(rules(tmp_path, RULE + second).save, USED, "fatal: no route")

    assert [hit.rule.category for hit in found] == [Category.BUGFIX, Category.DISCOVERY]


@pytest.mark.parametrize("pattern", ["(", "a{2,1}", "(?=x)", "[z-a]", "\\\\1"])
def test_invalid_pattern_is_rejected_with_its_line_number_136(tmp_path: Path, pattern: str) -> None:
    with pytest.raises(Invalid, match=r"lamplighter\.toml:4: save_rules 1, match_output: "):
        rules(tmp_path, RULE.replace("error|panic|fatal", pattern))
