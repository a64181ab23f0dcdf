"""Trials: a fault in a world under the product or under a baseline, and its outcome."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from benchmarks.lab.faults import Fault
from benchmarks.lab.home import IncidentRow, LabHome
from benchmarks.lab.prober import Prober
from benchmarks.lab.world import World

STABLE_SECONDS: Final = 4.0
"""A repair counts if everything stays up for this long."""

WATCH_SECONDS: Final = 12.0
"""How long acts still count after a request to a person."""

POLL_SECONDS: Final = 0.25


@dataclass
class Trial:
    """One injected fault (or two at once), and the observations until it was healed."""

    repeat: int
    injected_at: float
    acts: list[str] = field(default_factory=list)
    incidents: list[IncidentRow] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    """The number of rows of each kind that a person sees afterwards."""

    up_at: dict[str, float | None] = field(default_factory=dict)
    """The time since which users are served again, by fault."""

    asked: dict[str, float] = field(default_factory=dict)
    """The time of the request to a person, by the service that the request names."""


def with_product(
    faults: Sequence[Fault], world: World, home: LabHome, prober: Prober, repeat: int, limit: float
) -> Trial:
    """Inject faults under a home and watch until all are repaired or escalated to a person."""
    trial = Trial(repeat, time.time())
    for fault in faults:
        fault.inject(world)

    def watch() -> bool:
        trial.incidents = home.incidents(trial.injected_at)
        for each in trial.incidents:
            if each.person_at:
                for name in each.services if len(faults) > 1 else (each.root,):
                    trial.asked.setdefault(name, each.person_at)
        return all(_is_done(fault, trial, prober) for fault in faults)

    _until(watch, limit)
    if trial.asked:
        _until(lambda: False, WATCH_SECONDS)
    watch()
    _heal(faults, world, prober, trial)
    _until(lambda: home.is_quiet() and prober.is_up(), 40)
    trial.notices = [text for at, text in home.inbox.messages if at >= trial.injected_at]
    trial.incidents = home.incidents(trial.injected_at)
    trial.rows = home.counts(trial.injected_at)
    return trial


def with_baseline(
    faults: Sequence[Fault], world: World, prober: Prober, asked: Callable[[], dict[str, float]],
    limit: float,
) -> Trial:  # fmt: skip
    """Inject faults under a baseline; `asked` are the services that it alerted about."""
    trial = Trial(1, time.time())
    for fault in faults:
        fault.inject(world)

    def watch() -> bool:
        trial.asked = asked()
        return all(_is_done(fault, trial, prober) for fault in faults)

    _until(watch, limit)
    _heal(faults, world, prober, trial)
    _until(prober.is_up, 20)
    return trial


def _is_done(fault: Fault, trial: Trial, prober: Prober) -> bool:
    if fault.handed_over:
        return fault.root in trial.asked
    down, up = prober.up_since(trial.injected_at, fault.probe)
    return down is not None and up is not None and time.time() - up > STABLE_SECONDS


def _heal(faults: Sequence[Fault], world: World, prober: Prober, trial: Trial) -> None:
    for fault in faults:
        trial.up_at[fault.name] = prober.up_since(trial.injected_at, fault.probe)[1]
    trial.acts = world.init.acts_between(trial.injected_at, time.time())
    for fault in faults:
        if fault.handed_over:
            fault.heal(world)
    if any(fault.handed_over for fault in faults):  # what was repaired is not restarted again
        _until(prober.is_up, STABLE_SECONDS)
    for fault in faults:
        if not fault.handed_over and not prober.is_up():
            fault.heal(world)


def _until(what: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if what():
            return True
        time.sleep(POLL_SECONDS)
    return False
