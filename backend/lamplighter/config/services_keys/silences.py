"""Maintenance windows in `services.yaml`: once, or recurring by a cron expression."""

from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

import yaml

from lamplighter.config.services_keys.times import UTC_NAME, cron, span, zone
from lamplighter.config.sheet import YamlSheet
from lamplighter.domain.services.checks.silence import MaintenanceWindow
from lamplighter.domain.text import one_line

_KEYS: Final = ("name", "from", "to", "cron", "for", "zone")
_EXAMPLE: Final = '{cron: "0 3 * * sun", for: 2h} or {from: 2026-12-01 22:00, to: 2026-12-02 02:00}'


def read_windows(sheet: YamlSheet, node: yaml.Node) -> tuple[MaintenanceWindow, ...]:
    """Return the maintenance windows of a service or a group."""
    windows = (_window(sheet, each) for each in sheet.list(node, "a list of maintenance windows"))
    return tuple(each for each in windows if each is not None)


def _window(sheet: YamlSheet, node: yaml.Node) -> MaintenanceWindow | None:
    nodes = sheet.mapping(node, f"a maintenance window such as {_EXAMPLE}", _KEYS)
    keys = nodes.keys() - {"name", "zone"}
    if not isinstance(node, yaml.MappingNode):
        return None
    if keys not in ({"from", "to"}, {"cron", "for"}):
        sheet.wrong(node, "a maintenance window has from and to, or cron and for")
        return None
    name = one_line(sheet.string(nodes["name"], "text") or "") if "name" in nodes else ""
    place = zone(sheet, nodes["zone"]) if "zone" in nodes else UTC_NAME
    if "cron" in nodes:
        expression = cron(sheet, nodes["cron"])
        return MaintenanceWindow(
            name=name, zone=place, cron=expression, seconds=span(sheet, nodes["for"])
        )
    start, end = (_moment(sheet, nodes[key], place) for key in ("from", "to"))
    if start >= end:
        sheet.wrong(nodes["to"], "to is not after from")
        end = start + timedelta(seconds=1)
    return MaintenanceWindow(name=name, zone=place, start=start, end=end)


def _moment(sheet: YamlSheet, node: yaml.Node, place: str) -> datetime:
    said = str(node.value) if isinstance(node, yaml.ScalarNode) else ""
    try:
        read = datetime.fromisoformat(said)
        return (read if read.tzinfo else read.replace(tzinfo=ZoneInfo(place))).astimezone(UTC)
    except (ValueError, OverflowError):
        sheet.wrong(node, f"{said!r} is not a time such as 2026-12-01 22:00")
        return datetime(1970, 1, 1, tzinfo=UTC)
