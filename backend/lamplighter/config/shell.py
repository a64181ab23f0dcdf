"""The key `shell` of `services.yaml`: the commands that people allow beyond those that look."""

from typing import Final

import yaml

from lamplighter.config import values
from lamplighter.config.sheet import Sheet
from lamplighter.domain.shell import patterns
from lamplighter.domain.shell.patterns import Pattern

COMMANDS: Final = 200


def commands(sheet: Sheet, node: yaml.Node) -> tuple[Pattern, ...]:
    """Return the patterns of commands."""
    nodes = sheet.list(node, "a list of commands, each a list of words")
    if len(nodes) > COMMANDS:
        sheet.wrong(node, f"more than {COMMANDS} commands")
    return tuple(found for each in nodes if (found := _pattern(sheet, each)))


def _pattern(sheet: Sheet, node: yaml.Node) -> Pattern | None:
    before = len(sheet.problems)
    pattern = values.argv(sheet, node)
    if len(sheet.problems) > before:
        return None
    if why_not := patterns.problem(pattern):
        sheet.wrong(node, why_not)
        return None
    return pattern
