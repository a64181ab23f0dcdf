"""The push check: a job reports each of its runs, and a run without a report fails."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Final

from cronsim import CronSim, CronSimError

from lamplighter.domain.services.check import PushCheck
from lamplighter.domain.services.checks.silence import cron_times
from lamplighter.domain.services.series import CheckRun, PointState
from lamplighter.domain.text import head_and_tail, one_line

KEY_BYTES: Final = 18
"""144 bits: too many to guess a key."""

MAX_BODY_BYTES: Final = 100_000
MAX_A_MINUTE: Final = 60
SIGNALS_STORED: Final = 100
"""The number of signals stored for a check; older ones are removed."""

SETTLE: Final = timedelta(seconds=2)
"""Maximum time between the arrival of a signal and its storage."""

MISSED_AT_ONCE: Final = 100
BRIEF_CHARS: Final = 300
MAX_CACHED: Final = 2_000
"""The number of cached next times: each is requested every second until it passes."""


class SignalKind(StrEnum):
    """The report of a job: its start, its success or its failure."""

    START = "start"
    SUCCESS = "success"
    FAIL = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class PushSignal:
    """One stored signal of a job; `body` is the text that the job sent, redacted."""

    id: int
    service: str
    check: str
    kind: SignalKind
    exit_status: int | None
    body: str
    at: datetime

    @property
    def reason(self) -> str:
        """Return why a run failed, with the first and last lines that the job sent."""
        said = "the job reported a failure"
        if self.exit_status is not None:
            said = f"the job ended with exit status {self.exit_status}"
        lines = [line.strip() for line in self.body.splitlines() if line.strip()]
        brief = " | ".join(head_and_tail(lines, BRIEF_CHARS))
        return f"{said}: {brief}" if brief else said


@dataclass(frozen=True, slots=True, kw_only=True)
class PushState:
    """The progress of evaluating a push check, and the basis for its next run.

    The next run is expected after `counted_from`. `started_at` is the start of a run that has not
    ended. `schedule` is the declaration that this state belongs to, `evaluated_to` the last signal
    that was evaluated.
    """

    service: str
    check: str
    schedule: str = ""
    counted_from: datetime
    started_at: datetime | None = None
    overdue: bool = False
    evaluated_to: int = 0

    @property
    def name(self) -> tuple[str, str]:
        """The names of its service and of the check."""
        return self.service, self.check


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The state after some signals and some time, the results, and the number of signals used."""

    state: PushState
    runs: Sequence[CheckRun]
    used: int


def new_key() -> str:
    """Return a new random key."""
    return secrets.token_urlsafe(KEY_BYTES)


def parse_signal(word: str) -> tuple[SignalKind, int | None] | None:
    """Return the report in the last part of a URL; None for an unknown word."""
    if word in (SignalKind.START, SignalKind.FAIL):
        return SignalKind(word), None
    if not (word.isascii() and word.isdigit() and len(word) <= 3 and int(word) <= 255):
        return None
    status = int(word)
    return (SignalKind.FAIL if status else SignalKind.SUCCESS), status


def schedule_problem(expression: str) -> str | None:
    """Return why this is not a cron expression; None if it is one."""
    try:
        CronSim(expression, datetime(2026, 1, 1, tzinfo=UTC))
    except CronSimError as error:
        return str(error).lower()
    return None


def schedule_of(check: PushCheck) -> str:
    """Return the declared schedule of a check as text, to detect changes."""
    when = f"every {check.every:g}" if check.cron is None else f"{check.cron} {check.zone}"
    return f"{when}, grace {check.grace:g}"


@lru_cache(MAX_CACHED)
def next_expected(check: PushCheck, after: datetime) -> datetime:
    """Return the time of the first expected run after a moment."""
    if check.cron is None:
        return after + timedelta(seconds=check.every)
    return next(cron_times(check.cron, check.zone, after), datetime.max.replace(tzinfo=UTC))


def evaluate(
    check: PushCheck, state: PushState, signals: Sequence[PushSignal], *, now: datetime
) -> Evaluation:
    """Return the results of signals, in their order, and of the time until now.

    Only stored times count: the same signals give the same results at any time of evaluation.
    """
    if state.schedule != schedule_of(check):  # new check, or its schedule was changed
        state = replace(
            state, schedule=schedule_of(check), counted_from=now, started_at=None, overdue=False
        )
    runs: list[CheckRun] = []
    for used, signal in enumerate(signals):
        state, missed = _missed(check, state, signal.at)
        runs += missed
        if len(runs) >= MISSED_AT_ONCE:
            return Evaluation(state, runs, used)
        state, run = _apply(state, signal)
        runs += [run] if run else []
    state, missed = _missed(check, state, now - SETTLE)
    return Evaluation(state, [*runs, *missed], len(signals))


def deadline(check: PushCheck, state: PushState) -> datetime:
    """Return the deadline for the report of the next run."""
    expected = next_expected(check, state.counted_from)
    if state.started_at is not None and not state.overdue:
        expected = min(expected, state.started_at)
    return min(expected, datetime.max.replace(tzinfo=UTC) - _grace(check)) + _grace(check)


def _missed(
    check: PushCheck, state: PushState, until: datetime
) -> tuple[PushState, list[CheckRun]]:
    """Return a failure for each expected run whose grace period ended before a moment."""
    runs: list[CheckRun] = []
    while (due := deadline(check, state)) < until and len(runs) < MISSED_AT_ONCE:
        expected = due - _grace(check)
        if expected == state.started_at and not state.overdue:
            detail = f"started {_moment(expected)} and did not finish in {_span(check.grace)}"
            state = replace(state, overdue=True)
        else:
            detail = f"no signal since the run expected {_moment(expected)}"
            state = replace(state, counted_from=expected, overdue=True)
        runs.append(_run(state, PointState.FAILED, due, detail=detail))
    return state, runs


def _apply(state: PushState, signal: PushSignal) -> tuple[PushState, CheckRun | None]:
    if signal.kind is SignalKind.START:
        return replace(state, started_at=signal.at), None
    latency = None
    if state.started_at is not None:
        latency = round((signal.at - state.started_at).total_seconds() * 1000, 1)
    passed = signal.kind is SignalKind.SUCCESS
    run = _run(
        state,
        PointState.PASSED if passed else PointState.FAILED,
        signal.at,
        detail="" if passed else signal.reason,
        latency_ms=latency,
        status=signal.exit_status,
    )
    after = max(signal.at, state.counted_from)
    return replace(state, counted_from=after, started_at=None, overdue=False), run


def _run(
    state: PushState,
    point: PointState,
    at: datetime,
    *,
    detail: str = "",
    latency_ms: float | None = None,
    status: int | None = None,
) -> CheckRun:
    return CheckRun(
        service=state.service,
        check=state.check,
        kind=PushCheck.kind,
        at=at,
        state=point,
        latency_ms=latency_ms,
        status=status,
        detail=one_line(detail),
    )


def _grace(check: PushCheck) -> timedelta:
    return timedelta(seconds=check.grace)


def _moment(at: datetime) -> str:
    return f"at {at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def _span(seconds: float) -> str:
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:g} {unit}"
    return f"{seconds:g} s"
