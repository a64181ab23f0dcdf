"""Facts of a round: its check results, earlier results and memories."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from lamplighter.domain.memory.frames import HEALTHY_AFTER
from lamplighter.domain.memory.memory import Category
from lamplighter.domain.services.check import Check
from lamplighter.domain.services.cooldown import CooldownUse
from lamplighter.domain.services.service import Action, Service, normalize_service_name
from lamplighter.domain.sessions.handoff import Finding
from lamplighter.domain.text import comparison_key

STALE: Final = timedelta(days=7)
"""A high-confidence memory is reported again after this time."""

REPEAT_PAUSE_SECONDS: Final = 0.1
CHECK_REPEATS: Final = 2

_FIGURES: Final = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeAnswer:
    """What one attempt came to.

    `excerpt` is how the answer's body began, where that explains it; `printed` are
    the lines of a program that failed. `warning` says which threshold it came too
    near, though it passed. `answered` says whether the service answered at all;
    None where the check cannot tell.
    """

    ok: bool
    answered: bool | None = None
    detail: str = ""
    status: int | None = None
    excerpt: str = ""
    printed: str = ""
    warning: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOutcome:
    """What a check came to in this round.

    `detail` is why it failed, or why an attempt failed before one passed.
    `statuses` are the statuses of a healthy answer, more than one when it was
    looked at again to learn what is usual.
    """

    check: Check
    ok: bool
    latency_ms: float
    status: int | None = None
    attempts: int = 1
    failed: int = 0
    detail: str = ""
    excerpt: str = ""
    printed: str = ""
    answered: bool | None = None
    warning: str = ""
    statuses: tuple[int, ...] = ()

    @property
    def flapped(self) -> bool:
        """Say whether it failed and passed in the same round."""
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
    more = CHECK_REPEATS if passed.failed else 0
    return replace(passed, attempts=passed.attempts + more)


@dataclass(frozen=True, slots=True, kw_only=True)
class PastResult:
    """What a check came to in an earlier round; `detail` is why it failed."""

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
    """What is known before the round, by service; the newest comes first.

    `history` is by "service/check". `waiting` tells since when a person was asked
    for a service, `known_fix` which action repairs it now, `failed` which checks failed a moment
    ago, `passed` when checks that fail by the schedule passed last, `parked` since when a session
    waits for approval to act on it, `needs` all that a service depends on, by whatever way.
    """

    now: datetime
    memories: Sequence[MemoryFact] = ()
    history: Mapping[str, Sequence[PastResult]] = field(default_factory=dict)
    uses: Mapping[str, Sequence[CooldownUse]] = field(default_factory=dict)
    findings: Mapping[str, Sequence[Finding]] = field(default_factory=dict)
    waiting: Mapping[str, datetime] = field(default_factory=dict)
    parked: Mapping[str, datetime] = field(default_factory=dict)
    known_fix: Mapping[str, str] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)
    passed: Mapping[str, datetime] = field(default_factory=dict)
    needs: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def has_failed(self, service: Service, check: Check) -> bool:
        """Whether a check failed a moment ago, after its retries: one attempt confirms that."""
        return f"{service.name}/{check.name}" in self.failed

    def history_of(self, service: Service, check: Check) -> Sequence[PastResult]:
        """Return what a check came to in earlier rounds, the newest first."""
        return self.history.get(f"{service.name}/{check.name}", ())

    def unchanged(
        self, service: Service, outcomes: Sequence[CheckOutcome], *, after: datetime
    ) -> bool:
        """Whether each check came to the same in a round that was made since `after`."""
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
        """Return the memory of a service that says these words."""
        same = comparison_key(words)
        return next(
            (each for each in self.told_of(service) if comparison_key(each.observation) == same),
            None,
        )

    def worth_saying(self, service: Service, words: str) -> bool:
        """Say whether it is new, or saying it again would make it stronger."""
        held = self.find_memory(service, words)
        return held is None or held.confidence < 1.0 or self.now - held.updated_at > STALE


def _fact(found: CheckOutcome | PastResult) -> tuple[object, ...]:
    """Return what a check result states; why one passed, and figures such as times, may differ."""
    why = "" if found.ok else _FIGURES.sub("#", found.detail)
    return found.ok, found.flapped, found.status, why


MAX_STARTUP_SECONDS: Final = 360.0
MAX_CLAIM_SECONDS: Final = 3_600.0
TIMEOUT_FACTOR: Final = 2.0
_UNIT: Final = r"(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?)\b"
_NUMBER: Final = r"(\d[\d,]*(?:\.\d+)?)"
# the time that something takes, not just any that is spoken of
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
    """What a memory says: so many seconds."""

    seconds: float
    memory: MemoryFact


def startup_claim(service: Service, facts: RoundFacts) -> DurationClaim | None:
    """Return what memory says of how long a service takes to start; the surest wins."""
    claims = [
        DurationClaim(seconds, held)
        for held in facts.told_of(service)
        if held.category == Category.TIMING and _STARTING.search(held.observation)
        for seconds in _seconds(held.observation)
    ]
    return max(
        claims, key=lambda each: (each.memory.confidence, each.memory.updated_at), default=None
    )


def startup_timeout(claim: DurationClaim | None, action: Action) -> float:
    """Return for how many seconds a service may take to be healthy before it counts as failed.

    What memory says makes the wait longer, never shorter than the action's own:
    a wrong memory must not lead to the next, heavier action.
    """
    remembered = claim.seconds * TIMEOUT_FACTOR if claim else 0.0
    return max(action.wait, min(MAX_STARTUP_SECONDS, remembered))


def startup_lesson(seconds: float, claim: DurationClaim | None) -> str | None:
    """Return what memory says and was just confirmed, to be said again in its own words.

    What is derived from outcomes is confirmed by the next outcome.
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


def _seconds(observation: str) -> list[float]:
    match = _DURATION.search(observation)
    if match is None:
        return []
    number, unit, more, smaller = match.groups()
    seconds = _in_seconds(number, unit) + (_in_seconds(more, smaller) if more else 0.0)
    return [seconds] if 0 < seconds <= MAX_CLAIM_SECONDS else []


def _in_seconds(number: str, unit: str) -> float:
    short = unit.lower()
    if short.startswith(("ms", "milli")):
        return float(number.replace(",", "")) * 0.001
    return float(number.replace(",", "")) * _UNITS[short[0]]
