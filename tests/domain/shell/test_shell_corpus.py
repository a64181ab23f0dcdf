"""The corpus: harmful lines are refused, everyday lines are not."""

from collections import Counter

import pytest

from commands import RULES, Line, corpus
from lamplighter.domain.shell.judge import (
    ActionCommand,
    PermittedCommand,
    RefusedCommand,
    judge_line,
)
from lamplighter.domain.shell.rules import CommandPolicy

LINES = corpus()
FAMILIES = sorted({line.family for line in LINES if line.expected == "refused"})
ODD_ONES = 0.02
"""How many everyday lines may be refused."""


def of(expected: str) -> list[Line]:
    return [line for line in LINES if line.expected == expected]


def test_the_corpus_has_the_required_size() -> None:
    count = Counter(line.expected for line in LINES)

    assert len({line.line for line in LINES}) == len(LINES)
    assert count["refused"] >= 800
    assert count["look"] >= 190
    assert len(FAMILIES) >= 20


@pytest.mark.parametrize("family", FAMILIES)
def test_every_harmful_command_of_a_family_is_refused(family: str) -> None:
    through = {
        line.line: found
        for line in of("refused")
        if line.family == family
        and not isinstance(found := judge_line(line.line, RULES), RefusedCommand)
    }

    assert through == {}


def test_nearly_all_everyday_commands_are_permitted() -> None:
    refused = {
        line.line: found
        for line in of("look")
        if not isinstance(found := judge_line(line.line, RULES), PermittedCommand)
    }

    assert len(refused) <= ODD_ONES * len(of("look")), refused


def test_a_declared_action_is_recognized_in_other_spellings() -> None:
    found = {line.line: judge_line(line.line, RULES) for line in of("act")}

    assert found == {line.line: ActionCommand(line.service, line.action) for line in of("act")}


def test_every_refusal_has_a_reason() -> None:
    for line in of("refused"):
        found = judge_line(line.line, RULES)
        assert isinstance(found, RefusedCommand)
        assert found.why.strip(), line
        assert found.why.isprintable(), line


def test_without_roots_and_services_no_file_or_host_may_be_read() -> None:
    bare = CommandPolicy()
    let_through = [
        line.line
        for line in of("look")
        if isinstance(judge_line(line.line, bare), PermittedCommand)
    ]

    assert not [line for line in let_through if "/var/log" in line or "/opt/app" in line]
    assert not [line for line in let_through if "example.org" in line or ":8096/" in line]
    assert isinstance(judge_line("docker ps", bare), PermittedCommand)
