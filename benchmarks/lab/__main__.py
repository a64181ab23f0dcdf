"""`python -m benchmarks.lab`: break real services, and measure what Lamplighter does.

`--classes "kill,hang"` selects classes (`kill + silent job` is two faults at once), `--repeats N`
injects each N times, `--minutes M` watches a healthy world, `--seed S` shuffles, `--at-once K` runs
K classes in parallel. The result is JSON; `--page FILE` writes the page.
"""

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from benchmarks import known_fix
from benchmarks.lab import baselines, faults, judge, report, trial
from benchmarks.lab.baselines import Baseline
from benchmarks.lab.faults import Fault
from benchmarks.lab.home import LabHome
from benchmarks.lab.judge import Verdict
from benchmarks.lab.prober import Prober
from benchmarks.lab.trial import Trial
from benchmarks.lab.world import World, initialize_postgres

ALL: Final = (*(each.name for each in faults.FAULTS), *(" + ".join(pair) for pair in faults.PAIRS))
SPACING: Final = 312.0
"""Seconds between two repeats: more than the five quiet minutes after an incident."""

QUIET_SECONDS: Final = 90.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of a lab run."""

    classes: Sequence[str] = ALL
    repeats: int = 3
    seed: int = 1
    minutes: float = 10
    spacing: float = SPACING
    limit: float = 150
    at_once: int = 6
    baselines: Sequence[str] = baselines.NAMES
    interval: int = 2


class StoppedEarly(Exception):
    """The run ends before everything is measured."""


@dataclass(slots=True)
class ClassResult:
    """The results of one class."""

    name: str
    verdicts: list[Verdict] = field(default_factory=list)
    trials: list[dict[str, Any]] = field(default_factory=list)
    baselines: dict[str, list[Verdict]] = field(default_factory=dict)
    memories: list[dict[str, Any]] = field(default_factory=list)
    not_run: str = ""


stopped = threading.Event()
"""Set when the run is to end early: remaining trials are not run."""


def run(
    options: Options, publish: Callable[[dict[str, Any]], None] = lambda found: None
) -> dict[str, Any]:
    """Run the lab and return its figures; they are also published after each class."""
    names = list(options.classes)
    random.Random(options.seed).shuffle(names)
    root = Path(tempfile.mkdtemp(prefix="lamp-lab-"))
    root.chmod(0o711)
    found = _not_run_all(names)
    names = [name for name in names if name not in found]
    alarms: list[str] | None = None
    results = [ClassResult(name, not_run="the run was stopped before") for name in names]
    mask = os.umask(0o022)  # the servers read their files as users of their own
    try:
        if names or options.minutes:
            initialize_postgres(root / "template")
        with ThreadPoolExecutor(options.at_once) as pool:
            healthy = pool.submit(_health, root, options) if options.minutes else None
            for _ in pool.map(lambda result: _class_or_reason(result, root, options), results):
                alarms = healthy.result() if healthy and healthy.done() else None
                publish(_result(options, results, found, alarms))
            alarms = healthy.result() if healthy else None
    finally:
        os.umask(mask)
        shutil.rmtree(root, ignore_errors=True)
    return _result(options, results, found, alarms)


def _not_run_all(names: Sequence[str]) -> dict[str, str]:
    reasons = {name: faults.not_run(faults.find(name)) for name in names}
    return {name: reason for name, reason in reasons.items() if reason}


def _class_or_reason(result: ClassResult, root: Path, options: Options) -> None:
    if stopped.is_set():
        return
    try:
        _class(result, root, options)
        result.not_run = ""
    except StoppedEarly:
        result.not_run = "the run was stopped meanwhile"
    except Exception as error:  # a class that the lab cannot run is not run, never passed
        result.not_run = f"the lab failed: {type(error).__name__}: {error}"


def _class(result: ClassResult, root: Path, options: Options) -> None:
    some = faults.find(result.name)
    world = World(root / result.name.replace(" ", "-"), root / "template")
    prober = Prober(world)
    settings = {key: value for each in some for key, value in each.settings.items()}
    home = LabHome(world, options.interval, settings)
    try:
        prober.start()
        _wait(prober.is_up, QUIET_SECONDS)
        for kind in options.baselines:
            result.baselines[kind] = _baseline(kind, some, world, prober, options)
        home.start()
        _repeat(some, world, home, prober, options, result)
    finally:
        home.close()
        prober.close()
        world.close()


def _repeat(
    some: Sequence[Fault], world: World, home: LabHome, prober: Prober, options: Options,
    result: ClassResult,
) -> None:  # fmt: skip
    chance = random.Random(f"{options.seed} {result.name}")
    after: list[float] = []
    for repeat in range(1, options.repeats + 1):
        _wait(lambda: home.is_quiet() and prober.is_up(), QUIET_SECONDS)
        time.sleep(chance.uniform(0, options.interval))
        began = time.monotonic()
        seen = trial.with_product(some, world, home, prober, repeat, options.limit)
        verdicts = judge.judge_all(some, seen)
        result.verdicts += verdicts
        result.trials.append(_described(seen, verdicts))
        acted = [each.at for each in world.init.acts if each.at >= seen.injected_at]
        after += [up - at for up in seen.up_at.values() for at in acted if up and at <= up]
        print(f"{result.name} {repeat}: {result.trials[-1]}", file=sys.stderr, flush=True)
        if repeat < options.repeats:
            _rest(max(0.0, options.spacing - (time.monotonic() - began)))
    result.memories = [
        {**each, "judged": judge.judge_memory(each, some, after)} for each in home.memories()
    ]


def _described(seen: Trial, verdicts: Sequence[Verdict]) -> dict[str, Any]:
    wrong = [each for each in verdicts if not (each.detected is not None and each.done)]
    misses = [
        f"{each.fault}: {'not detected' if each.detected is None else 'no right end'}"
        for each in wrong
    ]
    misses += [f"{e.fault}: wrong root" for e in verdicts if e not in wrong and not e.root_right]
    for words, count in (
        ("needless", max(each.needless for each in verdicts)),
        ("harmful", max(each.harmful for each in verdicts)),
    ):
        misses += [f"{count} {words} of {', '.join(seen.acts)}"] if count else []
    return {
        "repeat": seen.repeat,
        "missed": "; ".join(misses),
        "acts": seen.acts,
        "asked": {name: round(at - seen.injected_at, 1) for name, at in seen.asked.items()},
        "incidents": [each.title for each in seen.incidents],
        "notices": seen.notices,
        "rows": seen.rows,
        "verdicts": [asdict(each) for each in verdicts],
    }


def _baseline(
    kind: str, some: Sequence[Fault], world: World, prober: Prober, options: Options
) -> list[Verdict]:
    watching = Baseline(kind, world)
    try:
        seen = trial.with_baseline(
            some, world, prober, lambda: _owners(watching.alerts), options.limit / 3
        )
    finally:
        watching.close()
    _wait(prober.is_up, QUIET_SECONDS)
    verdicts = []
    first = min(watching.noticed, key=watching.noticed.__getitem__, default="")
    for each, judged in zip(some, judge.judge_all(some, seen), strict=True):
        at = _owners(watching.noticed).get(each.root)
        verdict = asdict(judged) | {
            "detected": None if at is None else round(max(0.0, at - seen.injected_at), 1),
            "root_right": each.root in _owners({first: 0.0}),
            "notices": watching.messages,
        }
        verdicts.append(Verdict(**verdict))
    return verdicts


def _owners(found: Mapping[str, float]) -> dict[str, float]:
    """Return times by service; a certificate belongs to nginx."""
    return {"nginx" if name == "certificate" else name: at for name, at in found.items()}


def _health(root: Path, options: Options) -> list[str]:
    """Watch a healthy world with one check per second; return the false alarms."""
    world = World(root / "health", root / "template")
    home, prober = LabHome(world, 1), Prober(world)
    try:
        home.start()
        _wait(home.is_quiet, QUIET_SECONDS)
        began = time.time()
        _rest(options.minutes * 60)
        raised = [f"incident: {each.title}" for each in home.incidents(began)]
        raised += [f"action: {each.words}" for each in world.init.acts if each.at >= began]
        return raised + [f"notification: {text}" for at, text in home.inbox.messages if at >= began]
    finally:
        home.close()
        prober.close()
        world.close()


def _wait(what: Any, seconds: float) -> None:
    """Wait until a condition holds. Raises RuntimeError after the timeout."""
    deadline = time.monotonic() + seconds
    while not what():
        if time.monotonic() > deadline:
            raise RuntimeError("the world did not become healthy in time")
        _rest(0.5)


def _rest(seconds: float) -> None:
    if stopped.wait(seconds):
        raise StoppedEarly


def _result(
    options: Options,
    results: Sequence[ClassResult],
    not_run: Mapping[str, str],
    alarms: Sequence[str] | None,
) -> dict[str, Any]:
    ran = sorted((e for e in results if not e.not_run), key=lambda each: ALL.index(each.name))
    total = judge.summarize([one for each in ran for one in each.verdicts])
    memories = [memory for each in ran for memory in each.memories]
    first, later = total.get("recover_seconds_1"), total.get("recover_seconds_2")
    goals = {
        **total,
        "false_memories": sum(each["judged"] == "false" for each in memories),
        "false_alarms": None if alarms is None else len(alarms),
        "repeat_percent": round(100 * later / first) if first and later else None,
    }
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "machine": report.machine(),
        "load": round(os.getloadavg()[2], 1),
        "seed": options.seed,
        "repeats": options.repeats,
        "minutes": options.minutes,
        "goals": goals,
        "total": total,
        "baselines": {
            kind: judge.summarize([one for each in ran for one in each.baselines.get(kind, ())])
            for kind in options.baselines
        },
        "alarms": alarms,
        "classes": [
            {
                "name": each.name,
                "figures": judge.summarize(each.verdicts),
                "trials": each.trials,
                "memories": each.memories,
            }
            for each in ran
        ],
        "not_run": {**not_run, **{each.name: each.not_run for each in results if each.not_run}},
    }


def main() -> int:
    """Read the command line, run, and print the result."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lab", description=__doc__)
    parser.add_argument("--classes", default=",".join(ALL))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--at-once", type=int, default=6)
    parser.add_argument("--spacing", type=float, default=SPACING)
    parser.add_argument("--baselines", default=",".join(baselines.NAMES))
    parser.add_argument("--model", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--page", type=Path)
    words = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())

    def publish(found: dict[str, Any]) -> None:
        if words.page:
            words.page.write_text(report.markdown(found), encoding="utf-8")

    found = run(
        Options(
            classes=[each.strip() for each in words.classes.split(",")],
            repeats=words.repeats,
            seed=words.seed,
            minutes=words.minutes,
            spacing=words.spacing,
            at_once=words.at_once,
            baselines=[each for each in words.baselines.split(",") if each],
        ),
        publish,
    )
    if words.model and not stopped.is_set():
        found["model"] = known_fix.run()
        found["goals"]["tokens_percent"] = found["model"]["tokens_percent"]
    print(json.dumps(found, indent=1))
    publish(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
