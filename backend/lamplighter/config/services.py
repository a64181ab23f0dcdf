"""`services.yaml`: the declared services, parsed strictly; every error has its place."""

import graphlib
import os
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

from lamplighter.config import values
from lamplighter.config.checks import read_checks
from lamplighter.config.sheet import FileProblem, ServicesError, YamlSheet, describe_node
from lamplighter.domain.services.check import Check
from lamplighter.domain.services.service import (
    ACTION_SECONDS,
    GENERAL,
    NO_ANSWER,
    WAIT_SECONDS,
    Action,
    ActionKind,
    ApprovalPolicy,
    Service,
    Services,
    normalize_service_name,
)
from lamplighter.domain.text import one_line

if TYPE_CHECKING:
    from lamplighter.config.services_keys.groups import Groups
    from lamplighter.domain.shell.patterns import Pattern

__all__ = ["FileProblem", "ServicesError", "load", "read", "starter", "write_starter"]

CYCLES: Final = 20
ACTION_TIMEOUT_SECONDS: Final = (1.0, 1800.0)
LONGEST_WAIT: Final = (1.0, 360.0)
ACTIONS: Final = 20

_ACTION_KEYS: Final = (
    *(kind.value for kind in ActionKind),
    *("name", "directory", "timeout", "wait", "approve", "for"),
)
COMMANDS: Final = 200

_TOP: Final = ("services", "commands", "shell", "groups")
_KEYS: Final = ("description", "depends_on", "checks", "actions", "approve")
_BESIDE: Final = ("group", "tags", "paused", "notify", "maintenance")
Depends = tuple[tuple[str, yaml.Node], ...]
"""The dependencies of a service, and their places in the file."""


def load(path: Path) -> Services:
    """Return the services of the file; ServicesError lists every problem in it."""
    sheet = YamlSheet(str(path))
    return read(sheet.text(path), sheet)


def read(text: str, sheet: YamlSheet) -> Services:
    """Return the services of a text; ServicesError lists every problem in it."""
    root = sheet.root(text)
    top = {} if root is None else sheet.mapping(root, "a mapping with the key services", _TOP)
    items = _connect(sheet, _services(sheet, top))
    declared = _read_commands(sheet, top["shell"]) if "shell" in top else ()
    sheet.stop_if_wrong()
    return Services(items, sheet.path, declared)


def write_starter(path: Path, port: int) -> bool:
    """Write the starter file; False if there is a file already, which stays unchanged."""
    if os.path.lexists(path):  # before any write, in case the disk is full
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(starter(port))
            file.flush()
            os.fsync(file.fileno())
        # unlike a rename, a link never replaces an existing file
        os.link(draft, path)
    except FileExistsError:
        return False
    finally:
        os.unlink(draft)
    return True


def _services(sheet: YamlSheet, top: Mapping[str, yaml.Node]) -> dict[str, tuple[Service, Depends]]:
    programs = _programs(sheet, top["commands"]) if "commands" in top else frozenset()
    declared = None
    if "groups" in top:
        from lamplighter.config.services_keys.groups import read_groups  # late import: as below

        declared = read_groups(sheet, top["groups"])
    read: dict[str, tuple[Service, Depends]] = {}
    if (listed := top.get("services")) is None or describe_node(listed) == "nothing":
        return read
    for key, node in sheet.pairs(listed, "a mapping of services by name"):
        name = values.read_name(sheet, key, "a service's name")
        if name is not None and normalize_service_name(name) == GENERAL:
            sheet.wrong(
                key, "general is reserved for memories without a service; choose another name"
            )
        elif name is not None and normalize_service_name(name) in read:
            sheet.wrong(key, f"duplicate service {name!r}")
        service = _service(sheet, name or "?", key, node, programs, declared)
        if name is not None:
            read.setdefault(normalize_service_name(name), service)
    return read


def _service(
    sheet: YamlSheet,
    name: str,
    key: yaml.Node,
    node: yaml.Node,
    programs: Collection[str],
    declared: "Groups | None",
) -> tuple[Service, Depends]:
    nodes = sheet.mapping(node, f"what {name} is", (*_KEYS, *_BESIDE))
    if isinstance(node, yaml.MappingNode) and "checks" not in nodes:
        sheet.wrong(key, f"missing key 'checks' in {name}")
    about = sheet.string(nodes["description"], "text") if "description" in nodes else None
    others = sheet.list(nodes["depends_on"], "a list of names") if "depends_on" in nodes else []
    named = [(values.read_name(sheet, other, "a service's name"), other) for other in others]
    checks = read_checks(sheet, nodes["checks"], programs) if "checks" in nodes else ()
    service = Service(
        name=name,
        description=one_line(about or ""),
        checks=checks,
        actions=_read_actions(sheet, nodes["actions"], checks) if "actions" in nodes else (),
        approve=values.approve(sheet, nodes["approve"])
        if "approve" in nodes
        else ApprovalPolicy.NEVER,
        line=key.start_mark.line + 1,
        **_beside_checks(sheet, nodes, declared),
    )
    return service, tuple((other, at) for other, at in named if other)


def _beside_checks(
    sheet: YamlSheet, nodes: Mapping[str, yaml.Node], declared: "Groups | None"
) -> dict[str, Any]:
    """Return the group, the tags, the silent times and the notification routes of a service."""
    if not nodes.keys() & set(_BESIDE):
        return {}
    # late import: most services have none of these keys, and every command loads this module
    from lamplighter.config.services_keys.groups import read_declared

    return read_declared(sheet, nodes, declared)


def _programs(sheet: YamlSheet, node: yaml.Node) -> frozenset[str]:
    """Return the programs that command checks may run, exactly as written."""
    programs = [
        (sheet.string(each, "a program"), each) for each in sheet.list(node, "a list of programs")
    ]
    for program, at in programs:
        if program is not None and (not program.isprintable() or _is_relative(program)):
            sheet.wrong(at, f"{program!r} is neither a name nor an absolute path")
    return frozenset(program for program, _ in programs if program)


def _is_relative(program: str) -> bool:
    return not program or ("/" in program and not program.startswith("/"))


def _connect(sheet: YamlSheet, read: dict[str, tuple[Service, Depends]]) -> tuple[Service, ...]:
    """Return the services with their dependencies, each by its own spelling."""
    graph: dict[str, dict[str, yaml.Node]] = {name: {} for name in read}
    for name, (service, depends) in read.items():
        for other, node in depends:
            if normalize_service_name(other) == name:
                sheet.wrong(node, f"{service.name} depends on itself")
            elif normalize_service_name(other) not in read:
                hint = sheet.hint(other, (each.name for each, _ in read.values()))
                sheet.wrong(node, f"unknown service {other!r}{hint}")
            else:
                graph[name][normalize_service_name(other)] = node
    _reject_cycles(sheet, graph)
    return tuple(
        replace(service, depends_on=tuple(read[other][0].name for other in graph[name]))
        for name, (service, _) in read.items()
    )


def _reject_cycles(sheet: YamlSheet, graph: dict[str, dict[str, yaml.Node]]) -> None:
    order = list(graph)
    for _ in range(CYCLES):
        try:
            return graphlib.TopologicalSorter(graph).prepare()
        except graphlib.CycleError as error:
            circle: list[str] = error.args[1][:0:-1]
        first = circle.index(min(circle, key=order.index))
        circle = [*circle[first:], *circle[:first], circle[first]]
        node = graph[circle[0]].pop(circle[1])
        sheet.wrong(node, f"depends on itself: {' -> '.join(circle)}")
    return None


def starter(port: int) -> str:
    """Return the file to begin with: each key explained, and Lamplighter itself watched."""
    text = Path(__file__).with_name("starter.yaml").read_text(encoding="utf-8")
    return text.replace("{port}", str(port))


def _read_actions(sheet: YamlSheet, node: yaml.Node, checks: Sequence[Check]) -> tuple[Action, ...]:
    """Return the actions of a service that has these checks."""
    nodes = sheet.list(node, "a list of actions")
    if len(nodes) > ACTIONS:
        sheet.wrong(node, f"more than {ACTIONS} actions")
    read = [(action, each) for each in nodes if (action := _action(sheet, each, checks))]
    return values.assign_names(sheet, read, "action")


def _action(sheet: YamlSheet, node: yaml.Node, checks: Sequence[Check]) -> Action | None:
    nodes = sheet.mapping(node, "an action", _ACTION_KEYS)
    kinds = [kind for kind in ActionKind if kind in nodes]
    if len(kinds) != 1:
        if isinstance(node, yaml.MappingNode):
            either = f"either {' or '.join(ActionKind)}"
            sheet.wrong(node, f"an action is {either}" if kinds else f"missing key: {either}")
        return None
    return Action(
        name=values.read_name(sheet, nodes["name"], "an action's name") or ""
        if "name" in nodes
        else "",
        kind=kinds[0],
        argv=values.argv(sheet, nodes[kinds[0]]),
        directory=values.path(sheet, nodes["directory"]) if "directory" in nodes else None,
        timeout=sheet.seconds(nodes["timeout"], ACTION_TIMEOUT_SECONDS, "60s or 5m")
        if "timeout" in nodes
        else ACTION_SECONDS,
        wait=sheet.seconds(nodes["wait"], LONGEST_WAIT, "60s or 5m")
        if "wait" in nodes
        else WAIT_SECONDS,
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
    known = {*map(normalize_service_name, check_names), *kinds}
    names = [(sheet.string(each, "the name of a check"), each) for each in nodes]
    for name, at in names:
        if name and normalize_service_name(name) not in known:
            hint = sheet.hint(name, [*check_names, *kinds])
            listed = ", ".join([*check_names, *sorted(kinds - {*check_names})])
            sheet.wrong(at, f"for: no check is named {name!r}{hint}. Choose from: {listed}")
    return tuple(normalize_service_name(name) for name, _ in names if name)


def _read_commands(sheet: YamlSheet, node: yaml.Node) -> "tuple[Pattern, ...]":
    """Return the patterns of commands."""
    nodes = sheet.list(node, "a list of commands, each a list of strings")
    if len(nodes) > COMMANDS:
        sheet.wrong(node, f"more than {COMMANDS} commands")
    return tuple(found for each in nodes if (found := _pattern(sheet, each)))


def _pattern(sheet: YamlSheet, node: yaml.Node) -> "Pattern | None":
    from lamplighter.domain.shell import patterns  # slow import; few files declare commands

    before = len(sheet.problems)
    pattern = values.argv(sheet, node)
    if len(sheet.problems) > before:
        return None
    if why_not := patterns.pattern_problem(pattern):
        sheet.wrong(node, why_not)
        return None
    return pattern
