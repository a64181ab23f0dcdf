"""The docs on commands match the code."""

import re
from pathlib import Path

import yaml

from commands import RULES
from lamplighter.domain.actions.policy import REFUSALS
from lamplighter.domain.shell import patterns
from lamplighter.domain.shell.forms import read_only_commands
from lamplighter.domain.shell.judge import (
    LINE_CHARACTERS,
    PermittedCommand,
    RefusedCommand,
    judge_line,
)
from lamplighter.domain.shell.rules import SAFE_FILES
from lamplighter.supervisor.tools.shell import COMMAND_SECONDS

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "shell.md").read_text(encoding="utf-8")


def test_the_docs_list_every_read_only_command() -> None:
    table = PAGE.partition("| subject | commands |")[2].partition("\n\n")[0]
    cells = re.findall(r"^\| [^|]+ \| ([^|]+) \|$", table, re.MULTILINE)

    named = [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]
    assert sorted(named) == sorted(read_only_commands().rules)


def test_each_example_of_the_docs_has_the_documented_verdict() -> None:
    examples = re.findall(r"^(yes|no) +(.+)$", PAGE, re.MULTILINE)

    assert len(examples) >= 10
    for said, line in examples:
        assert isinstance(
            judge_line(line, RULES), PermittedCommand if said == "yes" else RefusedCommand
        ), line


def test_the_patterns_of_the_docs_are_valid() -> None:
    block = re.search(r"```yaml\n(shell:\n.*?)```", PAGE, re.DOTALL)
    assert block

    declared = [tuple(each) for each in yaml.safe_load(block[1])["shell"]]
    assert len(declared) == 4
    assert [patterns.pattern_problem(each) for each in declared] == [""] * 4


def test_the_limits_and_files_of_the_docs_match_the_code() -> None:
    assert f"{LINE_CHARACTERS:,} characters" in PAGE
    assert f"{COMMAND_SECONDS:g} seconds" in PAGE
    assert f"{REFUSALS} refusals" in " ".join(PAGE.split())
    named = set(re.findall(r"`(/(?:proc|etc)/[a-z-]+)`", PAGE))
    assert len(named) >= 5
    assert named <= SAFE_FILES
