"""Times in `services.yaml`: cron expressions, time zones, and when a job reports."""

from typing import Final
from zoneinfo import ZoneInfo

import yaml

from lamplighter.config.sheet import YamlSheet
from lamplighter.domain.services.check import EVERY_SECONDS, GRACE_SECONDS
from lamplighter.domain.services.checks.push import schedule_problem

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
