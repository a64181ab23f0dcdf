"""The outcome record: the result of one action in one incident, and statistics of many records."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from math import comb, sqrt
from statistics import NormalDist
from typing import Annotated, Any, Final

from lamplighter.domain.fields import Field
from lamplighter.domain.services.cooldown import CooldownUse, UseOutcome
from lamplighter.domain.services.incident import Incident, IncidentOutcome
from lamplighter.domain.services.series import PointState, SeriesPoint, percentile
from lamplighter.domain.services.service import is_same_service

TAIL: Final = 0.05
"""The probability outside of the 90 % interval on each side."""
EXACT_UNTIL: Final = 100
"""The number of trials up to which the interval is exact: its computing time grows with them."""

HALF: Final = 0.5
MIN_FAILED: Final = 2
TAKES_EFFECT: Final = timedelta(seconds=5)
"""A failure measured sooner after an action may be from before the action."""

MAX_COUNTED: Final = 200
"""The maximum number of outcomes of an action that count, the newest first."""


class ActionResult(StrEnum):
    """The result of an action; `unclear` if no check decided, `none` without an action."""

    FIXED = "fixed"
    FAILED = "failed"
    UNCLEAR = "unclear"
    NONE = "none"


class OutcomeActor(StrEnum):
    """The actor that ended an incident, or acted."""

    AGENT = "agent"
    PERSON = "person"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeRecord:
    """One action tried in one incident, or a record without an action if none was tried.

    `signatures` are the keys of all failures of the service, the main one first, whose fields are
    also separate. `circumstances` is the configuration of the service. `ended` is the outcome of
    the incident, after `seconds`; `healthy_seconds` is the time until the action had helped.
    """

    id: int = 0
    incident_id: int
    service: str
    check: Annotated[str, Field(column="check_name")] = ""
    failure: str
    evidence: str
    exit_code: int | None = None
    signatures: tuple[str, ...] = ()
    circumstances: str = ""
    context: Mapping[str, Any] = field(default_factory=dict)
    action: str = ""
    target: str = ""
    result: ActionResult
    attempts: int = 0
    ended: IncidentOutcome
    healthy_seconds: float | None = None
    seconds: float
    actor: OutcomeActor
    by_session: int | None = None
    tier: int = 0
    memories: tuple[int, ...] = ()
    at: datetime

    @property
    def started_at(self) -> datetime:
        """Return when its incident began."""
        return self.at - timedelta(seconds=self.seconds)


@dataclass(frozen=True, slots=True)
class ActionCounts:
    """The number of successes and trials of an action, and the seconds until healthy."""

    worked: int = 0
    tried: int = 0
    seconds: tuple[float, ...] = ()

    @property
    def interval(self) -> tuple[float, float]:
        """Return the 90 % interval of its success probability, from Beta(1, 1)."""
        return beta_interval(self.worked, self.tried)

    @property
    def helps(self) -> bool:
        """Whether it is known to help: it never failed, or clearly helps more often than not."""
        return self.worked > 0 and (self.worked == self.tried or self.interval[0] > HALF)

    @property
    def useless(self) -> bool:
        """Whether it is known not to help: it never did, or clearly fails more often than not."""
        return self.tried > 0 and (self.worked == 0 or self.interval[1] < HALF)


def beta_interval(worked: int, tried: int) -> tuple[float, float]:
    """Return the 5 % and 95 % quantile of the success probability after a number of trials.

    After many trials Beta(1 + worked, 1 + failed) is close to a normal distribution.
    """
    if tried <= EXACT_UNTIL:
        return _quantile(TAIL, worked, tried), _quantile(1 - TAIL, worked, tried)
    mean = (1 + worked) / (2 + tried)
    spread = NormalDist().inv_cdf(1 - TAIL) * sqrt(mean * (1 - mean) / (3 + tried))
    return round(max(0.0, mean - spread), 3), round(min(1.0, mean + spread), 3)


def _quantile(share: float, worked: int, tried: int) -> float:
    """Return a quantile of Beta(1 + worked, 1 + failed), which is a sum of binomials."""
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        below = sum(
            comb(tried + 1, k) * middle**k * (1 - middle) ** (tried + 1 - k)
            for k in range(worked + 1, tried + 2)
        )
        low, high = (middle, high) if below < share else (low, middle)
    return round((low + high) / 2, 3)


def count_outcomes(
    records: Iterable[OutcomeRecord],
    action: str,
    signatures: Iterable[str],
    circumstances: str,
) -> ActionCounts:
    """Count the results of an action against a failure in the current configuration.

    `records` are those of one service, oldest first.
    """
    keys = set(signatures)
    counted = [
        each
        for each in records
        if each.action == action
        and is_same_service(each.target, each.service)
        and each.result in (ActionResult.FIXED, ActionResult.FAILED)
        and each.circumstances == circumstances
        and keys & set(each.signatures)
    ][-MAX_COUNTED:]
    fixed = [each for each in counted if each.result is ActionResult.FIXED]
    seconds = (each.healthy_seconds for each in fixed)
    return ActionCounts(
        len(fixed), len(counted), tuple(each for each in seconds if each is not None)
    )


def robust_interval(seconds: Sequence[float]) -> tuple[float, float, float] | None:
    """Return the median of some times, and their 10 % and 90 % quantile; None for no times."""
    ordered = sorted(seconds)
    found = [percentile(ordered, percent) for percent in (50, 10, 90)]
    if None in found:
        return None
    middle, low, high = (each for each in found if each is not None)
    return middle, low, high


def incidents_with(
    records: Iterable[OutcomeRecord], memory_id: int
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the numbers of incidents and repaired ones, with a memory in a prompt and without."""
    ended = {each.incident_id: each for each in records}
    found = []
    for inside in (True, False):
        some = [each for each in ended.values() if (memory_id in each.memories) is inside]
        found.append((len(some), sum(each.ended is IncidentOutcome.REPAIRED for each in some)))
    return found[0], found[1]


def fails_on(points: Sequence[SeriesPoint], acted_at: datetime) -> bool:
    """Whether a check failed after an action as before: measured twice, and after a delay."""
    conclusive = [each for each in points if each.state is not PointState.INCONCLUSIVE]
    return (
        len(conclusive) >= MIN_FAILED
        and all(each.state is PointState.FAILED for each in conclusive)
        and conclusive[-1].at - acted_at >= TAKES_EFFECT
    )


def result_of(
    uses: Sequence[CooldownUse], *, disproved: bool, confirmed: bool = False
) -> ActionResult:
    """Return the result of the uses of one action in one incident.

    A later attempt that helped counts, regardless of a session's report. An unconfirmed use, or one
    that failed only by a session's report, did not help if it is `disproved`: a person was asked,
    or the check still failed. An interrupted use shows nothing. A use that the next report of a job
    `confirmed` helped.
    """
    if any(use.outcome is UseOutcome.SUCCESS or use.healthy_after is not None for use in uses):
        return ActionResult.FIXED
    failed = [use for use in uses if use.outcome is UseOutcome.FAILURE and not use.was_cut_off]
    unconfirmed = any(use.outcome is UseOutcome.UNCONFIRMED for use in uses)
    if unconfirmed and confirmed and not disproved:
        return ActionResult.FIXED
    unsure = unconfirmed or bool(failed)
    if any(not use.marked or use.did_not_last for use in failed) or (unsure and disproved):
        return ActionResult.FAILED
    return ActionResult.UNCLEAR


def ended_by(incident: Incident) -> OutcomeActor:
    """Return the actor that ended an incident in which no action was tried."""
    handled = incident.outcome is IncidentOutcome.BY_PERSON
    return OutcomeActor.PERSON if handled else OutcomeActor.NONE
