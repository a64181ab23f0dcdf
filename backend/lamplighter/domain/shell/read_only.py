"""The read-only commands, from read_only.toml: each with its options and operands."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import chain, product
from typing import Any

from lamplighter.domain.shell.forms import CommandRule, command_rule


@dataclass(frozen=True, slots=True)
class ReadOnlyCommands:
    """The rules of all read-only commands, by the words of each.

    `leading` options may precede the subcommand, `common` ones may also follow it; both by program.
    `files` are the programs that open the files in their arguments.
    """

    rules: Mapping[str, CommandRule]
    leading: Mapping[str, CommandRule]
    common: Mapping[str, CommandRule]
    files: frozenset[str]


@cache
def read_only_commands() -> ReadOnlyCommands:
    """Return the read-only commands; the file is read once, when the first command is judged."""
    text = files(__package__).joinpath("read_only.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(text)
    leading, common = read_rules(tables.pop("leading")), read_rules(tables.pop("common"))
    rules = read_rules(*tables.values())
    return ReadOnlyCommands(rules, leading, common, frozenset(tables["files"]))


def read_rules(*tables: Mapping[str, Any]) -> dict[str, CommandRule]:
    """Return the rule of each command in some tables of the file."""
    rules: dict[str, CommandRule] = {}
    for key, entry in chain.from_iterable(table.items() for table in tables):
        rule = command_rule(entry) if isinstance(entry, str) else command_rule(**entry)
        for command in _commands(key):
            if command in rules:
                raise ValueError(f"{command} is listed twice")
            rules[command] = rule
    return rules


def _commands(key: str) -> Iterator[str]:
    """Yield the commands of a key: `docker|podman ps, docker top` means three commands."""
    for each in key.split(","):
        yield from map(" ".join, product(*(word.split("|") for word in each.split())))
