"""Judgement: the results of trials, compared with the ground truth. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, Final

from benchmarks.lab.faults import Fault
from benchmarks.lab.trial import Trial

EARLY: Final = 2.0
"""A claimed healthy time is true within this factor of the measured time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The result of one fault in one trial; times are in seconds from the injection."""

    fault: str
    repeat: int
    detected: float | None
    root_right: bool
    done: bool
    """Whether the right act repaired the fault, or the escalation to a person was right."""

    seconds: float | None
    """The time until users were served again, or until a request to a person."""

    handed_over: bool
    acts: int
    needless: int
    harmful: int
    notices: int
    incidents: int


def judge_all(faults: Sequence[Fault], trial: Trial) -> list[Verdict]:
    """Judge the faults of a trial; figures of the whole trial count for the first fault."""
    found = [judge(each, [one for one in faults if one is not each], trial) for each in faults]
    rest = [
        replace(each, acts=0, needless=0, harmful=0, notices=0, incidents=0) for each in found[1:]
    ]
    return [found[0], *rest]


def judge(fault: Fault, others: Sequence[Fault], trial: Trial) -> Verdict:
    """Judge one fault of a trial; `others` were injected at the same time."""
    own = [each for each in trial.incidents if fault.root in each.services]
    right = fault.right.union(*(each.right for each in others))
    harmful = [
        act
        for act in trial.acts
        if act not in right and any(each.is_harmful(act) for each in (fault, *others))
    ]
    done, at = _outcome(fault, trial)
    return Verdict(
        fault=fault.name,
        repeat=trial.repeat,
        detected=_since(trial, min((each.detected_at for each in own), default=None)),
        root_right=any(each.root == fault.root for each in own),
        done=done,
        seconds=_since(trial, at) if done else None,
        handed_over=fault.handed_over,
        acts=len(trial.acts),
        needless=len(needless(trial, right, [fault, *others])),
        harmful=len(harmful),
        notices=len(trial.notices),
        incidents=len(trial.incidents),
    )


def _outcome(fault: Fault, trial: Trial) -> tuple[bool, float | None]:
    if fault.handed_over:
        at = trial.asked.get(fault.root)
        return at is not None, at
    up = trial.up_at.get(fault.name)
    return up is not None and bool(fault.right & set(trial.acts)), up


def needless(trial: Trial, right: frozenset[str], faults: Sequence[Fault]) -> list[str]:
    """Return the acts that repair nothing; an act in `tries` may be tried once."""
    allowed = [act for each in faults for act in each.tries] if trial.repeat == 1 else []
    found: list[str] = []
    spent: set[str] = set()
    for act in trial.acts:
        if act in right and act not in spent:
            spent.add(act)
        elif act in allowed:
            allowed.remove(act)
        else:
            found.append(act)
    return found


def _since(trial: Trial, at: float | None) -> float | None:
    return None if at is None else round(max(0.0, at - trial.injected_at), 1)


def summarize(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Return the summary figures of several verdicts."""
    repaired = [each for each in verdicts if not each.handed_over]
    acts = sum(each.acts for each in verdicts)
    detected = [each.detected for each in verdicts if each.detected is not None]
    found: dict[str, Any] = {
        "trials": len(verdicts),
        "detected_percent": _percent([each.detected is not None for each in verdicts]),
        "detect_seconds": _median(detected),
        "root_right_percent": _percent([each.root_right for each in verdicts]),
        "done_percent": _percent([each.done for each in verdicts]),
        "acts": acts,
        "needless_acts": sum(each.needless for each in verdicts),
        "needless_percent": round(100 * sum(e.needless for e in verdicts) / acts) if acts else 0,
        "harmful_acts": sum(each.harmful for each in verdicts),
    }
    for repeat in sorted({each.repeat for each in repaired}):
        own = [e.seconds for e in repaired if e.repeat == repeat and e.seconds is not None]
        found[f"recover_seconds_{repeat}"] = _median(own)
    found["ask_seconds"] = _median([e.seconds for e in verdicts if e.handed_over and e.seconds])
    incidents = sum(each.incidents for each in verdicts)
    notices = sum(each.notices for each in verdicts)
    found["notices_per_incident"] = round(notices / incidents, 1) if incidents else None
    return found


def _percent(values: Sequence[bool]) -> int | None:
    return round(100 * sum(values) / len(values)) if values else None


def _median(values: Sequence[float]) -> float | None:
    return round(median(values), 1) if values else None


_STARTS: Final = re.compile(r"Takes about ([\d.]+) (s|min) to be healthy after a restart")
_FAILS: Final = re.compile(r"Fails when ([\w-]+) fails")
_HELPS: Final = re.compile(r"(\w+) fixes ")
_USELESS: Final = re.compile(r"(\w+) does not help ")
_TRIVIAL: Final = re.compile(r"Answers HTTP 2\d\d at ")


def judge_memory(
    memory: Mapping[str, Any], faults: Sequence[Fault], healthy_after: Sequence[float]
) -> str:
    """Return `true`, `false` or `trivial` from the ground truth; `unjudged` if it does not decide.

    `healthy_after` are the measured seconds from an act until users were served.
    """
    text, service = str(memory["text"]), str(memory["service"])
    right = frozenset().union(*(each.right for each in faults))
    if _TRIVIAL.match(text):
        return "trivial"
    if found := _STARTS.match(text):
        claimed = float(found[1]) * (60 if found[2] == "min" else 1)
        near = any(each / EARLY - 1 <= claimed <= each * EARLY + 1 for each in healthy_after)
        return "true" if near else "false"
    if found := _FAILS.match(text):
        return "true" if any(found[1] == each.root != service for each in faults) else "false"
    if found := _HELPS.match(text):
        return "true" if f"{found[1].lower()} {service}" in right else "false"
    if found := _USELESS.match(text):
        return "false" if f"{found[1].lower()} {service}" in right else "true"
    return "unjudged"
