"""Groups of services in `services.yaml`, and the keys of a service besides its checks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import yaml

from lamplighter.config import values
from lamplighter.config.sheet import YamlSheet
from lamplighter.domain.services.service import normalize_service_name

GROUP_KEYS: Final = ("notify", "maintenance")
Nodes = Mapping[str, yaml.Node]


@dataclass(frozen=True, slots=True)
class Groups:
    """The declared groups by their normalized names."""

    declared: Mapping[str, Mapping[str, Any]]

    def of(self, sheet: YamlSheet, node: yaml.Node, name: str) -> Mapping[str, Any]:
        """Return the keys of a group; an undeclared group is an error."""
        if (found := self.declared.get(normalize_service_name(name))) is None:
            sheet.wrong(node, f"unknown group {name!r}{sheet.hint(name, self.declared)}")
        return found or {}


def read_groups(sheet: YamlSheet, listed: yaml.Node) -> Groups:
    """Return the groups that the file declares."""
    declared: dict[str, Mapping[str, Any]] = {}
    for key, node in sheet.pairs(listed, "a mapping of groups by name"):
        name = values.read_name(sheet, key, "a group's name")
        given = sheet.mapping(node, "what holds for all services of the group", GROUP_KEYS)
        if name is not None and normalize_service_name(name) in declared:
            sheet.wrong(key, f"duplicate group {name!r}")
        declared.setdefault(normalize_service_name(name or "?"), _shared(sheet, given))
    return Groups(declared)


def read_declared(sheet: YamlSheet, nodes: Nodes, groups: Groups | None) -> dict[str, Any]:
    """Return the group, the tags, the silent times and the notification routes of a service.

    Its own keys override those of its group; maintenance windows of both apply.
    """
    fields: dict[str, Any] = {}
    if "group" in nodes and (group := values.read_name(sheet, nodes["group"], "a group's name")):
        shared = groups.of(sheet, nodes["group"], group) if groups else {}
        fields = {"group": group, **shared}
    if "tags" in nodes:
        fields["tags"] = _names(sheet, nodes["tags"], "a tag")
    if "paused" in nodes:
        fields["paused"] = sheet.boolean(nodes["paused"])
    own = _shared(sheet, nodes)
    windows = (*fields.get("maintenance", ()), *own.get("maintenance", ()))
    return fields | own | ({"maintenance": windows} if windows else {})


def _shared(sheet: YamlSheet, nodes: Nodes) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if "notify" in nodes:
        fields["notify"] = _names(sheet, nodes["notify"], "the name of a notification target")
    if "maintenance" in nodes:
        # late import: loads time zones and cron expressions; most files have no window
        from lamplighter.config.services_keys.times import read_windows

        fields["maintenance"] = read_windows(sheet, nodes["maintenance"])
    return fields


def _names(sheet: YamlSheet, node: yaml.Node, expected: str) -> tuple[str, ...]:
    nodes = sheet.list(node, "a list of names")
    read = (values.read_name(sheet, each, expected) for each in nodes)
    return tuple(dict.fromkeys(each for each in read if each))
