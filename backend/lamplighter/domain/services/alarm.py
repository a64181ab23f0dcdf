"""The alarm: a service whose checks fail, and the one investigation that it starts."""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from lamplighter.domain.services.service import Services

PASSES_TO_CLOSE: Final = 2
"""An alarm closes when every check of its service passed this often in a row."""

REOPEN_AFTER: Final = timedelta(minutes=5)
"""A service that fails again sooner waits: one investigation in this time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """A failing service; `request_id` is the investigation that covers it.

    `joined` says that a failing service it is connected to was investigated already.
    """

    service: str
    opened_at: datetime
    request_id: int | None = None
    joined: bool = False
    closed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class AlarmPlan:
    """What is to be done: each group of `investigate` is one request.

    `join` maps a service to one whose investigation covers it; `close` are well again.
    """

    investigate: tuple[tuple[str, ...], ...] = ()
    join: Mapping[str, str] | None = None
    close: tuple[str, ...] = ()


def plan_alarms(
    services: Services,
    failing: Set[str],
    passing: Set[str],
    alarms: Mapping[str, Alarm],
    *,
    now: datetime,
) -> AlarmPlan:
    """Return what the failing and the passing services call for.

    `alarms` are the last one of each service. Services that depend on each other, by
    whatever way over failing ones, are one group: one investigation finds their root.
    """
    live = {name for name, each in alarms.items() if each.closed_at is None}
    close = tuple(sorted(name for name in live if name in passing))
    leads = {name for name in live & failing if not alarms[name].joined}
    groups: list[tuple[str, ...]] = []
    join: dict[str, str] = {}
    for group in _connected(services, failing):
        lead = min(leads & group, default=None)
        fresh = {name for name in group if name not in leads}
        if lead is not None:
            join |= {name: lead for name in sorted(fresh) if name not in live}
        elif due := sorted(name for name in fresh if _may_open(alarms.get(name), now)):
            groups.append(tuple(due))
    return AlarmPlan(tuple(groups), join, close)


def _may_open(last: Alarm | None, now: datetime) -> bool:
    if last is None or (last.closed_at is None and last.joined):
        return True
    return last.closed_at is not None and now - last.opened_at >= REOPEN_AFTER


def _connected(services: Services, failing: Set[str]) -> list[set[str]]:
    """Return the failing services in groups that depend on each other."""
    groups: list[set[str]] = []
    rest = sorted(failing)
    while rest:
        group, queue = {rest[0]}, [rest[0]]
        while queue:
            near = failing & set(services.neighbors([queue.pop()]))
            queue += sorted(near - group)
            group |= near
        groups.append(group)
        rest = [name for name in rest if name not in group]
    return groups
