"""The actions of a service in `services.yaml`: what may be done to it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import yaml

from lamplighter.config import names, values
from lamplighter.config.sheet import YamlSheet
from lamplighter.domain.services.check import Check
from lamplighter.domain.services.service import (
    ACTION_SECONDS,
    NO_ANSWER,
    WAIT_SECONDS,
    Action,
    ActionKind,
    normalize_service_name,
)

if TYPE_CHECKING:
    from lamplighter.domain.shell.patterns import Pattern

TIMEOUT_SECONDS: Final = (1.0, 1800.0)
LONGEST_WAIT: Final = (1.0, 360.0)
ACTIONS: Final = 20

_KEYS: Final = (
    *(kind.value for kind in ActionKind),
    "name",
    "directory",
    "timeout",
    "wait",
    "approve",
    "for",
)


def read_actions(sheet: YamlSheet, node: yaml.Node, checks: Sequence[Check]) -> tuple[Action, ...]:
    """Return the actions of a service that has these checks."""
    nodes = sheet.list(node, "a list of actions")
    if len(nodes) > ACTIONS:
        sheet.wrong(node, f"more than {ACTIONS} actions")
    read = [(action, each) for each in nodes if (action := _action(sheet, each, checks))]
    return names.assign_names(sheet, read, "action")


def _action(sheet: YamlSheet, node: yaml.Node, checks: Sequence[Check]) -> Action | None:
    nodes = sheet.mapping(node, "an action", _KEYS)
    kinds = [kind for kind in ActionKind if kind in nodes]
    if len(kinds) != 1:
        if isinstance(node, yaml.MappingNode):
            either = f"either {' or '.join(ActionKind)}"
            sheet.wrong(node, f"an action is {either}" if kinds else f"missing key: {either}")
        return None
    return Action(
        name=names.read_name(sheet, nodes["name"], "an action's name") or ""
        if "name" in nodes
        else "",
        kind=kinds[0],
        argv=values.argv(sheet, nodes[kinds[0]]),
        directory=values.path(sheet, nodes["directory"]) if "directory" in nodes else None,
        timeout=_seconds(sheet, nodes["timeout"]) if "timeout" in nodes else ACTION_SECONDS,
        wait=_seconds(sheet, nodes["wait"], LONGEST_WAIT) if "wait" in nodes else WAIT_SECONDS,
        approve=values.approve(sheet, nodes["approve"]) if "approve" in nodes else None,
        repairs=_repairs(sheet, nodes["for"], checks) if "for" in nodes else (NO_ANSWER,),
    )


def _repairs(sheet: YamlSheet, node: yaml.Node, checks: Sequence[Check]) -> tuple[str, ...]:
    """Return the failures that an action repairs: names or kinds of checks, or no answer."""
    nodes = node.value if isinstance(node, yaml.SequenceNode) else [node]
    if not nodes:
        sheet.wrong(node, f"for is empty; remove it for the default, {NO_ANSWER}")
    check_names = dict.fromkeys([NO_ANSWER, *(each.name for each in checks)])
    kinds = {each.kind for each in checks}
    names = [(sheet.string(each, "the name of a check"), each) for each in nodes]
    for name, at in names:
        if name and normalize_service_name(name) not in {
            *map(normalize_service_name, check_names),
            *kinds,
        }:
            hint = sheet.hint(name, [*check_names, *kinds])
            listed = ", ".join([*check_names, *sorted(kinds - {*check_names})])
            sheet.wrong(at, f"for: no check is named {name!r}{hint}. Choose from: {listed}")
    return tuple(normalize_service_name(name) for name, _ in names if name)


def _seconds(
    sheet: YamlSheet, node: yaml.Node, bounds: tuple[float, float] = TIMEOUT_SECONDS
) -> float:
    return sheet.seconds(node, bounds, "60s or 5m")


COMMANDS: Final = 200


def read_commands(sheet: YamlSheet, node: yaml.Node) -> "tuple[Pattern, ...]":
    """Return the patterns of commands."""
    nodes = sheet.list(node, "a list of commands, each a list of strings")
    if len(nodes) > COMMANDS:
        sheet.wrong(node, f"more than {COMMANDS} commands")
    return tuple(found for each in nodes if (found := _pattern(sheet, each)))


def _pattern(sheet: YamlSheet, node: yaml.Node) -> "Pattern | None":
    from lamplighter.domain.shell import patterns  # its rules are many; few files declare commands

    before = len(sheet.problems)
    pattern = values.argv(sheet, node)
    if len(sheet.problems) > before:
        return None
    if why_not := patterns.pattern_problem(pattern):
        sheet.wrong(node, why_not)
        return None
    return pattern
