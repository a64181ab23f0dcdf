"""Tool hooks in lamplighter.toml; each error names its place."""

from pathlib import Path

import pytest

from lamplighter.config.active import describe_active
from lamplighter.config.settings import describe_settings, read_settings
from lamplighter.domain.clients.tool_hooks import Hooks, InjectRule, SaveRule
from lamplighter.domain.errors import Invalid
from lamplighter.domain.memory.memory import Category

GOOD = """
interval = "5m"

[[save_rules]]
tool = "Bash"
match_output = "error|panic|fatal"
type = "bugfix"
scope = "project"

[[save_rules]]
tool = "kubectl_apply"
match_args = 'prod'
type = "decision"
scope = "global"
project = "media"

[[inject_rules]]
tool = "mcp__lamplighter__look"
limit = 5
"""


def read(home: Path, text: str) -> Hooks:
    (home / "lamplighter.toml").write_text(text)
    return read_settings({"LAMPLIGHTER_HOME": str(home)}).hooks


def test_hook_rules_are_read_along_with_other_settings(tmp_path: Path) -> None:
    found = read(tmp_path, GOOD)

    assert found == Hooks(
        save=(
            SaveRule(tool="bash", category=Category.BUGFIX, match_output="error|panic|fatal"),
            SaveRule(
                tool="kubectl_apply",
                category=Category.DECISION,
                match_args="prod",
                scope="global",
                project="media",
            ),
        ),
        inject=(InjectRule(tool="look", limit=5),),
    )
    settings = read_settings({"LAMPLIGHTER_HOME": str(tmp_path)})
    assert settings.interval == 300
    assert len(describe_settings(settings)) == len(settings.values)
    shown = describe_active(settings, {"LAMPLIGHTER_HOME": str(tmp_path)})
    assert shown["refused"] == []


def test_a_file_without_rules_declares_no_hooks(tmp_path: Path) -> None:
    assert read(tmp_path, "port = 8081\n") == Hooks()
    assert read_settings({"LAMPLIGHTER_HOME": str(tmp_path / "gone")}).hooks == Hooks()


RULE = '[[save_rules]]\ntool = "bash"\ntype = "bugfix"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            f'{RULE}match_output = "a("\n',
            ".toml:4: save_rules 1, match_output: 'a(' is not a pattern (RE2): missing ): a(",
        ),
        (
            f"{RULE}\n{RULE}match_args = '(?<=x)y'\n",
            "lamplighter.toml:8: save_rules 2, match_args: '(?<=x)y' is not a pattern (RE2): ",
        ),
        (f"{RULE}match_output = 3\n", ":4: save_rules 1, match_output: is not a string; put it in"),
        (f"{RULE}matchOutput = 'x'\n", ":4: save_rules 1, matchOutput: is not a key"),
        (f"{RULE}match_outputs = 'x'\n", "is not a key; did you mean match_output?"),
        (
            '[[save_rules]]\ntool = "bash"\ntype = "timing"\n',
            ":3: save_rules 1, type: 'timing' is not one of decision, discovery, bugfix, pattern,",
        ),
        ('[[save_rules]]\ntool = "bash"\n', ":1: save_rules 1, type: '' is not one of decision"),
        ('[[save_rules]]\ntype = "bugfix"\n', ":1: save_rules 1, tool: names no tool, such as"),
        (f"{RULE}scope = 'world'\n", ":4: save_rules 1, scope: 'world' is not one of project, "),
        (
            f"{RULE}project = 'a b'\n",
            ":4: save_rules 1, project: must have 1 to 64 characters: letters",
        ),
        (f"{RULE}match_output = '{'x' * 1001}'\n", "is longer than 1,000 characters"),
        (
            "[save_rules]\ntool = 'bash'\n",
            "lamplighter.toml: save_rules: must be written as [[save",
        ),
        ("save_rules = 3\n", "lamplighter.toml: save_rules: must be written as [[save_rules]]"),
        ("[[inject_rules]]\ntool = 'x'\nlimit = 0\n", ":3: inject_rules 1, limit: is not a whole"),
        ("[[inject_rules]]\ntool = 'x'\nlimit = true\n", ":3: inject_rules 1, limit: is not a "),
        ("[[inject_rules]]\ntool = 'x'\ntype = 'bugfix'\n", ":3: inject_rules 1, type: is not a "),
        ("[[inject_rules]]\ntool = 'x'\nquery = ''\n", ":3: inject_rules 1, query: is empty or"),
        ("[[inject_rule]]\ntool = 'x'\n", "is not a setting; did you mean inject_rules?"),
        ("save_rules = [{tool = 'x', type = 'no'}]\n", "lamplighter.toml: save_rules 1, type: "),
    ],
)
def test_an_invalid_rule_is_reported_with_line_and_key(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(Invalid) as raised:
        read(tmp_path, text)

    assert said in str(raised.value)
    assert str(tmp_path) in str(raised.value)


def test_all_invalid_rules_are_reported_together(tmp_path: Path) -> None:
    text = f"{RULE}match_output = '('\nscope = 'x'\n[[inject_rules]]\ntool = 3\n"

    with pytest.raises(Invalid) as raised:
        read(tmp_path, text)

    assert len(raised.value.wrong) == 4  # of the tool: that it is no text, and no name


@pytest.mark.parametrize(
    ("line", "query"),
    [("", ""), ("query = 'from_tool_args'\n", ""), ("query = 'rollback'\n", "rollback")],
)
def test_an_inject_rule_searches_by_a_fixed_query_or_the_tool_arguments(
    tmp_path: Path, line: str, query: str
) -> None:
    [rule] = read(tmp_path, f"[[inject_rules]]\ntool = 'x'\n{line}").inject
    assert rule.query == query
