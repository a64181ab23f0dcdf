"""Learned facts: memories with structured fields, derived from outcome records."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Final

from lamplighter.domain.learning.changes import duration_words
from lamplighter.domain.learning.hours import hour_words
from lamplighter.domain.learning.outcome import ActionCounts, beta_interval, robust_interval
from lamplighter.domain.learning.patterns import time_words
from lamplighter.domain.memory.decay import apply_decay, decay_changes
from lamplighter.domain.memory.frames import (
    FAILS_AFTER,
    FAILS_AT,
    FAILS_WITH,
    FIXES,
    HEALTHY_AFTER,
    HEALTHY_AFTER_WITH,
    NO_HELP,
    SLOW_AT,
    Frame,
)
from lamplighter.domain.memory.intents import (
    CONTRADICTED,
    NEW,
    REVIVES,
    ChangeOrigin,
    Intent,
    MemoryChange,
    MemoryLink,
    NewMemory,
)
from lamplighter.domain.memory.memory import (
    Candidate,
    InactiveReason,
    Memory,
    Trust,
    contradict,
    reinforce,
)
from lamplighter.domain.services.service import is_same_service, normalize_service_name

MIN_CAUSED: Final = 2
"""The minimum number of failures of one cause for a memory."""

MIN_MEASURED: Final = 3
"""The minimum number of measured recovery times for a memory."""


class FactKind(StrEnum):
    """The subject of a learned fact.

    A repair, the cause of failures, a recovery time, the time of failures, the hours in which a
    check is slow, or a change that failures follow.
    """

    REPAIR = "repair"
    CAUSE = "cause"
    START_UP = "start_up"
    PATTERN = "pattern"
    SLOW_HOURS = "slow_hours"
    CHANGE = "change"


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedFact:
    """The fields of one memory. `sentence` is their rendered text.

    Of a repair, `cause` quotes the evidence, and `signature` is the key of the failure; of a cause
    `cause` is the service that failed first, of a recovery time the dependencies that failed too. A
    pattern has the second of the day in `seconds`, its days in `action`, and the evidence and
    signature of the failure. Slow hours have their check in `signature`, and their weekday in
    `action`; `seconds` are their start and end in the day, with a weekday in the week, their
    latency and the usual one. A change has its kind in `action` and the changed service in `cause`.
    Evidence before the outcome, incident or day `counted_from` does not count.
    """

    memory_id: int = 0
    kind: FactKind
    service: str
    action: str = ""
    cause: str = ""
    signature: str = ""
    worked: int = 0
    tried: int = 0
    seconds: tuple[float, ...] = ()
    sentence: str = ""
    counted_from: int = 0
    at: datetime

    @property
    def interval(self) -> tuple[float, float]:
        """Return the 90 % interval of the share of `worked` in `tried`."""
        return beta_interval(self.worked, self.tried)

    @property
    def counts(self) -> ActionCounts:
        """Return the counts of the fact."""
        return ActionCounts(self.worked, self.tried, self.seconds)

    @property
    def frame(self) -> Frame:
        """Return the frame of its sentence."""
        if self.kind is FactKind.REPAIR:
            return NO_HELP if self.counts.useless else FIXES
        if self.kind is FactKind.START_UP and self.cause:
            return HEALTHY_AFTER_WITH
        return _FRAMES[self.kind]

    def is_same(self, other: "LearnedFact") -> bool:
        """Whether two facts are claims about the same subject, compared by their fields."""
        return _subject(self) == _subject(other)


_FRAMES: Final = {
    FactKind.CAUSE: FAILS_WITH,
    FactKind.START_UP: HEALTHY_AFTER,
    FactKind.PATTERN: FAILS_AT,
    FactKind.SLOW_HOURS: SLOW_AT,
    FactKind.CHANGE: FAILS_AFTER,
}
BY_TIME: Final = (FactKind.PATTERN, FactKind.SLOW_HOURS)
"""Claims about a time; evidence either agrees with one or not."""


def _subject(fact: LearnedFact) -> tuple[str, ...]:
    about = (FactKind.CAUSE, FactKind.CHANGE, FactKind.START_UP)
    cause = fact.cause if fact.kind in about else ""
    action = "" if fact.kind in BY_TIME else fact.action
    return fact.kind, normalize_service_name(fact.service), action, fact.signature, cause


def render(fact: LearnedFact) -> LearnedFact:
    """Return a fact with its fields rendered as a sentence."""
    sentence = fact.frame.text(
        tail=True,
        action=fact.action.capitalize() if fact.kind is FactKind.REPAIR else fact.action,
        cause=fact.cause,
        service=fact.service,
        counts=f"{fact.worked} of {fact.tried}{_healthy_words(fact)}",
        time=_time(fact),
        range=_figures(fact) or "measured once",
        check=fact.signature,
    )
    return replace(fact, sentence=sentence)


def _latency(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{max(1, round(seconds * 1_000))} ms"


def _healthy_words(fact: LearnedFact) -> str:
    if fact.kind is not FactKind.REPAIR or not fact.seconds or fact.frame is NO_HELP:
        return ""
    span = _range(fact.seconds)
    return f", healthy after {_middle(fact.seconds)}" + (f" ({span})" if span else "")


def _time(fact: LearnedFact) -> str:
    if fact.kind is FactKind.PATTERN:
        return time_words(fact.seconds[0], fact.action)
    if fact.kind is FactKind.SLOW_HOURS:
        return hour_words(fact.seconds[0], fact.seconds[1], fact.action)
    return _middle(fact.seconds)


def _figures(fact: LearnedFact) -> str:
    if fact.kind is FactKind.SLOW_HOURS:
        slow, usual = fact.seconds[2:]
        return f"{_latency(slow)} instead of {_latency(usual)}"
    if fact.kind is FactKind.CHANGE:
        return duration_words(max(fact.seconds, default=0.0))
    return _range(fact.seconds)


def _middle(seconds: Sequence[float]) -> str:
    found = robust_interval(seconds)
    return f"{_whole(found[0])} s" if found else ""


def _range(seconds: Sequence[float]) -> str:
    found = robust_interval(seconds)
    return f"{_whole(found[1])}-{_whole(found[2])}" if found and len(seconds) > 1 else ""


def _whole(seconds: float) -> int:
    return max(1, round(seconds))


def is_attached(fact: LearnedFact, memory: Memory | None) -> bool:
    """Whether a memory still matches the fact's fields; an edit by a person detaches them."""
    return (
        memory is not None
        and memory.observation == fact.sentence
        and memory.category is fact.frame.category
        and is_same_service(memory.service or "", fact.service)
    )


def may_guide(fact: LearnedFact, memory: Memory | None) -> bool:
    """Whether a fact may influence decisions: active, attached, and not unverified."""
    return (
        memory is not None
        and memory.active
        and memory.trust is not Trust.UNVERIFIED
        and is_attached(fact, memory)
    )


def decide_fact(
    fact: LearnedFact,
    candidate: Candidate,
    before: LearnedFact | None,
    memory: Memory | None,
    *,
    helped: bool,
    source: str,
    fading: bool,
    now: datetime,
) -> list[Intent] | None:
    """Return the intents for new evidence; None if a person has edited the memory.

    `before` are the fields before this evidence, and `memory` their memory: None if it was deleted.
    `helped` is whether the evidence of `source` agrees. A confirmed claim is reinforced, another
    one contradicted; its counts are rendered again.
    """

    def why(cause: str, reason: str) -> ChangeOrigin:
        words = f"{source}: {reason}"
        session = candidate.session_id
        return ChangeOrigin(cause=cause, actor="supervisor", reason=words, session_id=session)

    if before is None or memory is None:
        return [NewMemory(candidate, why("learned", "first seen"))]
    if not is_attached(before, memory):
        return None
    due = apply_decay(memory, now=now) if fading else memory
    faded: list[Intent] = [*decay_changes([memory], now=now)] if fading else []
    if not due.active:
        if due.inactive_reason is not InactiveReason.LOW or (fact.kind in BY_TIME and not helped):
            return None
        new = NewMemory(candidate, why("learned", f"repeats memory {memory.id}"))
        return [*faded, new, MemoryLink(NEW, memory.id, REVIVES, candidate.session_id)]
    if confirms(fact, before, helped=helped):
        after, origin = reinforce(due, now=now), why("reinforced", "seen again")
    else:
        after, origin = contradict(due), why(CONTRADICTED, "it came otherwise")
    after = replace(after, observation=candidate.observation)
    return [*faded, MemoryChange(due, after, origin)]


def confirms(fact: LearnedFact, before: LearnedFact, *, helped: bool) -> bool:
    """Whether the newest evidence agrees with the earlier claim."""
    if fact.kind is FactKind.REPAIR:
        return helped is (before.frame is not NO_HELP)
    if fact.kind in (FactKind.CAUSE, FactKind.CHANGE, *BY_TIME) or not before.seconds:
        return helped
    return confirms_time(before.seconds, fact.seconds[-1])


def confirms_time(claimed: Sequence[float], seconds: float) -> bool:
    """Whether a time is within the range of the claimed times."""
    found = robust_interval(claimed)
    return found is None or found[1] * 0.5 - 1 <= seconds <= found[2] * 1.25 + 1
