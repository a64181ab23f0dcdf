"""Times in `services.yaml`: cron expressions, time zones, reports of jobs, maintenance windows."""

from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

import yaml

from lamplighter.config.sheet import YamlSheet
from lamplighter.domain.services.check import EVERY_SECONDS, GRACE_SECONDS
from lamplighter.domain.services.checks.push import schedule_problem
from lamplighter.domain.services.checks.silence import MaintenanceWindow
from lamplighter.domain.text import one_line

SPAN_SECONDS: Final = (1.0, 366 * 86_400.0)
UTC_NAME: Final = "UTC"
_PUSH: Final = ("every", "cron", "zone", "grace")
PushTimes = tuple[float, str | None, str, float]


def push_times(sheet: YamlSheet, node: yaml.Node) -> PushTimes:
    """Return when a job is expected to report: every so often, or by a cron expression."""
    nodes = sheet.mapping(node, "when the job runs, such as {every: 1d, grace: 1h}", _PUSH)
    if isinstance(node, yaml.MappingNode) and ("every" in nodes) == ("cron" in nodes):
        sheet.wrong(node, "a push check has either every or cron")
    if "zone" in nodes and "cron" not in nodes:
        sheet.wrong(nodes["zone"], "zone is the time zone of cron; every needs none")
    return (
        span(sheet, nodes["every"]) if "every" in nodes else EVERY_SECONDS,
        cron(sheet, nodes["cron"]) if "cron" in nodes else None,
        zone(sheet, nodes["zone"]) if "zone" in nodes else UTC_NAME,
        span(sheet, nodes["grace"]) if "grace" in nodes else GRACE_SECONDS,
    )


def span(sheet: YamlSheet, node: yaml.Node) -> float:
    """Return a duration of up to a year, in seconds."""
    return sheet.seconds(node, SPAN_SECONDS, "5m, 1h or 1d")


def cron(sheet: YamlSheet, node: yaml.Node) -> str:
    """Return a cron expression of five fields."""
    said = sheet.string(node, 'a cron expression such as "0 3 * * *"')
    if said is not None and (problem := schedule_problem(said)):
        sheet.wrong(node, f'{said!r} is not a cron expression such as "0 3 * * *": {problem}')
    return said or "0 0 * * *"


def zone(sheet: YamlSheet, node: yaml.Node) -> str:
    """Return the name of a time zone."""
    said = sheet.string(node, "a time zone such as Europe/Berlin")
    try:
        return ZoneInfo(said or UTC_NAME).key
    except (KeyError, ValueError, OSError):
        sheet.wrong(node, f"{said!r} is not a time zone such as Europe/Berlin")
    return UTC_NAME


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
        return read.astimezone(UTC) if read.tzinfo else _in_zone(read, ZoneInfo(place))
    except (ValueError, OverflowError):
        sheet.wrong(node, f"{said!r} is not a time such as 2026-12-01 22:00")
        return datetime(1970, 1, 1, tzinfo=UTC)


def _in_zone(clock: datetime, place: ZoneInfo) -> datetime:
    """Return the moment of a time; one that the clock skips is the first moment after the gap."""
    first, second = (clock.replace(tzinfo=place, fold=each).astimezone(UTC) for each in (0, 1))
    if first <= second:
        return first
    offset = second.astimezone(place).utcoffset()
    at = second.replace(second=0, microsecond=0)
    while at.astimezone(place).utcoffset() == offset:
        at += timedelta(minutes=1)
    return at
