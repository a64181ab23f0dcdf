"""Facts of a round: its check results, earlier results and memories."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Annotated, Final

from msgspec import Meta

from lamplighter.domain.memory.frames import HEALTHY_AFTER
from lamplighter.domain.memory.memory import Category
from lamplighter.domain.services.check import Check
from lamplighter.domain.services.cooldown import CooldownUse
from lamplighter.domain.services.service import Action, Service, normalize_service_name
from lamplighter.domain.sessions.handoff import Finding
from lamplighter.domain.text import comparison_key

STALE: Final = timedelta(days=7)
"""A high-confidence memory is reported again after this time."""

Moment = Annotated[datetime, Meta(tz=True)]

REPEAT_PAUSE_SECONDS: Final = 0.1
CHECK_REPEATS: Final = 2

_FIGURES: Final = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeAnswer:
    """The outcome of an attempt.

    `excerpt` is the beginning of the answer's body, if that explains the outcome; `printed` are the
    lines of a program that failed. `warning` names a threshold that is nearly reached, though the
    attempt passed. `answered` states whether the service answered at all; None if the check cannot
    tell.
    """

    ok: bool
    answered: bool | None = None
    detail: str = ""
    status: int | None = None
    excerpt: str = ""
    printed: str = ""
    warning: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOutcome(ProbeAnswer):
    """The outcome of a check in this round.

    `detail` is why it failed, or why an attempt failed before one passed. `statuses` are the
    statuses of a healthy answer, several if it was repeated to learn the usual one.
    """

    check: Check
    latency_ms: float
    attempts: int = 1
    failed: int = 0
    statuses: tuple[int, ...] = ()

    @property
    def flapped(self) -> bool:
        """Whether a check failed and passed in the same round."""
        return self.ok and self.failed > 0


async def repeat_passed(
    outcome: CheckOutcome, attempt: Callable[[], Awaitable[CheckOutcome]]
) -> CheckOutcome:
    """Attempt a check that passed twice more: no attempt is counted while none fails."""
    passed = outcome
    for _ in range(CHECK_REPEATS):
        await asyncio.sleep(REPEAT_PAUSE_SECONDS)
        again = await attempt()
        passed = replace(
            passed,
            failed=passed.failed + again.failed,
            detail=passed.detail or again.detail,
            statuses=passed.statuses + again.statuses,
        )
    return replace(passed, attempts=passed.attempts + CHECK_REPEATS * bool(passed.failed))


@dataclass(frozen=True, slots=True, kw_only=True)
class PastResult:
    """The outcome of a check in an earlier round; `detail` is why it failed."""

    ok: bool
    at: datetime
    status: int | None = None
    latency_ms: float | None = None
    flapped: bool = False
    session: int | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFact:
    """A memory we hold."""

    id: int | str
    category: str
    observation: str
    confidence: float
    updated_at: datetime
    service: str | None = None
    trust: str = "observed"


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundFacts:
    """Facts from before the round, by service; the newest comes first.

    `history` is by "service/check". `waiting` is the time since when a service waits for a person,
    `known_fix` the action that repairs it now, `failed` the checks that failed a moment ago,
    `passed` when checks that fail by the schedule passed last, `parked` since when a session waits
    for approval to act on it, `needs` all direct and indirect dependencies of a service.
    """

    now: Moment
    memories: Sequence[MemoryFact] = ()
    history: Mapping[str, Sequence[PastResult]] = field(default_factory=dict)
    uses: Mapping[str, Sequence[CooldownUse]] = field(default_factory=dict)
    findings: Mapping[str, Sequence[Finding]] = field(default_factory=dict)
    waiting: Mapping[str, Moment] = field(default_factory=dict)
    parked: Mapping[str, Moment] = field(default_factory=dict)
    known_fix: Mapping[str, str] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)
    passed: Mapping[str, Moment] = field(default_factory=dict)
    needs: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def has_failed(self, service: Service, check: Check) -> bool:
        """Whether a check failed a moment ago, after its retries: one attempt confirms that."""
        return f"{service.name}/{check.name}" in self.failed

    def history_of(self, service: Service, check: Check) -> Sequence[PastResult]:
        """Return the results of a check in earlier rounds, newest first."""
        return self.history.get(f"{service.name}/{check.name}", ())

    def unchanged(
        self, service: Service, outcomes: Sequence[CheckOutcome], *, after: datetime
    ) -> bool:
        """Whether each check had the same outcome in a round after `after`."""
        return all(
            past and past[0].at > after and _fact(past[0]) == _fact(outcome)
            for outcome in outcomes
            for past in [self.history_of(service, outcome.check)]
        )

    def told_of(self, service: Service) -> Iterator[MemoryFact]:
        """Yield the memories of a service, in whatever case it was spelled."""
        name = normalize_service_name(service.name)
        return (
            each
            for each in self.memories
            if each.service and normalize_service_name(each.service) == name
        )

    def find_memory(self, service: Service, words: str) -> MemoryFact | None:
        """Return the memory of a service with this text."""
        same = comparison_key(words)
        memories = self.told_of(service)
        return next((each for each in memories if comparison_key(each.observation) == same), None)

    def worth_saying(self, service: Service, words: str) -> bool:
        """Whether an observation is new, or would reinforce a memory."""
        same = self.find_memory(service, words)
        return same is None or same.confidence < 1.0 or self.now - same.updated_at > STALE


def _fact(found: CheckOutcome | PastResult) -> tuple[object, ...]:
    """Return the fact of a check result; reasons of success, and figures like times, may differ."""
    why = "" if found.ok else _FIGURES.sub("#", found.detail)
    return found.ok, found.flapped, found.status, why


MAX_STARTUP_SECONDS: Final = 360.0
MAX_CLAIM_SECONDS: Final = 3_600.0
TIMEOUT_FACTOR: Final = 2.0
_UNIT: Final = r"(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?)\b"
_NUMBER: Final = r"(\d[\d,]*(?:\.\d+)?)"
# the time that something takes, not any other time in the text
_DURATION: Final = re.compile(
    r"\b(?:takes?|took|needs?|requires?"
    r"|(?:starts?|boots?|up|ready|healthy)(?: up)? (?:in|within|after))"
    r"\s+(?:(?:about|around|roughly|some|up to|at least|at most|almost|nearly|over|ca\.?|~)\s*)*"
    rf"{_NUMBER}\s*{_UNIT}(?:\s*(?:and\s+)?{_NUMBER}\s*{_UNIT})?",
    re.IGNORECASE,
)
_STARTING: Final = re.compile(
    r"\b(?:re-?start\w*|start\w*|redeploy\w*|deploy\w*|boot\w*|healthy|ready|up)\b", re.IGNORECASE
)
_UNITS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class DurationClaim:
    """A memory's claim of a duration in seconds."""

    seconds: float
    memory: MemoryFact


def startup_claim(service: Service, facts: RoundFacts) -> DurationClaim | None:
    """Return how long a service takes to start by memory; the highest confidence wins."""
    claims = [
        DurationClaim(seconds, each)
        for each in facts.told_of(service)
        if each.category == Category.TIMING
        and _STARTING.search(each.observation)
        and (seconds := _seconds(each.observation))
    ]
    order = attrgetter("memory.confidence", "memory.updated_at")
    return max(claims, key=order, default=None)


def startup_timeout(claim: DurationClaim | None, action: Action) -> float:
    """Return for how many seconds a service may take to be healthy before it counts as failed.

    A memory extends the wait beyond the action's own, and never shortens it: a wrong memory must
    not lead to the next, heavier action.
    """
    remembered = claim.seconds * TIMEOUT_FACTOR if claim else 0.0
    return max(action.wait, min(MAX_STARTUP_SECONDS, remembered))


def startup_lesson(seconds: float, claim: DurationClaim | None) -> str | None:
    """Return the memory that was just confirmed, to report it again verbatim.

    A memory that is derived from outcomes is confirmed by the next outcome.
    """
    if claim is None or not confirms_claim(seconds, claim.seconds):
        return None
    said = claim.memory.observation
    return said if HEALTHY_AFTER.fillers(said) is None else None


def confirms_claim(seconds: float, claimed: float) -> bool:
    """Whether a measured time confirms a remembered one, within a second."""
    return claimed * 0.5 - 1 <= seconds <= claimed * 1.25 + 1


def compare_claim(seconds: float, claim: DurationClaim) -> str:
    """Compare a measured time with the memory."""
    how = "as remembered" if confirms_claim(seconds, claim.seconds) else "not as remembered"
    return f"{how} (memory {claim.memory.id} says {claim.seconds:g} s)"


def _seconds(observation: str) -> float:
    """Return the duration that a text states; 0 for none, or one that is too long."""
    match = _DURATION.search(observation)
    if match is None:
        return 0.0
    number, unit, more, smaller = match.groups()
    seconds = _in_seconds(number, unit) + (_in_seconds(more, smaller) if more else 0.0)
    return seconds if seconds <= MAX_CLAIM_SECONDS else 0.0


def _in_seconds(number: str, unit: str) -> float:
    short = unit.lower()
    size = 0.001 if short.startswith(("ms", "milli")) else _UNITS[short[0]]
    return float(number.replace(",", "")) * size
